//! Owns what a person sees on stderr while many things are gone through: a line that is drawn over on a terminal, else
//! a line now and then.
//!
//! Knows no rule. What is over soon leaves no trace, and stdout is never touched.

use std::{io::Write, time::Duration};

use crate::{
    authority::clock::Deadline,
    cli::{Context, Var},
};

/// What is over by then is not told of.
const QUIET: Duration = Duration::from_secs(2);
/// How often a line is drawn over.
const DRAWN: Duration = Duration::from_millis(200);
/// How often a line is printed where none can be drawn over.
const PRINTED: Duration = Duration::from_secs(5);
/// After how many things the clock is looked at.
const STEP: u64 = 1024;

/// Shows how far something is.
pub(super) struct Ticking<'e> {
    err: &'e mut dyn Write,
    draws: bool,
    columns: Option<u16>,
    due: Deadline,
    seen: u64,
    is_drawn: bool,
}

impl<'e> Ticking<'e> {
    /// Begins now.
    pub(super) fn of(context: &'e mut Context<'_, '_>) -> Self {
        let is_plain = context.env.get(Var::Term).is_some_and(|term| term == "dumb");
        let draws = context.stdio.err_is_terminal && !is_plain;
        Self::to(&mut *context.stdio.err, draws, context.look.columns_err, QUIET)
    }

    fn to(err: &'e mut dyn Write, draws: bool, columns: Option<u16>, quiet: Duration) -> Self {
        Self { err, draws, columns, due: Deadline::after(quiet), seen: 0, is_drawn: false }
    }

    /// One more thing was seen; `line` is asked for what is shown, if something is due.
    pub(super) fn sees(&mut self, line: impl FnOnce() -> String) {
        self.seen += 1;
        if !self.seen.is_multiple_of(STEP) || !self.due.left().is_zero() {
            return;
        }
        let line = line();
        // A line that wraps could not be drawn over.
        let fits = self.columns.is_none_or(|columns| line.len() < usize::from(columns));
        let text = match (self.draws, fits) {
            (true, true) => format!("\r{line}\u{1b}[K"),
            (true, false) => String::new(),
            (false, _) => format!("{line}\n"),
        };
        self.is_drawn |= self.draws;
        self.due = Deadline::after(if self.draws { DRAWN } else { PRINTED });
        // A stderr that is gone is no failure.
        let _ = self.err.write_all(text.as_bytes()).and_then(|()| self.err.flush());
    }
}

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        if self.is_drawn {
            let _ = self.err.write_all(b"\r\x1b[K").and_then(|()| self.err.flush());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(draws: bool, columns: Option<u16>, quiet: Duration, things: u64) -> String {
        let mut err = Vec::new();
        let mut ticking = Ticking::to(&mut err, draws, columns, quiet);
        for n in 1..=things {
            ticking.sees(|| format!("{n} of {things} events"));
        }
        drop(ticking);
        String::from_utf8(err).unwrap()
    }

    #[test]
    fn what_is_over_soon_leaves_no_trace() {
        assert_eq!(shown(false, None, Duration::from_secs(600), 5000), "");
        assert_eq!(shown(true, None, Duration::from_secs(600), 5000), "");
    }

    #[test]
    fn a_line_is_printed_once_it_is_due_and_a_drawn_one_is_wiped() {
        assert_eq!(shown(false, None, Duration::ZERO, 3000), "1024 of 3000 events\n");
        let drawn = shown(true, Some(40), Duration::ZERO, 1500);
        assert_eq!(drawn, "\r1024 of 1500 events\u{1b}[K\r\u{1b}[K");
        assert_eq!(shown(true, Some(8), Duration::ZERO, 1500), "\r\u{1b}[K");
    }
}
