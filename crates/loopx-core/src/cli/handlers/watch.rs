//! Owns an answer that stays: it is shown, and shown again whenever it changes, until somebody ends it.
//!
//! Knows no rule. Invariant: it writes nothing and leaves nothing behind, also when it is killed: the terminal is in the
//! mode it was in all the time.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    io,
    os::{fd::AsFd as _, unix::net::UnixStream},
    time::Duration,
};

use rustix::event::PollFlags;

use super::workbench::Signals;
use crate::{
    authority::{
        Changes,
        doorbell::{Beside, Waited},
    },
    cli::{Context, Format, Look, Rendered, Var, render::Screen},
    error::{Code, Error, Result},
    kernel::Seen,
    model::{Timestamp, TurnId},
    process,
    turn::DriverLock,
};

/// How long it waits at most: a machine that was asleep rings no bell, and what is told in minutes grows old.
const AT_MOST: Duration = Duration::from_secs(60);
/// How long commits that follow each other are gathered, in milliseconds.
const SETTLE_MS: u64 = 40;
/// How often in a row the ledger may be out of reach.
const FAILURES_MAX: u32 = 30;

/// One look at what is watched.
pub(super) struct Glance<T> {
    /// What is compared: it is shown again once this differs.
    pub(super) of: T,
    /// What is shown.
    pub(super) shown: Rendered,
    /// When it was read.
    pub(super) now: Timestamp,
    /// When time alone may change it.
    pub(super) changes_at: Option<Timestamp>,
}

/// The drivers that a look has looked for, and what was seen of each.
pub(super) type Drivers = RefCell<BTreeMap<TurnId, Option<Seen>>>;

/// Shows what `look` sees, and again after each change of it, until it is interrupted or nobody reads it any more.
///
/// `look` is told what the answer has to fit, and notes which drivers it looked for. Errors: those of the first look;
/// later those that no waiting mends.
pub(super) fn watch<T: PartialEq>(
    context: &mut Context<'_, '_>,
    mut changes: Changes,
    locks: &std::path::Path,
    mut look: impl FnMut(&mut Context<'_, '_>, &Drivers) -> Result<Glance<T>>,
) -> Result<Rendered> {
    let signals = Signals::listen()?;
    let resized = resized()?;
    let out = io::stdout();
    let beside: [Beside<'_>; 3] = [
        (signals.calls(), PollFlags::IN),
        (resized.as_fd(), PollFlags::IN),
        // Nothing is waited for but that its reader is gone.
        (out.as_fd(), PollFlags::empty()),
    ];
    let mut stage = Stage::of(context);
    let drivers = Drivers::default();
    let mut last: Option<T> = None;
    let mut failures = 0;
    let mut wait = Duration::ZERO;
    let mut has_waited = false;
    loop {
        let waited = changes.next(wait, &beside, || {
            let known = drivers.borrow();
            Ok(known.iter().any(|(turn_id, seen)| DriverLock::seen(locks, *turn_id) != *seen))
        });
        if signals.count() > 0 {
            return Ok(Rendered::told());
        }
        let seen = match waited {
            Ok(Waited::Called) if !stage.resized(context, &resized) => return Ok(Rendered::told()),
            Ok(Waited::Changed) if has_waited => {
                // A burst is shown once.
                process::pause(SETTLE_MS);
                look(context, &drivers)
            }
            Ok(_) => look(context, &drivers),
            Err(error) => Err(error),
        };
        has_waited = true;
        match seen {
            Ok(glance) => {
                failures = 0;
                wait = until(&glance);
                let has_changed = last.as_ref() != Some(&glance.of);
                if has_changed || stage.is_terminal {
                    last = Some(glance.of);
                    match stage.show(context, &glance.shown) {
                        Ok(()) => {}
                        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                            return Ok(Rendered::told());
                        }
                        Err(error) => {
                            return Err(
                                Error::new(Code::Internal, "the answer cannot be written").internal(error)
                            );
                        }
                    }
                }
            }
            // A ledger that is exchanged, or that others keep busy, is there again soon.
            Err(error) if last.is_some() && error.code().retryable() && failures < FAILURES_MAX => {
                failures += 1;
                wait = Duration::from_secs(1);
            }
            Err(error) => return Err(error),
        }
    }
}

/// How long nothing but a commit can change what was seen.
fn until<T>(glance: &Glance<T>) -> Duration {
    let left = glance.changes_at.map(|at| Duration::from_millis(at.since(glance.now).as_ms()));
    left.map_or(AT_MOST, |left| left.min(AT_MOST))
}

/// Hears that the terminal got another size.
fn resized() -> Result<UnixStream> {
    let deaf = |e: io::Error| Error::new(Code::Internal, "no signal can be listened for").internal(e);
    let (heard, rings) = UnixStream::pair().map_err(deaf)?;
    heard.set_nonblocking(true).map_err(deaf)?;
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGWINCH, rings).map_err(deaf)?;
    Ok(heard)
}

/// Where it is shown.
struct Stage {
    /// Whether it is drawn over in place.
    is_terminal: bool,
    screen: Screen,
    has_shown: bool,
}

impl Stage {
    fn of(context: &mut Context<'_, '_>) -> Self {
        let is_plain = context.env.get(Var::Term).is_some_and(|term| term == "dumb");
        let is_terminal = context.stdio.out_is_terminal && !is_plain && context.look.format == Format::Text;
        Self { is_terminal, screen: Screen::default(), has_shown: false }
    }

    /// Takes note of another size; no, where that is not what has called.
    fn resized(&mut self, context: &mut Context<'_, '_>, heard: &UnixStream) -> bool {
        use std::io::Read as _;
        let mut rings = [0; 64];
        if !matches!((&mut &*heard).read(&mut rings), Ok(count) if count > 0) {
            return false;
        }
        if self.is_terminal {
            let clear = self.screen.clear();
            let _ = context.stdio.out.write_all(clear.as_bytes());
        }
        true
    }

    fn show(&mut self, context: &mut Context<'_, '_>, shown: &Rendered) -> io::Result<()> {
        let look = context.look;
        let text = if self.is_terminal {
            let (columns, rows) = size(look);
            self.screen.draw(&shown.shown(look), columns, rows)
        } else if self.has_shown && look.format != Format::Json {
            format!("\n{}", shown.shown(look))
        } else {
            shown.shown(look)
        };
        self.has_shown = true;
        context.stdio.out.write_all(text.as_bytes())?;
        context.stdio.out.flush()
    }
}

/// How much of the terminal there is; `COLUMNS` narrows it.
fn size(look: Look) -> (usize, usize) {
    let (columns, rows) = match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(found) if found.ws_col > 0 && found.ws_row > 0 => (found.ws_col, found.ws_row),
        Ok(_) | Err(_) => (80, 24),
    };
    let columns = look.columns.map_or(columns, |stated| stated.min(columns));
    (columns.into(), rows.into())
}
