//! Owns the ids of the commits that one verb makes about a Turn, and finding what came of them.
//!
//! Knows nothing of what the commits say. Invariant: an id follows from the verb's own and the commit alone, so the
//! same verb given again, by this release or a later one, finds what it committed before.

use std::fmt;

use super::site::Site;
use crate::{
    error::{Code, Error, Result},
    kernel::Outcome,
    model::{OperationId, Receipt, Turn, TurnId},
};

/// One commit of a verb about a Turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commit {
    /// A hosted Turn is admitted.
    Admit,
    /// A stop is wished.
    Stop,
    /// What was wished to stop has stopped.
    Stopped,
    /// What can be proved is recorded.
    Prove,
    /// What a recovery found.
    Recover,
    /// That it was no result after all.
    Invalid,
    /// This attempt is dispatched.
    Dispatch(u8),
    /// This attempt ended, or is lost.
    End(u8),
    /// The result of this attempt.
    Candidate(u8),
    /// What the validators of the attempt said in this round.
    Verdict(u8, u8),
    /// An owner's own result.
    OwnCandidate,
    /// What the validators of an owner's result said in this round.
    OwnVerdict(u8),
    /// The ownership is renewed.
    Renew,
}

/// The rounds in which the validators of an owner's result run: once more where the tree moved under them.
pub(super) const ROUNDS: [u8; 2] = [1, 2];

/// How often one verb, given again and again, may make the same commit about one Turn.
const AGAIN_MAX: u16 = 1000;

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admit => f.write_str("admit"),
            Self::Stop => f.write_str("stop"),
            Self::Stopped => f.write_str("stopped"),
            Self::Prove => f.write_str("prove"),
            Self::Recover => f.write_str("recover"),
            Self::Invalid => f.write_str("invalid"),
            Self::Dispatch(attempt) => write!(f, "dispatch.{attempt}"),
            Self::End(attempt) => write!(f, "end.{attempt}"),
            Self::Candidate(attempt) => write!(f, "candidate.{attempt}"),
            Self::Verdict(attempt, round) => write!(f, "verdict.{attempt}.{round}"),
            Self::OwnCandidate => f.write_str("candidate"),
            Self::OwnVerdict(1) => f.write_str("verdict"),
            Self::OwnVerdict(round) => write!(f, "verdict.{round}"),
            Self::Renew => f.write_str("renew"),
        }
    }
}

impl Commit {
    /// The operation id of this commit of a verb.
    ///
    /// Errors: `invalid_id` where the verb's id is too long for it.
    pub fn of(self, base: &OperationId) -> Result<OperationId> {
        base.step(&self.to_string())
    }

    /// The same, for the time given, from the second on.
    fn again(self, base: &OperationId, time: u16) -> Result<OperationId> {
        base.step(&format!("{self}+{time}"))
    }

    /// Whether a receipt is of this commit, of whatever verb and for whatever time.
    pub(super) fn has_made(self, receipt: &Receipt) -> bool {
        let name = receipt.operation_id().as_str().rsplit('/').next().unwrap_or_default();
        name.split('+').next() == Some(self.to_string().as_str())
    }

    /// All that may have been committed about a Turn after its admission.
    fn all(turn: &Turn) -> Vec<Self> {
        let mut all = vec![Self::Stop, Self::Stopped, Self::Prove, Self::Recover, Self::Invalid];
        all.extend(ROUNDS.map(Self::OwnVerdict));
        for attempt in turn.attempts.iter().map(|attempt| attempt.number) {
            all.extend([Self::Dispatch(attempt), Self::End(attempt), Self::Candidate(attempt)]);
            all.extend(ROUNDS.map(|round| Self::Verdict(attempt, round)));
        }
        all
    }
}

/// The last receipt that a verb has about a Turn, when it is given again.
pub(super) fn last_receipt(site: &mut Site<'_>, base: &OperationId, turn: &Turn) -> Result<Option<Receipt>> {
    let mut last: Option<Receipt> = None;
    for commit in Commit::all(turn) {
        let mut found = site.receipt(&commit.of(base)?)?;
        for time in 2..=AGAIN_MAX {
            let Some(receipt) = found else { break };
            let is_later =
                last.as_ref().is_none_or(|last| last.accepted_revision() < receipt.accepted_revision());
            if is_later && is_about(&receipt, turn.turn_id)? {
                last = Some(receipt);
            }
            found = site.receipt(&commit.again(base, time)?)?;
        }
    }
    Ok(last)
}

/// Whether a receipt is of a move of this Turn.
pub(super) fn is_about(receipt: &Receipt, turn_id: TurnId) -> Result<bool> {
    Ok(receipt.outcome::<Outcome>()?.turn_id == Some(turn_id))
}

/// The id of a commit that this verb has not made yet.
///
/// A driver goes on from what the ledger says: where a commit is due whose id has a receipt, the Turn has left the state
/// that the receipt is of, and the old receipt would stand for a move that was never written. Errors: `store_*`; `internal`
/// after a thousand of them.
pub(super) fn unused(site: &mut Site<'_>, base: &OperationId, commit: Commit) -> Result<OperationId> {
    let mut id = commit.of(base)?;
    for time in 2..=AGAIN_MAX {
        if site.receipt(&id)?.is_none() {
            return Ok(id);
        }
        id = commit.again(base, time)?;
    }
    Err(Error::from(Code::Internal).internal("a verb moved its Turn more often than its moves can be named"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_that_a_verb_has_left_in_ledgers_are_pinned() {
        let base: OperationId = "op".parse().unwrap();
        for (commit, id) in [
            (Commit::Admit, "op/admit"),
            (Commit::Stop, "op/stop"),
            (Commit::Stopped, "op/stopped"),
            (Commit::Prove, "op/prove"),
            (Commit::Recover, "op/recover"),
            (Commit::Invalid, "op/invalid"),
            (Commit::Dispatch(1), "op/dispatch.1"),
            (Commit::End(2), "op/end.2"),
            (Commit::Candidate(3), "op/candidate.3"),
            (Commit::Verdict(1, 2), "op/verdict.1.2"),
            (Commit::OwnCandidate, "op/candidate"),
            (Commit::OwnVerdict(1), "op/verdict"),
            (Commit::OwnVerdict(2), "op/verdict.2"),
            (Commit::Renew, "op/renew"),
        ] {
            assert_eq!(commit.of(&base).unwrap().as_str(), id);
        }
        assert_eq!(Commit::Prove.again(&base, 2).unwrap().as_str(), "op/prove+2");
    }
}
