//! Owns pages: how many rows a list holds, where it starts, and where the next one does.
//!
//! A cursor is the id of the last row that was looked at, so that a row added meanwhile is never skipped.

use serde::Serialize;

use crate::error::{Code, Error, Result, echo};

/// The most rows of one page.
pub const PAGE_MAX: usize = 1000;
/// How many rows a ledger is asked for at once while a filter looks for its own.
pub(super) const STEP: usize = 256;

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed<T> {
    /// Its rows.
    pub items: Vec<T>,
    /// Where the next page starts, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Which part of a list is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice<'a> {
    /// The cursor that the page before printed.
    pub after: Option<&'a str>,
    /// How many rows; none for all of them.
    pub limit: Option<usize>,
}

impl Slice<'_> {
    /// Whether so many rows are a page.
    pub(super) fn is_full(&self, rows: usize) -> bool {
        self.limit.is_some_and(|limit| rows >= limit)
    }
}

/// Collects a page from batches of rows: `batch` fetches those after a cursor, `row` turns one into what is
/// shown, or leaves it out.
pub(super) fn collect<R, T>(
    slice: Slice<'_>,
    mut batch: impl FnMut(Option<&str>, usize) -> Result<Vec<R>>,
    id: impl Fn(&R) -> String,
    mut row: impl FnMut(R) -> Result<Option<T>>,
) -> Result<Listed<T>> {
    let mut items = Vec::new();
    let mut cursor = slice.after.map(str::to_owned);
    // One row more than the page tells whether there is another one; nothing is read for it twice.
    let step = slice.limit.map_or(STEP, |limit| limit.saturating_add(1).min(STEP));
    loop {
        let rows = batch(cursor.as_deref(), step)?;
        let is_last = rows.len() < step;
        for found in rows {
            if slice.is_full(items.len()) {
                return Ok(Listed { items, next_cursor: cursor });
            }
            let at = id(&found);
            if let Some(shown) = row(found)? {
                items.push(shown);
            }
            cursor = Some(at);
        }
        if is_last {
            return Ok(Listed { items, next_cursor: None });
        }
    }
}

/// The error of a cursor that no page printed.
pub(super) fn bad_cursor(text: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("`{}` is no cursor of this list", echo(text)))
        .detail("argument", "--cursor")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(after: Option<&str>, limit: Option<usize>, odd: bool) -> Listed<u32> {
        let all: Vec<u32> = (1..=1000).collect();
        collect(
            Slice { after, limit },
            |after, step| {
                let after: u32 = after.map_or(0, |text| text.parse().unwrap());
                Ok(all.iter().copied().filter(|n| *n > after).take(step).collect())
            },
            u32::to_string,
            |n| Ok((!odd || n % 2 == 1).then_some(n)),
        )
        .unwrap()
    }

    #[test]
    fn pages_follow_each_other_without_a_gap_and_end() {
        for odd in [false, true] {
            let mut seen = Vec::new();
            let mut cursor = None;
            loop {
                let got = page(cursor.as_deref(), Some(7), odd);
                assert!(got.items.len() == 7 || got.next_cursor.is_none());
                seen.extend(got.items);
                cursor = got.next_cursor;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(seen, page(None, None, odd).items);
            assert_eq!(seen.len(), if odd { 500 } else { 1000 });
        }
    }

    #[test]
    fn a_page_that_ends_with_the_list_promises_no_other() {
        assert_eq!(page(None, Some(1000), false).next_cursor, None);
        assert_eq!(page(Some("990"), Some(10), false).next_cursor, None);
        assert_eq!(page(Some("989"), Some(10), false).next_cursor.as_deref(), Some("999"));
    }
}
