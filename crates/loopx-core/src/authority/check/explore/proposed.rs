//! Owns what is proposed in an explored world, and every answer to it.
//!
//! Knows nothing of what an answer should lead to.

use super::{
    action::{TodoVerb, todo_command, todo_id},
    node::Node,
};
use crate::{
    authority::check::world::text,
    error::Result,
    kernel::{Command, ProposalCommand, Rows},
    model::*,
};

/// What an agent proposes: something that a person may do with a Todo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Proposed {
    pub(super) number: u32,
    pub(super) verb: TodoVerb,
    /// Whether it says at which revision it saw the Todo.
    pub(super) believes: bool,
}

/// What is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Confirm,
    /// That what its author believed is no longer so.
    Lapse,
    Reject,
    Defer,
    /// Its author takes it back.
    Withdraw,
}

impl Word {
    /// Every answer.
    pub(super) const ALL: &'static [Self] =
        &[Self::Confirm, Self::Lapse, Self::Reject, Self::Defer, Self::Withdraw];
}

/// Every proposal, the oldest first.
pub(super) fn all(rows: &Rows) -> impl Iterator<Item = &Proposal> {
    rows.nouns.values().filter_map(Proposal::of)
}

/// What still waits for an answer.
pub(super) fn waiting(rows: &Rows) -> impl Iterator<Item = &Proposal> {
    all(rows).filter(|proposal| proposal.is_open())
}

/// Whether what an author believed is still so.
pub(super) fn is_so(rows: &Rows, expected: &Expected) -> bool {
    let Expected { goal, todos, gate } = expected;
    goal.is_none_or(|revision| rows.goals.values().all(|goal| goal.revision == revision))
        && todos.iter().all(|(todo_id, revision)| rows.todos[todo_id].revision == *revision)
        && gate.is_none_or(|(gate_id, revision)| rows.gates[&gate_id].revision == revision)
}

impl Node {
    /// An agent proposes.
    pub(super) fn propose(&mut self, seat: &str, what: Proposed) -> Result<Receipt> {
        let todo_id = todo_id(what.number);
        let mut expected = Expected::default();
        if what.believes {
            let revision = self.ledger.seen(|rows| rows.todos[&todo_id].revision);
            expected.todos.insert(todo_id.clone(), revision);
        }
        let command = ProposalCommand::Add {
            kind: ProposalKind::Change,
            command: Box::new(todo_command(todo_id, what.verb)),
            expected,
            reason: text("it does not work so"),
        };
        self.agent(seat, Command::Proposal(command))
    }

    /// Somebody answers: its author, or a person who read it.
    pub(super) fn answer(&mut self, proposal: &Proposal, word: Word) -> Result<Receipt> {
        let Proposal { proposal_id, command, expected, by, .. } = proposal.clone();
        let command = match word {
            Word::Confirm => {
                let command = Box::new(serde_json::from_value(command).unwrap());
                ProposalCommand::Confirm { proposal_id, command, expected }
            }
            Word::Lapse => ProposalCommand::Lapse { proposal_id },
            Word::Reject => ProposalCommand::Reject { proposal_id, reason: None },
            Word::Defer => {
                let until = self.now().plus(Duration::from_mins(60));
                ProposalCommand::Defer { proposal_id, until }
            }
            Word::Withdraw => {
                let command = Command::Proposal(ProposalCommand::Withdraw { proposal_id });
                return self.submit(by, crate::kernel::Input::Command(command));
            }
        };
        self.user(Command::Proposal(command))
    }
}
