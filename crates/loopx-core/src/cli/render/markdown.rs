//! Owns documents as Markdown.
//!
//! Text between backquotes stays code; everything else of Markdown's own characters is escaped, so that data
//! cannot become a link, a heading or markup.

use super::{
    document::{Block, Document},
    printable,
};

/// Writes a document as Markdown, each line ended.
pub(in crate::cli) fn markdown(document: &Document) -> String {
    let parts: Vec<String> = document.blocks.iter().map(block).filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(level, title) => {
            format!("{} {}\n", "#".repeat(usize::from((*level).clamp(1, 6))), inline(title))
        }
        Block::Para(para) => format!("{}\n", inline(para)),
        Block::Lines(lines) => lines.iter().map(|line| inline(line) + "  \n").collect(),
        Block::Terms(terms) => terms
            .iter()
            .map(|(term, means)| match means.as_str() {
                "" => format!("- {}\n", code(term)),
                means => format!("- {}: {}\n", code(term), inline(means)),
            })
            .collect(),
        Block::Items(items) => items
            .iter()
            .flat_map(|(text, lines)| {
                let lines = lines.iter().map(|line| format!("  {}  \n", code(line)));
                std::iter::once(format!("- {}  \n", inline(text))).chain(lines)
            })
            .collect(),
        Block::Table(head, rows) | Block::Log(head, rows) => {
            let line = |cells: &[String]| {
                let cells: Vec<_> = cells.iter().map(|cell| inline(cell)).collect();
                format!("| {} |\n", cells.join(" | "))
            };
            let rule = format!("|{}\n", " --- |".repeat(head.len()));
            let rows = rows.iter().map(|row| line(row));
            line(head) + &rule + &rows.collect::<String>()
        }
        Block::Code(lines) => {
            fenced(&lines.iter().map(|l| printable::line(l).into_owned() + "\n").collect::<String>())
        }
        Block::Verbatim(text) => fenced(&printable::lines(text)),
    }
}

/// A fence longer than any run of backquotes inside.
fn fenced(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}text\n{text}{end}{fence}\n")
}

/// A term as code.
fn code(term: &str) -> String {
    let term = printable::line(term).replace('`', "'").replace('|', "\\|");
    format!("`{term}`")
}

/// A line with code kept and markup escaped.
fn inline(text: &str) -> String {
    let text = printable::line(text);
    let is_balanced = text.matches('`').count().is_multiple_of(2);
    let mut out = String::with_capacity(text.len() + 8);
    let mut in_code = false;
    for c in text.chars() {
        match c {
            '`' if is_balanced => {
                in_code = !in_code;
                out.push('`');
            }
            '|' => out.push_str("\\|"),
            '`' | '\\' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '~' | '&' | '!' if !in_code => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
