//! Owns what the end of an attempt means for its Turn: what the host said, that it is gone, what is recorded of it.
//!
//! Knows no one host. Invariant: what a host said is kept before any fact points at it, and no attempt's end is recorded
//! before its whole tree is proved empty.

use super::{
    commits::Commit,
    driver::{Driver, Flow},
    examine::scopes,
    guard::{self, Remains},
    host::{Host, Judged},
    lock::DriverLock,
    opening::Opening,
    site::{Around, Site, emptied},
    spool,
    validate::cut,
    wire::TurnResult,
};
use crate::{
    error::{Class, Result},
    failpoint,
    kernel::Step,
    model::{Attempt, Candidate, Guarantee, HostFailure, ShortText, Timestamp, TodoKind, Wake},
    process::Containment,
};

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

    const fn failed(number: u8, failure: HostFailure) -> Self {
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
        if let Remains::Ended(outcome) = &remains {
            spool::keep(site, turn.turn_id, number, outcome)?;
            failpoint::reach!(TurnSpooled);
            self.left.clone_from(&outcome.survivors);
        }
        let is_empty =
            is_proved_empty(&remains) || self.left.is_empty() && emptied(site.machine, turn.turn_id, number)?;
        if !is_empty {
            let step = Step::Lose { turn_id: turn.turn_id, own_id: turn.own_id, executor_gone: false };
            self.submit(site, lock, around, Commit::End(number), step)?;
            return Ok(Flow::Rest);
        }
        let judged = match (remains, self.host) {
            (Remains::Ended(outcome), Some(host)) => host.judge(&outcome, &turn.turn_key),
            (Remains::NeverStarted, _) => return self.lost(site, lock, around, number, false),
            (Remains::Unknown | Remains::Ended(_), _) => return self.lost(site, lock, around, number, true),
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
        may_have_begun: bool,
    ) -> Result<Flow> {
        let turn = &around.turn;
        let attempt = turn.attempts.iter().find(|attempt| attempt.number == number);
        let unchanged = match attempt {
            Some(attempt) if may_have_begun => unchanged(site, around, attempt)?,
            Some(_) | None => true,
        };
        if unchanged {
            let retry = self.has_attempts_after(number);
            let closing = Closing { retry, ..Closing::failed(number, HostFailure::Crashed) };
            return self.end(site, lock, around, closing);
        }
        let step = Step::Lose { turn_id: turn.turn_id, own_id: turn.own_id, executor_gone: true };
        self.submit(site, lock, around, Commit::End(number), step)?;
        Ok(Flow::Rest)
    }

    /// Whether the host may be started again after this attempt.
    fn has_attempts_after(&self, number: u8) -> bool {
        self.host.is_some_and(|host| number < host.hosting().attempts_max)
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
        let (turn_id, own_id) = (turn.turn_id, turn.own_id);
        match judged {
            Judged::Result(result) => {
                let (candidate, wake) = candidate(site, around, &result)?;
                let step =
                    Step::Candidate { turn_id, own_id: Some(own_id), candidate: Box::new(candidate), wake };
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
        let note = note.or_else(|| failure.and_then(|failure| failure.as_str().parse().ok()));
        let step = Step::End { turn_id: turn.turn_id, own_id: turn.own_id, failure, retry, note };
        self.submit(site, lock, around, Commit::End(number), step)?;
        failpoint::reach!(TurnAttemptEnded);
        Ok(Flow::Again)
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
    let Remains::Ended(outcome) = remains else { return false };
    matches!(outcome.containment, Containment::Leaf | Containment::Adopted) && outcome.survivors.is_empty()
}

/// What a guardian that is gone has left of an attempt of this machine; of one of an earlier boot, only what it wrote.
pub(super) fn remains(site: &Site<'_>, around: &Around, host: &dyn Host, number: u8) -> Result<Remains> {
    let machine = site.machine;
    let attempt = around.turn.attempts.iter().find(|attempt| attempt.number == number);
    let Some(attempt) = attempt.filter(|attempt| attempt.guarantee.is_some_and(Guarantee::is_guarded)) else {
        return Ok(Remains::Unknown);
    };
    let is_complete = |stdout: &[u8]| host.is_complete(stdout);
    let remains = guard::remains(&machine.spool, around.turn.turn_id, number, &is_complete)?;
    // What a crash of the machine has taken may have been there.
    let same_boot = attempt.boot_id.as_ref().zip(machine.boot_id()).is_some_and(|(then, now)| then == now);
    Ok(if matches!(remains, Remains::NeverStarted) && !same_boot { Remains::Unknown } else { remains })
}

/// Whether nothing can have changed since an attempt began: a tree that can be compared, equal to what it was.
pub(super) fn unchanged(site: &mut Site<'_>, around: &Around, attempt: &Attempt) -> Result<bool> {
    let Some(before) = attempt.tree else { return Ok(false) };
    Ok(site.whole(&around.turn)? == Some(before))
}
