//! Owns tables as text that fits a width.
//!
//! Invariant: the first column names the row, for the next command, and is never cut. What is too wide loses a part
//! to an ellipsis, the widest column first; where that is not enough, each name stands on a line of its own, above
//! the rest of its row.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::printable;

/// What stands between two columns.
const GAP: usize = 2;
/// A column that is no wider, such as one of states or of times, is not cut beside its name.
const KEPT: usize = 20;
/// A wider one keeps as much.
const COLUMN_MIN: usize = 12;

/// Writes a table; without a width, as wide as it is.
pub(super) fn table(out: &mut String, head: &[String], rows: &[Vec<String>], columns: Option<usize>) {
    let lines: Vec<Vec<String>> = std::iter::once(head)
        .chain(rows.iter().map(Vec::as_slice))
        .map(|cells| cells.iter().map(|cell| printable::line(cell).into_owned()).collect())
        .collect();
    let natural = widths(&lines);
    let Some(columns) = columns else { return each(out, "", &lines, &natural) };
    let mut fitted = natural.clone();
    let mut least = kept(&natural);
    if let (Some(name), Some(whole)) = (least.first_mut(), natural.first()) {
        *name = *whole;
    }
    if fit(&mut fitted, &least, columns) {
        return each(out, "", &lines, &fitted);
    }
    stacked(out, &lines, &natural, columns);
}

/// How narrow columns of these widths may become beside the name.
fn kept(natural: &[usize]) -> Vec<usize> {
    natural.iter().map(|width| if *width <= KEPT { *width } else { COLUMN_MIN }).collect()
}

/// Each row below its name.
fn stacked(out: &mut String, lines: &[Vec<String>], natural: &[usize], columns: usize) {
    const INDENT: &str = "  ";
    let (names, rest): (Vec<_>, Vec<_>) = lines
        .iter()
        .map(|cells| {
            cells
                .split_first()
                .map_or((String::new(), Vec::new()), |(name, rest)| (name.clone(), rest.to_vec()))
        })
        .unzip();
    let mut fitted = natural.get(1..).unwrap_or_default().to_vec();
    let columns = columns.saturating_sub(INDENT.len());
    let (least, nothing) = (kept(&fitted), vec![1; fitted.len()]);
    let _ = fit(&mut fitted, &least, columns) || fit(&mut fitted, &nothing, columns);
    for (name, cells) in names.iter().zip(&rest) {
        out.extend([name, "\n"]);
        each(out, INDENT, std::slice::from_ref(cells), &fitted);
    }
}

fn each(out: &mut String, indent: &str, lines: &[Vec<String>], widths: &[usize]) {
    for cells in lines {
        let mut line = indent.to_owned();
        for (cell, width) in cells.iter().zip(widths) {
            let cell = shortened(cell, *width);
            let gap = (width + GAP).saturating_sub(cell.width());
            line.push_str(&cell);
            line.push_str(&" ".repeat(gap));
        }
        out.extend([line.trim_end(), "\n"]);
    }
}

fn widths(lines: &[Vec<String>]) -> Vec<usize> {
    let count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let of = |place: usize| lines.iter().filter_map(|cells| Some(cells.get(place)?.width())).max();
    (0..count).map(|place| of(place).unwrap_or(0)).collect()
}

/// Narrows the widest columns, none below its least; whether all of them fit then.
fn fit(widths: &mut [usize], least: &[usize], columns: usize) -> bool {
    loop {
        let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        let Some(over) = total.checked_sub(columns).filter(|over| *over > 0) else { return true };
        let mut open: Vec<_> =
            widths.iter_mut().zip(least).filter(|(width, least)| **width > **least).collect();
        open.sort_by_key(|(width, _)| std::cmp::Reverse(**width));
        // Down to the next widest, then both.
        let next = open.get(1).map_or(0, |(width, _)| **width);
        let Some((width, least)) = open.into_iter().next() else { return false };
        let step = width.saturating_sub(next).clamp(1, over);
        *width = width.saturating_sub(step).max(*least);
    }
}

/// A cell that is at most this wide. An id or a path says more by its two ends than by its start.
fn shortened(cell: &str, width: usize) -> Cow<'_, str> {
    const ENDS_MIN: usize = 5;
    if cell.width() <= width {
        return Cow::Borrowed(cell);
    }
    let is_one_word = cell.bytes().all(|byte| byte.is_ascii_graphic());
    let tail = width.saturating_sub(1) / 2;
    let ends = cell.get(..width.saturating_sub(1) - tail).zip(cell.get(cell.len().saturating_sub(tail)..));
    Cow::Owned(match ends.filter(|_| is_one_word && width >= ENDS_MIN) {
        Some((head, tail)) => format!("{head}…{tail}"),
        None => clipped(cell, width),
    })
}

/// The start of a text that is at most this wide, with an ellipsis where something is missing.
pub(in crate::cli) fn clipped(text: &str, width: usize) -> String {
    const JOINER: char = '\u{200d}';
    if text.width() <= width {
        return text.to_owned();
    }
    let mut head = "";
    let mut before = ' ';
    for (place, c) in text.char_indices() {
        // What combines with the character before it stays with it.
        let stands_alone = c.width().unwrap_or(0) > 0 && before != JOINER;
        let so_far = text.get(..place).unwrap_or_default();
        if stands_alone && so_far.width() < width {
            head = so_far;
        }
        if so_far.width() >= width {
            break;
        }
        before = c;
    }
    format!("{}…", head.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rows: &[&[&str]], columns: usize) -> String {
        let cells = |row: &[&str]| row.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let mut out = String::new();
        let rows: Vec<_> = rows.iter().map(|row| cells(row)).collect();
        table(&mut out, &cells(&["ID", "STATE", "TITLE"]), &rows, Some(columns));
        out
    }

    #[test]
    fn the_widest_column_is_cut_and_never_the_name() {
        let title = "Make the importer read what the old one wrote";
        assert_eq!(
            shown(&[&["importer.1", "open", title], &["importer.2", "open, gated", "x"]], 50),
            "ID          STATE        TITLE\n\
             importer.1  open         Make the importer read w…\n\
             importer.2  open, gated  x\n"
        );
        // Nothing is cut that fits, and nothing is moved.
        assert!(shown(&[&["importer.1", "open", title]], 80).contains(title));
    }

    #[test]
    fn a_long_name_stands_above_its_row() {
        let id = "a-goal-whose-slug-has-its-forty-eight-letters-yes.12";
        let out = shown(&[&[id, "owned, on hold", "Make the importer read what the old one wrote"]], 60);
        assert_eq!(
            out,
            format!(
                "ID\n  STATE           TITLE\n{id}\n  owned, on hold  Make the importer read what the old one w…\n"
            )
        );
    }

    #[test]
    fn every_line_fits_whatever_is_in_it() {
        let long = "x".repeat(300);
        let wide = "日本語の題名はとても長いので".repeat(4);
        let emoji = "👩‍👩‍👧‍👦 e\u{301}e\u{301} ".repeat(20);
        let words = "one two ".repeat(40);
        for columns in [20, 40, 60, 80, 120] {
            for title in [&long, &wide, &emoji, &words] {
                for id in ["g.1", "a-goal-of-twelve.7"] {
                    let out = shown(&[&[id, "deferred", title], &[id, title, title]], columns);
                    for line in out.lines() {
                        assert!(line.width() <= columns, "{columns}: {line}");
                    }
                    assert!(out.contains(id) && out.contains('…'), "{out}");
                }
            }
        }
    }

    #[test]
    fn an_id_keeps_its_number_and_a_time_all_of_it() {
        let cells = |row: &[&str]| row.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let mut out = String::new();
        let row = cells(&[
            "16",
            "2026-11-30 01:44:58Z",
            "agent:coder",
            "a-goal-whose-slug-is-rather-long-to-read.12",
        ]);
        table(&mut out, &cells(&["EVENT", "WHEN", "WHO", "WHAT"]), &[row], Some(60));
        assert!(out.contains("16     2026-11-30 01:44:58Z  agent:coder  a-goal-wh…-read.12"), "{out}");
    }

    #[test]
    fn a_text_is_not_cut_within_a_character() {
        assert_eq!(clipped("abc", 3), "abc");
        assert_eq!(clipped("abcd", 3), "ab…");
        assert_eq!(clipped("日本語", 4), "日…");
        assert_eq!(clipped("ae\u{301}bc", 3), "ae\u{301}…");
        assert_eq!(clipped("ab", 0), "…");
    }
}
