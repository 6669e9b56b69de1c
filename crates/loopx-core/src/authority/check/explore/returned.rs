//! Owns what peers return in an explored world, and what is decided on it.
//!
//! Knows nothing of what a decision should lead to.

use super::{
    action::{Token, seat_of, todo_id},
    node::{Node, actor},
};
use crate::{
    authority::check::{
        peers,
        world::{text, user},
    },
    error::Result,
    kernel::{Command, Input, PeerCommand, Rows},
    model::*,
};

/// What is decided on a return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Say {
    Adopt,
    Reject,
}

/// Every return, the oldest first.
pub(super) fn all(rows: &Rows) -> impl Iterator<Item = &PeerReturn> {
    rows.nouns.values().filter_map(PeerReturn::of)
}

/// What still waits for its coordinator.
pub(super) fn waiting(rows: &Rows) -> impl Iterator<Item = &PeerReturn> {
    all(rows).filter(|given| given.is_open())
}

/// The Turn in which a result of a Todo is found: the one that works on it, else the last that did.
pub(super) fn last_turn<'r>(rows: &'r Rows, todo: &Todo) -> Option<&'r Turn> {
    let last = || rows.turns.values().rfind(|turn| turn.todo_id() == Some(&todo.todo_id));
    todo.turn_id.and_then(|turn_id| rows.turns.get(&turn_id)).or_else(last)
}

impl Node {
    /// Whoever works on a Todo, or did last, returns what it found; none where nobody has.
    pub(super) fn give_back(&mut self, number: u32) -> Option<Result<Receipt>> {
        let rows = self.rows();
        let todo = &rows.todos[&todo_id(number)];
        let turn = last_turn(&rows, todo)?;
        let own = todo.ownership.as_ref().filter(|own| own.turn_id == turn.turn_id);
        Some(self.give_of(turn, own.map(|own| own.own_id)))
    }

    /// The agent of a Turn returns what was found in it.
    pub(super) fn give_of(&mut self, turn: &Turn, own_id: Option<OwnId>) -> Result<Receipt> {
        let shown = self.ledger.seen(|rows| rows.evidence.keys().next().copied());
        let given = peers::given(turn.todo_id().unwrap(), shown);
        let given = crate::kernel::Given { own_id, turn_id: Some(turn.turn_id), ..given };
        let by = Actor::Agent(turn.agent_id.clone(), turn.endpoint.clone());
        self.submit(by, Input::Command(Command::Peer(PeerCommand::Return(Box::new(given)))))
    }

    /// The owner of the coordinator decides, or a person; none where nobody owns it.
    pub(super) fn decide_on(
        &mut self,
        given: &PeerReturn,
        say: Say,
        by_owner: bool,
    ) -> Option<Result<Receipt>> {
        if !by_owner {
            return Some(self.decide_as(user(), given, say, None));
        }
        let own = self.ledger.seen(|rows| rows.todos[&given.todo_id].ownership.clone())?;
        Some(self.decide_as(actor(&seat_of(&own)), given, say, Some(own.own_id)))
    }

    /// Whoever has a token decides, whatever that is worth.
    pub(super) fn decide_late(&mut self, given: &PeerReturn, say: Say, token: &Token) -> Result<Receipt> {
        self.decide_as(actor(&token.seat), given, say, Some(token.own_id))
    }

    fn decide_as(
        &mut self,
        by: Actor,
        given: &PeerReturn,
        say: Say,
        own_id: Option<OwnId>,
    ) -> Result<Receipt> {
        let PeerReturn { return_id, todo_id, .. } = given.clone();
        let command = match say {
            Say::Adopt => PeerCommand::Adopt { return_id, todo_id, own_id, reason: None },
            Say::Reject => {
                let reason = text("it is known better");
                PeerCommand::Reject { return_id, todo_id, own_id, reason, superseded_by: None }
            }
        };
        self.submit(by, Input::Command(Command::Peer(command)))
    }
}
