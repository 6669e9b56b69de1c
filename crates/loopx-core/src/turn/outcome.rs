//! Owns what the end of an attempt means for its Turn: what the host said, that it is gone, what is recorded of it.
//!
//! Knows no one host. Invariant: what a host said is kept before any fact points at it, and no attempt's end is recorded
//! before its whole tree is proved empty.

use super::{
    commits::Commit,
    driver::{Driver, Flow},
    examine::scopes,
    guard::{self, Remains, Ward},
    host::{Host, Judged},
    lock::{DriverLock, Guardian, Told},
    opening::Opening,
    site::{Around, Emptied, Site, emptied},
    spool,
    validate::cut,
    wire::TurnResult,
};
use crate::{
    error::{Class, Result},
    failpoint,
    kernel::Step,
    model::{Attempt, Candidate, Guarantee, HostFailure, ShortText, Timestamp, TodoKind, Turn, Wake},
    process::{Containment, Ended},
};

/// Why an attempt left nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Loss {
    /// Its host was never started; why, where its guardian said so.
    NeverStarted(Option<String>),
    /// It ended, and there was no room to keep how.
    Unkept,
    /// How it ended is nowhere.
    Unknown,
}

impl Loss {
    fn may_have_begun(&self) -> bool {
        !matches!(self, Self::NeverStarted(_))
    }

    pub(super) fn failure(&self) -> HostFailure {
        match self {
            // It never came to it, or what it said never came here.
            Self::NeverStarted(_) | Self::Unkept => HostFailure::TransportLost,
            Self::Unknown => HostFailure::Crashed,
        }
    }

    /// Why, in words.
    pub(super) fn note(&self) -> Option<String> {
        match self {
            Self::NeverStarted(Some(why)) => Some(format!("the host was never started: {why}")),
            Self::NeverStarted(None) => Some("the host was never started".to_owned()),
            Self::Unkept => Some("no space was left to keep what the host said".to_owned()),
            Self::Unknown => None,
        }
    }
}

/// The longest note that an attempt's end takes.
const NOTE_MAX_BYTES: usize = 120;

/// How an attempt ended that left no result.
#[derive(Debug)]
pub(super) struct Closing {
    number: u8,
    /// What failed; none where it was stopped on a wish.
    failure: Option<HostFailure>,
    /// Whether another attempt may follow.
    retry: bool,
    /// Why, without a word of the host; else the failure's name.
    note: Option<ShortText>,
}

impl Closing {
    /// Of an attempt that was stopped on a wish.
    pub(super) const fn stopped(number: u8) -> Self {
        Self { number, failure: None, retry: false, note: None }
    }

    /// Of an attempt after which none follows.
    pub(super) const fn failed(number: u8, failure: HostFailure) -> Self {
        Self { number, failure: Some(failure), retry: false, note: None }
    }
}

impl Driver<'_> {
    /// Takes in what an attempt came to that has just ended: first what was said is kept, and the tree is proved empty.
    pub(super) fn ended(
        &mut self,
        site: &mut Site<'_>,
        lock: &DriverLock,
        around: &Around,
        number: u8,
        remains: Remains,
    ) -> Result<Flow> {
        let turn = &around.turn;
        self.held_by = weaker(site, turn, number, &remains);
        self.awake_ms = awake(&remains);
        if let Remains::Ended(outcome) = &remains {
            spool::keep(site, turn.turn_id, number, outcome)?;
            failpoint::reach!(TurnSpooled);
        }
        if let Remains::Ended(outcome) | Remains::Abandoned(outcome) = &remains {
            self.left.clone_from(&outcome.survivors);
        }
        // Also of an end that says nothing: a guardian that could not write it would go on trying, and hold its lock.
        self.wards.iter_mut().for_each(Ward::kept);
        let emptied = match &remains {
            _ if is_proved_empty(&remains) => Emptied::Proved,
            _ if !self.left.is_empty() => Emptied::Alive,
            _ => emptied(site.machine, turn.turn_id, number)?, // wildcard: nobody has said
        };
        if emptied < Emptied::Proved {
            return self.lose(site, lock, around, number);
        }
        let judged = match (remains, self.host) {
            (Remains::Ended(outcome), Some(host)) => host.judge(&outcome, &turn.turn_key),
            (Remains::NeverStarted, _) => {
                let why = self.wards.last().and_then(Ward::refusal).map(str::to_owned);
                return self.lost(site, lock, around, number, &Loss::NeverStarted(why));
            }
            (Remains::Unkept, _) => return self.lost(site, lock, around, number, &Loss::Unkept),
            (Remains::Unknown | Remains::Abandoned(_) | Remains::Ended(_), _) => {
                return self.lost(site, lock, around, number, &Loss::Unknown);
            }
        };
        self.take_in(site, lock, around, number, judged)
    }

    /// Records that an attempt left no result: another may follow where nothing can have changed.
    pub(super) fn lost(
        &mut self,
        site: &mut Site<'_>,
        lock: &DriverLock,
        around: &Around,
        number: u8,
        loss: &Loss,
    ) -> Result<Flow> {
        let turn = &around.turn;
        let attempt = turn.attempts.iter().find(|attempt| attempt.number == number);
        let unchanged = match attempt {
            Some(attempt) if loss.may_have_begun() => unchanged(site, around, attempt)?,
            Some(_) | None => true,
        };
        let note = loss.note();
        if let Some(note) = &note {
            spool::keep_note(site, turn.turn_id, number, note)?;
        }
        if unchanged {
            // What was never started is on record as an attempt all the same. How many may be is not known without the host.
            let is_open = self.host.is_none() && !loss.may_have_begun();
            let retry = is_open || self.has_attempts_after(number);
            let note = note.and_then(|note| cut(&note, NOTE_MAX_BYTES).parse().ok());
            let closing = Closing { retry, note, ..Closing::failed(number, loss.failure()) };
            return self.end(site, lock, around, closing);
        }
        let (turn_id, own_id, held_by) = (turn.turn_id, turn.own_id, self.held_by.take());
        let step = Step::Lose { turn_id, own_id, executor_gone: true, held_by, awake_ms: self.awake_ms };
        self.submit(site, lock, around, Commit::End(number), step)?;
        Ok(Flow::Rest)
    }

    /// Records that nobody can tell whether an attempt's executor is gone.
    pub(super) fn lose(
        &mut self,
        site: &mut Site<'_>,
        lock: &DriverLock,
        around: &Around,
        number: u8,
    ) -> Result<Flow> {
        let (turn_id, own_id, held_by) = (around.turn.turn_id, around.turn.own_id, self.held_by.take());
        let step = Step::Lose { turn_id, own_id, executor_gone: false, held_by, awake_ms: self.awake_ms };
        self.submit(site, lock, around, Commit::End(number), step)?;
        Ok(Flow::Rest)
    }

    /// Whether the host may be started again after this attempt.
    fn has_attempts_after(&self, number: u8) -> bool {
        has_attempts_after(self.host, number)
    }

    /// Records what a host's end means.
    pub(super) fn take_in(
        &mut self,
        site: &mut Site<'_>,
        lock: &DriverLock,
        around: &Around,
        number: u8,
        judged: Judged,
    ) -> Result<Flow> {
        let turn = &around.turn;
        let (turn_id, own_id, held_by) = (turn.turn_id, turn.own_id, self.held_by);
        match judged {
            Judged::Result(result) => {
                let (candidate, wake) = candidate(site, around, &result)?;
                let step = Step::Candidate {
                    turn_id,
                    own_id: Some(own_id),
                    candidate: Box::new(candidate),
                    wake,
                    held_by,
                    awake_ms: self.awake_ms,
                };
                match self.submit(site, lock, around, Commit::Candidate(number), step) {
                    // What a result names is the host's own word: it costs the host its result, and never strands the Turn.
                    Err(error) if error.code().class() == Class::Usage => {
                        let note = cut(error.message(), NOTE_MAX_BYTES).parse().ok();
                        let closing = Closing { note, ..Closing::failed(number, HostFailure::ResultInvalid) };
                        self.end(site, lock, around, closing)
                    }
                    submitted => {
                        submitted?;
                        failpoint::reach!(TurnCandidate);
                        Ok(Flow::Again)
                    }
                }
            }
            Judged::Stopped => self.end(site, lock, around, Closing::stopped(number)),
            Judged::Failed { failure, retry, note } => {
                let retry = retry && (self.host.is_none() || self.has_attempts_after(number));
                self.end(site, lock, around, Closing { retry, note, ..Closing::failed(number, failure) })
            }
        }
    }

    /// Records the end of an attempt that left no result.
    pub(super) fn end(
        &mut self,
        site: &mut Site<'_>,
        lock: &DriverLock,
        around: &Around,
        closing: Closing,
    ) -> Result<Flow> {
        let turn = &around.turn;
        let Closing { number, failure, retry, note } = closing;
        let held_by = self.held_by.take();
        let note = note.or_else(|| failure.and_then(|failure| failure.as_str().parse().ok()));
        let (turn_id, own_id, awake_ms) = (turn.turn_id, turn.own_id, self.awake_ms);
        let step = Step::End { turn_id, own_id, failure, retry, note, held_by, awake_ms };
        self.submit(site, lock, around, Commit::End(number), step)?;
        failpoint::reach!(TurnAttemptEnded);
        Ok(Flow::Again)
    }
}

/// How long an attempt took while the machine was awake; none where that is not known.
pub(super) fn awake(remains: &Remains) -> Option<u64> {
    match remains {
        Remains::NeverStarted => Some(0),
        Remains::Ended(outcome) | Remains::Abandoned(outcome) => outcome.awake_ms,
        Remains::Unkept | Remains::Unknown => None,
    }
}

/// What a result becomes as a fact.
pub(super) fn candidate(
    site: &mut Site<'_>,
    around: &Around,
    result: &TurnResult,
) -> Result<(Candidate, Option<Wake>)> {
    let is_monitor = around.todo.as_ref().is_some_and(|todo| todo.kind == TodoKind::Monitor);
    let now = site.picture(&around.turn)?;
    let (outside, shared) = Opening::outside(site, around, now.as_ref())?;
    let candidate = Candidate {
        kind: result.kind_for(is_monitor),
        digest: result.digest,
        requirement_revision: 0,
        at: Timestamp::default(),
        summary: result.summary.parse().ok(),
        classification: result.classification.parse().ok(),
        next_action: result.next_action.parse().ok(),
        continuation: result.continuation.clone().unwrap_or_default(),
        evidence: result.evidence.clone(),
        usage: result.usage.clone(),
        goes_on: false,
        tree: now.map(|tree| tree.digest(&scopes(around))),
        outside,
        shared,
    };
    Ok((candidate, result.wake.clone()))
}

/// Whether a guardian saw the end of all that it guarded, and said so.
fn is_proved_empty(remains: &Remains) -> bool {
    let (Remains::Ended(outcome) | Remains::Abandoned(outcome)) = remains else { return false };
    matches!(outcome.containment, Containment::Leaf | Containment::Adopted) && outcome.survivors.is_empty()
}

/// By what an attempt was held together after all, where that is less than was recorded.
pub(super) fn weaker(site: &Site<'_>, turn: &Turn, number: u8, remains: &Remains) -> Option<Guarantee> {
    let recorded = turn.attempts.iter().find(|attempt| attempt.number == number)?.guarantee?;
    let noted = || Guardian::noted(&site.machine.locks, turn.turn_id, number);
    weakened(recorded, remains, noted)
}

fn weakened(
    recorded: Guarantee,
    remains: &Remains,
    noted: impl FnOnce() -> Option<Guardian>,
) -> Option<Guarantee> {
    let outcome = match remains {
        Remains::Ended(outcome) | Remains::Abandoned(outcome) => Some(&**outcome),
        Remains::Unkept | Remains::Unknown => None,
        Remains::NeverStarted => return None,
    };
    if outcome.is_some_and(|outcome| matches!(outcome.ended, Ended::NotStarted(_))) {
        return None;
    }
    let held_by = match outcome.map(|outcome| outcome.containment) {
        Some(Containment::Leaf) => Some(Guarantee::Cgroup),
        Some(Containment::Adopted) => Some(Guarantee::SubReaper),
        // A guardian that was shown no process table has seen the group alone.
        Some(Containment::Group) => Some(Guarantee::GroupOnly),
        // Nobody saw its end: a guardian that is gone adopted what it had not seen in the group yet.
        Some(Containment::Token | Containment::Children) | None => noted()
            .filter(|left| left.has_told(Told::Began) && !left.has_told(Told::Confined))
            .map(|_| Guarantee::SubReaper),
    };
    held_by.filter(|held_by| recorded < *held_by)
}

/// Whether a host may be started again after an attempt.
pub(super) fn has_attempts_after(host: Option<&dyn Host>, number: u8) -> bool {
    host.is_some_and(|host| number < host.hosting().attempts_max)
}

/// What a guardian that is gone has left of an attempt of this machine; of one of an earlier boot, only what it wrote.
pub(super) fn remains(site: &Site<'_>, around: &Around, host: &dyn Host, number: u8) -> Result<Remains> {
    let machine = site.machine;
    let attempt = around.turn.attempts.iter().find(|attempt| attempt.number == number);
    let Some(attempt) = attempt.filter(|attempt| attempt.guarantee.is_some_and(Guarantee::is_guarded)) else {
        return Ok(Remains::Unknown);
    };
    let is_complete = |stdout: &[u8]| host.is_complete(stdout);
    let remains = guard::remains(machine, around.turn.turn_id, number, &is_complete)?;
    // What a crash of the machine has taken may have been there.
    let same_boot = attempt.boot_id.as_ref().zip(machine.boot_id()).is_some_and(|(then, now)| then == now);
    Ok(if matches!(remains, Remains::NeverStarted) && !same_boot { Remains::Unknown } else { remains })
}

/// Whether nothing can have changed since an attempt began: a tree that can be compared, equal to what it was.
pub(super) fn unchanged(site: &mut Site<'_>, around: &Around, attempt: &Attempt) -> Result<bool> {
    let Some(before) = attempt.tree else { return Ok(false) };
    Ok(site.whole(&around.turn)? == Some(before))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Identity, NotStarted, Outcome};

    fn run(ended: Ended, containment: Containment) -> Outcome {
        Outcome {
            ended,
            stdout: Vec::new(),
            stderr: Vec::new(),
            stdout_seen_bytes: 0,
            stderr_seen_bytes: 0,
            result_complete: false,
            wall_ms: 0,
            awake_ms: None,
            outlived: Vec::new(),
            survivors: Vec::new(),
            containment,
        }
    }

    #[test]
    fn each_guarantee_that_did_not_hold_is_put_right() {
        use Guarantee::{Cgroup, GroupOnly, SubReaper};
        let of = |recorded, ended, containment| {
            let outcome = Box::new(run(ended, containment));
            let remains =
                if ended == Ended::Abandoned { Remains::Abandoned(outcome) } else { Remains::Ended(outcome) };
            weakened(recorded, &remains, || None)
        };
        for (recorded, containment, put_right) in [
            (Cgroup, Containment::Leaf, None),
            (Cgroup, Containment::Adopted, Some(SubReaper)),
            (Cgroup, Containment::Group, Some(GroupOnly)),
            (SubReaper, Containment::Leaf, None),
            (SubReaper, Containment::Adopted, None),
            (SubReaper, Containment::Group, Some(GroupOnly)),
            (GroupOnly, Containment::Group, None),
            (GroupOnly, Containment::Adopted, None),
            // of one whose end nobody saw, and whose guardian left no word
            (Cgroup, Containment::Token, None),
        ] {
            for ended in [Ended::Exited(0), Ended::Abandoned, Ended::WallDeadline] {
                assert_eq!(of(recorded, ended, containment), put_right, "{recorded:?} {containment:?}");
            }
            let ended = Ended::NotStarted(NotStarted::Missing);
            assert_eq!(of(recorded, ended, containment), None);
        }
        let noted = |told: &[Told]| {
            let process = Identity { pid: 7, started: 7 };
            Some(Guardian { told: told.iter().copied().collect(), ..Guardian::new(process, None) })
        };
        let unseen = || Remains::Ended(Box::new(run(Ended::ExitUnknown, Containment::Token)));
        for remains in [Remains::Unknown, Remains::Unkept, unseen()] {
            let left = |told: &[Told]| weakened(Cgroup, &remains, || noted(told));
            assert_eq!(left(&[Told::Began]), Some(SubReaper), "{remains:?}");
            assert_eq!(left(&[Told::Began, Told::Confined]), None, "{remains:?}");
            assert_eq!(left(&[]), None, "{remains:?}: it let nothing go");
        }
    }
}
