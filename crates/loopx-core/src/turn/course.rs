//! Owns where a recovery goes from where a Turn is, and says so beforehand.
//!
//! Knows nothing of how it goes there. What it says is of what can be seen without taking a lock or ending anything.

use super::{
    again::{self, may_try_again},
    guard::Remains,
    host::{Host, Judged},
    lock::{DriverLock, GuardLock},
    outcome::{has_attempts_after, remains},
    resume::{kept_host, reader},
    site::{Around, Site},
    spool, validate,
};
use crate::{
    error::Result,
    kernel::{self, Seen},
    model::{Attempt, TurnId, TurnState, Unresolved},
    projection,
};

/// Where a recovery goes from where a driven Turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// It ends: somebody wished it, or its ownership ran out.
    Ends,
    /// It is given back: nothing was started, and how to start it was never kept.
    GivesBack,
    /// Its host is started.
    Starts,
    /// Its result is validated.
    Validates,
    /// Nothing is known to hold its result any more: a proof tells.
    Proves,
    /// Its result is held; at most another attempt leads on.
    Holds,
    /// How its last attempt ended is found out.
    Reads,
    /// What is not known of it is found out.
    Looks(Unresolved),
    /// Nothing leads on.
    Over,
}

impl Course {
    /// The way from where a Turn is, with a host that can be started, or without.
    pub(super) fn of(around: &Around, has_host: bool) -> Self {
        let turn = &around.turn;
        match &turn.state {
            TurnState::Admitted | TurnState::Dispatched | TurnState::Candidate
                if turn.stop_wish.is_some() =>
            {
                Self::Ends
            }
            TurnState::Admitted if around.has_expired() => Self::Ends,
            TurnState::Admitted if !has_host => Self::GivesBack,
            TurnState::Admitted => Self::Starts,
            TurnState::Candidate => Self::Validates,
            TurnState::Held { .. } if kernel::is_provable(&around.causes) => Self::Proves,
            TurnState::Held { .. } => Self::Holds,
            TurnState::Dispatched => Self::Reads,
            TurnState::Unresolved { why, .. } => Self::Looks(*why),
            TurnState::Settled | TurnState::Stopped { .. } | TurnState::Failed { .. } | TurnState::Fenced => {
                Self::Over
            }
        }
    }
}

/// What a recovery would do about a Turn, in a line; nothing is started, ended or written for it.
///
/// Errors: `not_found`, `store_*`.
pub fn would(site: &mut Site<'_>, turn_id: TurnId, host: Option<&dyn Host>) -> Result<String> {
    let around = site.around(turn_id)?;
    let turn = &around.turn;
    let nothing = |why: &str| Ok(format!("nothing to do: {why}"));
    if turn.is_driven() && !turn.is_terminal() && turn.machine_id.as_ref() != Some(&site.machine.machine_id) {
        return nothing("it is driven on another machine");
    }
    if DriverLock::seen(&site.machine.locks, turn_id) == Some(Seen::Alive) {
        return nothing("whoever brings it on is at work");
    }
    if !turn.is_driven() && matches!(turn.state, TurnState::Admitted | TurnState::Dispatched) {
        return if around.has_expired() { Ok(ENDS.to_owned()) } else { nothing("its agent is at work") };
    }
    let kept = match host {
        Some(_) => None,
        None => kept_host(site, turn_id)?,
    };
    let host = host.or(kept.as_deref());
    Ok(match Course::of(&around, host.is_some()) {
        Course::Ends if turn.stop_wish.is_some() => "would end it, as was asked for".to_owned(),
        Course::Ends => ENDS.to_owned(),
        Course::GivesBack => {
            "would give its Todo back: nothing was started, and how to start it was not kept".to_owned()
        }
        Course::Starts => starts(&around, host),
        Course::Validates => format!("would {}", validates(&around)),
        Course::Proves => match around.waits_for() {
            // As it was proved it settles all the same.
            Some(_) => format!(
                "would settle it, if its work tree is as it was proved; else it is held: {}",
                again::held_by(&around)
            ),
            None => {
                format!("would settle it, if its work tree is as it was proved; else {}", validates(&around))
            }
        },
        Course::Holds if may_try_again(&around, host) => starts(&around, host),
        Course::Holds => return nothing(&format!("it is held: {}", again::held_by(&around))),
        Course::Reads => return dispatched(site, &around, host),
        Course::Looks(why) => looks(&around, why),
        Course::Over => return nothing(&format!("it is {}", turn.state.as_str())),
    })
}

/// What is said of a Turn whose time is over.
const ENDS: &str = "would end it: its ownership has run out";

/// That its host is started, and for which time.
fn starts(around: &Around, host: Option<&dyn Host>) -> String {
    let Some(host) = host else {
        return "would start no host: how it is started was not kept, so name it with --host".to_owned();
    };
    let number = around.turn.attempts.len() + 1;
    let again = if number > 1 { " again" } else { "" };
    format!("would start the host `{}`{again}, attempt {number}", validate::named(&host.hosting().argv))
}

/// What proves its result.
fn validates(around: &Around) -> String {
    let names: Vec<_> =
        around.validators().iter().map(|validator| validate::named(&validator.argv)).collect();
    if names.is_empty() {
        "look at its work tree; no validator proves it".to_owned()
    } else {
        format!("run its validators: {}", names.join(", "))
    }
}

/// What becomes of an attempt whose end is not recorded, or that failed.
fn dispatched(site: &mut Site<'_>, around: &Around, host: Option<&dyn Host>) -> Result<String> {
    let Some(attempt) = around.turn.attempts.last() else { return Ok(starts(around, host)) };
    if attempt.end.as_ref().is_some_and(|end| end.failure.is_some()) {
        return Ok(again_or_end(around, host, attempt));
    }
    let number = attempt.number;
    if GuardLock::seen(&site.machine.locks, around.turn.turn_id, number) == Some(Seen::Alive) {
        let then = validates(around);
        return Ok(format!("would wait for attempt {number}, whose host works on, and then {then}"));
    }
    if around.has_expired() {
        return Ok(ENDS.to_owned());
    }
    let reads = match host {
        Some(_) => None,
        None => Some(site.hosts.host(attempt.host.as_str(), reader())?),
    };
    let Some(reads) = host.or(reads.as_deref()) else { return Ok(again_or_end(around, host, attempt)) };
    let judged = match remains(site, around, reads, number)? {
        Remains::Ended(outcome) => Some(reads.judge(&outcome, &around.turn.turn_key)),
        found @ (Remains::NeverStarted | Remains::Unkept | Remains::Unknown | Remains::Abandoned(_)) => {
            match spool::result(site, around.turn.turn_id, number)? {
                Some(body) => Some(reads.reread(&body.bytes, &around.turn.turn_key)),
                None if matches!(found, Remains::NeverStarted) => {
                    return Ok(again_or_end(around, host, attempt));
                }
                None => None,
            }
        }
    };
    Ok(match judged {
        Some(Judged::Result(_)) => {
            format!("would read the result that attempt {number} left, and {}", validates(around))
        }
        Some(Judged::Failed { retry: true, .. }) => again_or_end(around, host, attempt),
        Some(Judged::Failed { failure, .. }) => {
            format!("would record that attempt {number} failed: {}", projection::plain(failure.as_str()))
        }
        Some(Judged::Stopped) => "would end it, as was asked for".to_owned(),
        None => format!("{}, if nothing has changed in its work tree", again_or_end(around, host, attempt)),
    })
}

/// That its host is started once more, or that no attempt is left.
fn again_or_end(around: &Around, host: Option<&dyn Host>, attempt: &Attempt) -> String {
    if host.is_none() || has_attempts_after(host, attempt.number) {
        starts(around, host)
    } else {
        format!("would record that it failed: attempt {} was its last", attempt.number)
    }
}

/// How what is not known is found out.
fn looks(around: &Around, why: Unresolved) -> String {
    match why {
        Unresolved::Inconclusive if around.turn.candidate.is_some() => {
            format!("would {}", validates(around))
        }
        Unresolved::Lost | Unresolved::Incarnation | Unresolved::Inconclusive if around.turn.is_driven() => {
            format!("would look for what its last attempt left, and then {}", validates(around))
        }
        Unresolved::Lost | Unresolved::Incarnation | Unresolved::Inconclusive => {
            "nothing to do: what it did cannot be told from here".to_owned()
        }
    }
}
