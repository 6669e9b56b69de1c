//! Owns the moves of a random history about proposals.

use super::{super::world::text, Player};
use crate::{
    kernel::{Command, GoalCommand, ProposalCommand, TodoCommand},
    model::*,
};

impl Player {
    pub(super) fn propose(&mut self, x: u16, y: u16) {
        let Some(proposal) = self.proposal(y / 8).filter(|_| !y.is_multiple_of(3)) else {
            return self.ask(x, y);
        };
        let proposal_id = proposal.proposal_id;
        let until = Timestamp::from_ms(1_800_000_000_000 + i64::from(y) * 60_000);
        let command = match x % 8 {
            0 => ProposalCommand::Reject { proposal_id, reason: (y % 2 == 1).then(|| text("no")) },
            1 => ProposalCommand::Defer { proposal_id, until },
            2 => ProposalCommand::Lapse { proposal_id },
            3 => return self.as_agent(y, Command::Proposal(ProposalCommand::Withdraw { proposal_id })),
            _ => ProposalCommand::Confirm {
                proposal_id,
                command: serde_json::from_value(proposal.command).unwrap(),
                expected: proposal.expected,
            },
        };
        self.as_user(Command::Proposal(command));
    }

    /// An agent asks for something that is a person's to do.
    fn ask(&mut self, x: u16, y: u16) {
        let Some(todo_id) = self.todo(y) else { return };
        let revision = self.world.row(&todo_id).revision;
        let command = match x % 5 {
            0 => Command::Goal(GoalCommand::Stop),
            1 => Command::Todo(TodoCommand::Hold { todo_id: todo_id.clone() }),
            2 => Command::Todo(TodoCommand::Reopen { todo_id: todo_id.clone() }),
            _ => Command::Todo(TodoCommand::Cancel {
                todo_id: todo_id.clone(),
                reason: text("not wanted"),
                superseded_by: None,
            }),
        };
        let expected = match y % 3 {
            0 => Expected { todos: [(todo_id, revision)].into(), ..Expected::default() },
            _ => Expected::default(),
        };
        let kind = if y.is_multiple_of(5) { ProposalKind::Dream } else { ProposalKind::Change };
        let reason = text("it is in the way");
        let command = Box::new(command);
        self.as_agent(x, Command::Proposal(ProposalCommand::Add { kind, command, expected, reason }));
    }
}
