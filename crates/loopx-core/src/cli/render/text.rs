//! Owns documents as text for a terminal or a pipe.

use unicode_width::UnicodeWidthStr as _;

use super::{
    document::{Block, Document},
    look::Look,
    printable,
    table::table,
};

/// The width of prose where no width is known, and its greatest where one is.
const PROSE_COLUMNS: usize = 80;
/// The widest term that its meaning stands beside.
const TERM_COLUMNS: usize = 28;

/// Writes a document as text, each line ended.
pub(in crate::cli) fn text(document: &Document, look: Look) -> String {
    let width = look.columns.map_or(PROSE_COLUMNS, |columns| usize::from(columns).min(PROSE_COLUMNS));
    let mut out = String::new();
    let mut blocks = document.blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        match block {
            Block::Heading(_, title) => {
                let mut wrapped = String::new();
                wrap(&mut wrapped, "", &printable::line(title), width);
                for line in wrapped.lines() {
                    if look.colour {
                        out.extend(["\u{1b}[1m", line, "\u{1b}[0m\n"]);
                    } else {
                        out.extend([line, "\n"]);
                    }
                }
                continue;
            }
            Block::Para(para) => wrap(&mut out, "", &printable::line(para), width),
            Block::Lines(lines) => each(&mut out, "", lines),
            Block::Code(lines) => each(&mut out, "  ", lines),
            Block::Terms(terms) => self::terms(&mut out, terms, width),
            Block::Items(items) => {
                for (text, lines) in items {
                    wrap(&mut out, "  ", &printable::line(text), width);
                    each(&mut out, "      ", lines);
                }
            }
            Block::Table(head, rows) => table(&mut out, head, rows, look.columns.map(usize::from)),
            Block::Log(head, rows) => log(&mut out, head, rows, look.columns.map(usize::from)),
            Block::Verbatim(text) => {
                out += &printable::lines(text);
                if !out.ends_with('\n') && !text.is_empty() {
                    out.push('\n');
                }
            }
        }
        if blocks.peek().is_some() {
            out.push('\n');
        }
    }
    out
}

fn each(out: &mut String, indent: &str, lines: &[String]) {
    for line in lines {
        out.push_str(indent);
        out.push_str(&printable::line(line));
        out.push('\n');
    }
}

fn terms(out: &mut String, terms: &[(String, String)], width: usize) {
    let terms: Vec<_> =
        terms.iter().map(|(term, means)| (printable::line(term), printable::line(means))).collect();
    let beside = terms.iter().map(|(term, _)| term.width()).filter(|wide| *wide <= TERM_COLUMNS);
    let column = beside.max().unwrap_or(2);
    let indent = " ".repeat(column + 4);
    for (term, means) in &terms {
        let gap = column.checked_sub(term.width());
        match gap {
            _ if means.is_empty() => out.extend(["  ", term, "\n"]),
            Some(gap) => {
                let first = format!("  {term}{}  ", " ".repeat(gap));
                wrap_after(out, &first, &indent, means, width);
            }
            None => {
                out.extend(["  ", term, "\n"]);
                wrap(out, &indent, means, width);
            }
        }
    }
}

/// The least width in which a last column goes on below itself; in a narrower place it stands below its row.
const LAST_MIN: usize = 16;

/// Writes a table whose last column is wrapped, not cut.
fn log(out: &mut String, head: &[String], rows: &[Vec<String>], columns: Option<usize>) {
    let Some(columns) = columns else { return table(out, head, rows, None) };
    let split = |row: &[String]| {
        let (last, rest) =
            row.split_last().map_or((String::new(), Vec::new()), |(l, r)| (l.clone(), r.to_vec()));
        (rest, printable::line(&last).into_owned())
    };
    let (names, lasts): (Vec<_>, Vec<_>) =
        std::iter::once(head).chain(rows.iter().map(Vec::as_slice)).map(split).unzip();
    let Some((first, others)) = names.split_first() else { return };
    let mut left = String::new();
    table(&mut left, first, others, None);
    let beside = left.lines().map(str::width).max().unwrap_or(0) + 2;
    // A word that would stand out beside, and has room below.
    let is_too_wide = |word: &str| word.width() + beside > columns && word.width() + 2 <= columns;
    let is_below =
        beside + LAST_MIN > columns || lasts.iter().any(|last| last.split_whitespace().any(is_too_wide));
    if is_below {
        left.clear();
        table(&mut left, first, others, Some(columns));
    }
    // What is too wide even so has each name on a line of its own.
    let each_row = left.lines().count().checked_div(lasts.len()).unwrap_or(1).max(1);
    let lines: Vec<_> = left.lines().collect();
    for (lines, last) in lines.chunks(each_row).zip(&lasts) {
        let line = lines.join("\n");
        if is_below {
            out.extend([&line, "\n"]);
            wrap(out, if each_row > 1 { "    " } else { "  " }, last, columns);
        } else {
            let gap = " ".repeat(beside.saturating_sub(line.width()));
            wrap_after(out, &format!("{line}{gap}"), &" ".repeat(beside), last, columns);
        }
    }
}

fn wrap(out: &mut String, indent: &str, text: &str, width: usize) {
    wrap_after(out, indent, indent, text, width);
}

/// Wraps words greedily; a word wider than the line stands alone on one.
fn wrap_after(out: &mut String, first: &str, indent: &str, text: &str, width: usize) {
    let mut line = first.to_owned();
    let mut has_words = false;
    for word in text.split_whitespace() {
        if has_words && line.width() + 1 + word.width() > width {
            *out += line.trim_end();
            out.push('\n');
            indent.clone_into(&mut line);
            has_words = false;
        }
        if has_words {
            line.push(' ');
        }
        line.push_str(word);
        has_words = true;
    }
    *out += line.trim_end();
    out.push('\n');
}
