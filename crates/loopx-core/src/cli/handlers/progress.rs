//! Owns what a person sees on stderr while a Turn works: a bar on a terminal, else a line now and then.
//!
//! Knows no rule, and no clock: each phase says how long it lasts. What is over soon leaves no trace, and stdout is
//! never touched.

use std::{
    cell::{Cell, RefCell},
    io::Write,
};

use super::caller::Caller;
use crate::{
    cli::{Context, Var, parse::show_duration_ms},
    model::{Actor, Provenance, TurnId},
    turn::{Phase, Watcher},
};

/// A phase that is over by then is not told of.
const QUIET_MS: u64 = 2000;
/// After which time a phase that lasts is told of again, where no bar can be drawn; each gap is twice the one before.
const GAP_FIRST_MS: u64 = 5000;
/// The longest such gap.
const GAP_LAST_MS: u64 = 60_000;
/// How long a bar is, in columns.
const BAR_COLUMNS: u64 = 24;

/// Shows how far a Turn is, and hands on the wish to end it.
pub(super) struct Progress<'e, S> {
    err: RefCell<&'e mut dyn Write>,
    draws: bool,
    /// How wide a drawn line may be, where that is known.
    columns: Option<u16>,
    /// Who is at the call.
    who: Option<(Actor, Provenance)>,
    stopped: S,
    told: Cell<Told>,
}

/// What was shown so far.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    turn_id: Option<TurnId>,
    /// Whether the Turn was named.
    is_named: bool,
    /// Which phase: its kind, and its number within the kind.
    phase: (u8, usize),
    /// When the phase is told of next, in milliseconds after it began.
    due_ms: u64,
    /// When the phase was told of last, in milliseconds after it began.
    said_ms: u64,
    /// How long after that it is told of again, in milliseconds.
    gap_ms: u64,
    /// Whether a bar stands on the last line.
    is_drawn: bool,
}

/// Makes the progress of a call by somebody; `stopped` says whether it is to end.
pub(super) fn watch<'e, S: Fn() -> bool>(
    context: &'e mut Context<'_, '_>,
    who: &Caller,
    stopped: S,
) -> Progress<'e, S> {
    let is_plain = context.env.get(Var::Term).is_some_and(|term| term == "dumb");
    let draws = context.stdio.err_is_terminal && !is_plain;
    let mut progress = Progress::to(&mut *context.stdio.err, draws, context.look.columns_err, stopped);
    progress.who = Some((who.actor.clone(), who.provenance));
    progress
}

impl<'e, S: Fn() -> bool> Progress<'e, S> {
    fn to(err: &'e mut dyn Write, draws: bool, columns: Option<u16>, stopped: S) -> Self {
        Self { err: RefCell::new(err), draws, columns, who: None, stopped, told: Cell::new(Told::default()) }
    }

    /// Tells of the phase if it is due, and gives what is told now.
    fn tell(&self, told: Told, elapsed_ms: u64, wall_ms: u64, what: &str) -> Told {
        if elapsed_ms < told.due_ms {
            return told;
        }
        let seconds = |ms: u64| show_duration_ms(ms / 1000 * 1000);
        let times = format!("{} of at most {}", seconds(elapsed_ms), seconds(wall_ms));
        if self.draws {
            let full =
                elapsed_ms.saturating_mul(BAR_COLUMNS).checked_div(wall_ms).unwrap_or(0).min(BAR_COLUMNS);
            let columns = |count: u64| usize::try_from(count).unwrap_or(0);
            let (full, rest) = ("#".repeat(columns(full)), "-".repeat(columns(BAR_COLUMNS - full)));
            // A line that wraps could not be drawn over: the longest form that fits is drawn.
            let forms =
                [format!("{what} [{full}{rest}] {times}"), format!("{what}: {times}"), times, String::new()];
            let width = self.columns.map_or(usize::MAX, usize::from);
            let line = forms.into_iter().find(|line| line.len() < width).unwrap_or_default();
            self.print(&format!("\r{line}\u{1b}[K"));
            return Told { is_drawn: true, ..told };
        }
        let name = told.turn_id.filter(|_| !told.is_named).map(|id| format!("the Turn {id} is admitted\n"));
        self.print(&format!("{}{what}: {times}\n", name.unwrap_or_default()));
        Told {
            is_named: true,
            due_ms: elapsed_ms.saturating_add(told.gap_ms),
            said_ms: elapsed_ms,
            gap_ms: told.gap_ms.saturating_mul(2).min(GAP_LAST_MS),
            ..told
        }
    }

    /// Takes a bar away.
    fn wipe(&self, told: Told) -> Told {
        if told.is_drawn {
            self.print("\r\u{1b}[K");
        }
        Told { is_drawn: false, ..told }
    }

    /// Tells something beside the phases, on a line of its own.
    pub(super) fn aside(&self, text: &str) {
        self.told.set(self.wipe(self.told.get()));
        self.print(&format!("{text}\n"));
    }

    /// A stderr that is gone is no failure.
    fn print(&self, text: &str) {
        let mut err = self.err.borrow_mut();
        let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
    }

    /// Ends it; a Turn that was told of is told to be over.
    pub(super) fn over(self, state: &str) {
        if self.told.get().is_named {
            self.print(&format!("the Turn is {state}\n"));
        }
    }
}

impl<S> Drop for Progress<'_, S> {
    fn drop(&mut self) {
        if self.told.get().is_drawn {
            let err = self.err.get_mut();
            let _ = err.write_all(b"\r\x1b[K").and_then(|()| err.flush());
        }
    }
}

impl<S: Fn() -> bool> Watcher for Progress<'_, S> {
    fn wants_stop(&self) -> bool {
        (self.stopped)()
    }

    fn caller(&self) -> Option<(Actor, Provenance)> {
        self.who.clone()
    }

    fn sees(&self, phase: Phase) {
        let mut told = self.told.get();
        let (kind, elapsed_ms, wall_ms, what) = match phase {
            Phase::Admitted { turn_id } => {
                self.told.set(Told { turn_id: Some(turn_id), ..told });
                return;
            }
            Phase::Working { attempt, elapsed_ms, wall_ms } => {
                ((1, usize::from(attempt)), elapsed_ms, wall_ms, format!("attempt {attempt}, the host works"))
            }
            Phase::Pausing { attempt, elapsed_ms, pause_ms } => {
                ((2, usize::from(attempt)), elapsed_ms, pause_ms, format!("before attempt {attempt}"))
            }
            Phase::Validating { number, of, elapsed_ms, wall_ms } => {
                ((3, number), elapsed_ms, wall_ms, format!("validator {number} of {of} runs"))
            }
        };
        // A second examination of the same Turn begins its phases again.
        if told.phase != kind || elapsed_ms < told.said_ms {
            told =
                self.wipe(Told { phase: kind, due_ms: QUIET_MS, said_ms: 0, gap_ms: GAP_FIRST_MS, ..told });
        }
        self.told.set(self.tell(told, elapsed_ms, wall_ms, &what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn working(elapsed_ms: u64) -> Phase {
        Phase::Working { attempt: 1, elapsed_ms, wall_ms: 1_800_000 }
    }

    fn shown(draws: bool, phases: &[Phase]) -> String {
        let mut err = Vec::new();
        let progress = Progress::to(&mut err, draws, None, || false);
        for phase in phases {
            progress.sees(*phase);
        }
        progress.over("settled");
        String::from_utf8(err).unwrap()
    }

    #[test]
    fn what_is_over_soon_leaves_no_trace() {
        let validating = Phase::Validating { number: 1, of: 1, elapsed_ms: 1999, wall_ms: 600_000 };
        let phases =
            [Phase::Admitted { turn_id: TurnId::from_bytes([7; 16]) }, working(0), working(1999), validating];
        assert_eq!(shown(false, &phases), "");
        assert_eq!(shown(true, &phases), "");
    }

    #[test]
    fn a_line_every_few_seconds_names_the_phase_and_its_bound() {
        let turn_id = TurnId::from_bytes([7; 16]);
        let validating = |elapsed_ms| Phase::Validating { number: 2, of: 3, elapsed_ms, wall_ms: 600_000 };
        let phases = [
            Phase::Admitted { turn_id },
            working(250),
            working(2100),
            working(4000),
            working(7200),
            validating(0),
            validating(2000),
            validating(2250),
        ];
        assert_eq!(
            shown(false, &phases),
            format!(
                "the Turn {turn_id} is admitted\nattempt 1, the host works: 2s of at most 30m\n\
                 attempt 1, the host works: 7s of at most 30m\nvalidator 2 of 3 runs: 2s of at most 10m\n\
                 the Turn is settled\n"
            )
        );
    }

    #[test]
    fn the_lines_of_a_long_phase_grow_rarer_and_begin_anew_with_the_next() {
        // given half an hour of one attempt, seen every quarter of a second, and then the next attempt
        let seen = |attempt, until_ms: u64| {
            (0..until_ms / 250).map(move |n| Phase::Working {
                attempt,
                elapsed_ms: n * 250,
                wall_ms: 1_800_000,
            })
        };
        let phases: Vec<_> = seen(1, 1_800_000).chain(seen(2, 10_000)).collect();
        // when all of it was told
        let told = shown(false, &phases);
        let of = |attempt: &str| -> Vec<String> {
            let start = format!("attempt {attempt}, the host works: ");
            let times = told.lines().filter_map(|line| line.strip_prefix(&start));
            times.map(|rest| rest.split(' ').next().unwrap().to_owned()).collect()
        };
        // then the gaps were 5, 10, 20, 40 and then always 60 seconds
        let times = of("1");
        assert_eq!(times[..7], ["2s", "7s", "17s", "37s", "1m17s", "2m17s", "3m17s"], "{told}");
        assert_eq!(times.len(), 33, "{told}");
        assert_eq!(of("2"), ["2s", "7s"], "{told}");
    }

    #[test]
    fn a_terminal_gets_one_bar_that_is_wiped() {
        let half = Phase::Working { attempt: 1, elapsed_ms: 5000, wall_ms: 10_000 };
        let bar = "\rattempt 1, the host works [############------------] 5s of at most 10s\u{1b}[K";
        assert_eq!(shown(true, &[half]), format!("{bar}\r\u{1b}[K"));
    }

    #[test]
    fn regress_what_is_drawn_fits_a_narrow_terminal() {
        let half = Phase::Working { attempt: 1, elapsed_ms: 5000, wall_ms: 10_000 };
        for (columns, expected) in [
            (72, "attempt 1, the host works [############------------] 5s of at most 10s"),
            (60, "attempt 1, the host works: 5s of at most 10s"),
            (20, "5s of at most 10s"),
            (1, ""),
        ] {
            let mut err = Vec::new();
            let progress = Progress::to(&mut err, true, Some(columns), || false);
            progress.sees(half);
            drop(progress);
            assert_eq!(
                String::from_utf8(err).unwrap(),
                format!("\r{expected}\u{1b}[K\r\u{1b}[K"),
                "{columns}"
            );
        }
    }
}
