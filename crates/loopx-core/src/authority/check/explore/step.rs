//! Owns what is checked of every move: that a refusal wrote nothing, and that what was accepted kept each promise.
//!
//! Knows nothing of how states are found.

use std::collections::BTreeMap;

use super::{
    super::invariants::{self, Broken, Promise, keeps},
    action::Action,
    node::{Node, actor},
};
use crate::{
    authority::{chain::Envelope, check::world::user},
    error::{Code, Error},
    kernel::{ClaimEvent, Command, Context, Event, Facts, GoalCommand, Input, Rows, TurnEvent},
    model::*,
};

/// The codes of a no that is written all the same.
const NEGATIVES: [Code; 2] = [Code::GateOpened, Code::OwnershipExpired];

/// What became of a move.
pub(super) enum Stepped {
    /// It makes no sense here, or was refused, and nothing was written.
    Nowhere,
    /// Somewhere.
    To(Rows),
}

/// Every promise that was broken at once; none is the rule.
pub(super) type Checked<T> = Result<T, Vec<Broken>>;

/// Puts together what several checks found.
pub(super) fn all(checks: impl IntoIterator<Item = Result<(), Broken>>) -> Checked<()> {
    let broken: Vec<_> = checks.into_iter().filter_map(Result::err).collect();
    if broken.is_empty() { Ok(()) } else { Err(broken) }
}

/// Makes a move on a fork, which after a refusal is what it was.
pub(super) fn step(fork: &mut Node, before: &Rows, action: Action) -> Checked<Stepped> {
    let version = fork.ledger.version();
    let Some(answer) = fork.act(action) else { return Ok(Stepped::Nowhere) };
    match answer {
        Err(error) => {
            all([refused(fork, version, &error)])?;
            Ok(Stepped::Nowhere)
        }
        Ok(None) => Ok(Stepped::To(before.clone())),
        Ok(Some(receipt)) => {
            let after = fork.rows();
            all(accepted(fork, before, &after, &receipt))?;
            Ok(Stepped::To(after))
        }
    }
}

/// What is true of a refusal, of a ledger that was at a version before.
pub(super) fn refused(node: &Node, version: u64, error: &Error) -> Result<(), Broken> {
    keeps(error.code() != Code::Internal, Promise::Total, || format!("{error:?}"))?;
    keeps(node.ledger.version() == version, Promise::RefusalsWriteNothing, || {
        format!("refused, and written: {error}")
    })
}

fn accepted(node: &Node, before: &Rows, after: &Rows, receipt: &Receipt) -> [Result<(), Broken>; 8] {
    let terms = node.terms();
    let events = node.written();
    [
        negative(receipt),
        invariants::rows(after, terms.now),
        invariants::settled(before, after),
        invariants::meters(after, &node.ledger.meters()),
        one_owner(before, &events, &terms),
        one_end(before, after, &events),
        folded(node, before, after, &events),
        repeated(node, after),
    ]
}

fn negative(receipt: &Receipt) -> Result<(), Broken> {
    let allowed = receipt.negative().is_none_or(|code| NEGATIVES.contains(&code));
    keeps(allowed, Promise::RefusalsWriteNothing, || format!("{:?} is written", receipt.negative()))
}

/// Who claims takes nothing from an owner that keeps others out.
fn one_owner(before: &Rows, events: &[Envelope], terms: &crate::kernel::Terms) -> Result<(), Broken> {
    for envelope in events {
        let Event::Claim(ClaimEvent::Claimed { todo_id, ownership, turn }) = &envelope.body else { continue };
        let todo = before.todos.get(todo_id);
        let own = todo.and_then(|todo| todo.ownership.as_ref());
        // Who goes on with a part of it goes on, whatever its effects did.
        let past = own.is_none() && todo.is_some_and(|todo| !todo.blocking_effects.is_empty());
        keeps(!past, Promise::NothingPast, || {
            format!("{todo_id} was claimed past an effect nobody knows of")
        })?;
        let Some(own) = own else { continue };
        let goes_on = (&own.agent_id, &own.endpoint) == (&ownership.agent_id, &ownership.endpoint)
            && before.turns[&own.turn_id].epoch == turn.epoch;
        keeps(goes_on || terms.is_expired(own), Promise::OneOwner, || {
            format!("{todo_id} was taken from {}", own.agent_id)
        })?;
        let ahead = goes_on || turn.epoch > before.turns[&own.turn_id].epoch;
        keeps(ahead, Promise::OneOwner, || format!("{todo_id}: the fence did not move"))?;
    }
    Ok(())
}

/// What has ended stays as it ended, and ends once.
fn one_end(before: &Rows, after: &Rows, events: &[Envelope]) -> Result<(), Broken> {
    let mut ends: BTreeMap<TurnId, usize> = BTreeMap::new();
    for envelope in events {
        if let Event::Turn(TurnEvent::Ended { turn_id, .. }) = &envelope.body {
            *ends.entry(*turn_id).or_default() += 1;
        }
    }
    for (turn_id, turn) in &after.turns {
        let was = before.turns.get(turn_id);
        let had_ended = was.is_some_and(Turn::is_terminal);
        keeps(!had_ended || was == Some(turn), Promise::OneSettlement, || {
            format!("{turn_id} had ended, and was written")
        })?;
        let expected = usize::from(turn.is_terminal() && !had_ended);
        let found = ends.get(turn_id).copied().unwrap_or_default();
        keeps(found == expected, Promise::OneSettlement, || format!("{turn_id} ended {found} times"))?;
        let Some(spends) = invariants::spends(turn) else { continue };
        keeps((turn.slot == Slot::Spent) == spends, Promise::OneSettlement, || {
            format!("{turn_id} is {} with its slot {:?}", turn.state.as_str(), turn.slot)
        })?;
    }
    Ok(())
}

/// The rows before, and what happened, are the rows after.
fn folded(node: &Node, before: &Rows, after: &Rows, events: &[Envelope]) -> Result<(), Broken> {
    let mut facts = Facts::whole(node.terms());
    facts.load(before.clone());
    for envelope in events {
        let Envelope { actor, at, body, .. } = envelope;
        let context = Context { goal_id: Node::goal_id(), actor: actor.clone(), at: *at };
        let applied = body.apply(&context, &mut facts);
        keeps(applied.is_ok(), Promise::Fold, || format!("{body:?} cannot be applied: {applied:?}"))?;
    }
    keeps(facts.rows() == after, Promise::Fold, || "the fold of the events differs from the rows".to_owned())
}

/// What was accepted last, and before that, returns the same again and writes nothing.
pub(super) fn repeated(node: &Node, rows: &Rows) -> Result<(), Broken> {
    let written = node.ledger.stored(&Node::goal_id()).len();
    for last in &node.last {
        let again = node.give(&last.operation);
        let same = again.as_ref().is_ok_and(|again| {
            again.is_replayed() && Receipt { replayed: false, ..again.clone() } == last.receipt
        });
        keeps(same, Promise::SameReceipt, || format!("{:?}, and then {again:?}", last.receipt))?;
        let same_rows = node.ledger.seen(|now| now == rows);
        let nothing = same_rows && node.ledger.stored(&Node::goal_id()).len() == written;
        keeps(nothing, Promise::SameReceipt, || "a repeated operation wrote".to_owned())?;
    }
    Ok(())
}

/// The id of what was accepted stands for nothing else: no other command, no other belief, nobody else's.
pub(super) fn conflicting(node: &Node) -> Result<(), Broken> {
    let version = node.ledger.version();
    for last in &node.last {
        let is = &last.operation;
        let other = match &is.command {
            Input::Command(Command::Goal(GoalCommand::Stop)) => GoalCommand::Resume,
            Input::Command(_) | Input::Step(_) => GoalCommand::Stop,
        };
        let command = Input::Command(Command::Goal(other));
        let expected =
            Expected { goal: Some(is.expected.goal.unwrap_or_default() + 1), ..is.expected.clone() };
        let somebody = if is.actor == user() { actor("a@a.cli") } else { user() };
        let others = [
            Operation { command, ..is.clone() },
            Operation { expected, ..is.clone() },
            Operation { actor: somebody, ..is.clone() },
        ];
        for other in others {
            let answer = node.give(&other);
            let refused = answer.as_ref().is_err_and(|error| error.code() == Code::OperationConflict);
            keeps(refused && node.ledger.version() == version, Promise::SameReceipt, || {
                format!("an id was used twice: {other:?}: {answer:?}")
            })?;
        }
    }
    Ok(())
}
