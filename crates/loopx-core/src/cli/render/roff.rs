//! Owns documents as roff for `man`.
//!
//! Text between backquotes is set bold.

use super::{
    document::{Block, Document},
    printable,
};

/// Writes a document as roff, below the title line `.TH`.
pub(in crate::cli) fn roff(document: &Document) -> String {
    let mut out = String::new();
    for block in &document.blocks {
        match block {
            Block::Heading(1, title) => line(&mut out, &format!(".SH \"{}\"", quoted(&title.to_uppercase()))),
            Block::Heading(_, title) => line(&mut out, &format!(".SS \"{}\"", quoted(title))),
            Block::Para(para) => {
                line(&mut out, ".PP");
                line(&mut out, &styled(para));
            }
            Block::Lines(lines) => {
                line(&mut out, ".PP");
                line(&mut out, &lines.iter().map(|text| styled(text)).collect::<Vec<_>>().join("\n.br\n"));
            }
            Block::Terms(terms) => {
                for (term, means) in terms {
                    line(&mut out, ".TP");
                    line(&mut out, &format!("\\fB{}\\fR", escaped(term)));
                    line(&mut out, &styled(means));
                }
            }
            Block::Items(items) => {
                for (text, lines) in items {
                    let lines = lines.iter().map(String::as_str);
                    plain(&mut out, std::iter::once(text.as_str()).chain(lines));
                }
            }
            Block::Table(head, rows) | Block::Log(head, rows) => {
                for row in rows {
                    let cells = head.iter().zip(row).map(|(name, cell)| styled(&format!("{name}: {cell}")));
                    line(&mut out, ".PP");
                    line(&mut out, &cells.collect::<Vec<_>>().join("\n.br\n"));
                }
            }
            Block::Code(lines) => plain(&mut out, lines.iter().map(String::as_str)),
            Block::Verbatim(text) => plain(&mut out, text.lines()),
        }
    }
    out
}

fn plain<'a>(out: &mut String, lines: impl Iterator<Item = &'a str>) {
    line(out, ".PP\n.RS 4\n.nf");
    for text in lines {
        line(out, &escaped(text));
    }
    line(out, ".fi\n.RE");
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Text in which roff finds no request and no escape.
fn escaped(text: &str) -> String {
    let text = printable::line(text);
    let mut out = String::with_capacity(text.len() + 8);
    if text.starts_with(['.', '\'']) {
        out.push_str("\\&");
    }
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\e"),
            '-' => out.push_str("\\-"),
            '`' => out.push_str("\\(ga"),
            '\'' => out.push_str("\\(aq"),
            '^' => out.push_str("\\(ha"),
            '~' => out.push_str("\\(ti"),
            c if c.is_ascii() => out.push(c),
            c => out.extend([format!("\\[u{:04X}]", u32::from(c))]),
        }
    }
    out
}

fn quoted(text: &str) -> String {
    escaped(text).replace('"', "\\(dq")
}

fn styled(text: &str) -> String {
    if text.matches('`').count() % 2 == 1 {
        return escaped(text);
    }
    let parts = text.split('`').enumerate();
    let styled = parts.map(|(at, part)| match at % 2 {
        1 => format!("\\fB{}\\fR", escaped(part)),
        _ => escaped(part),
    });
    styled.collect()
}
