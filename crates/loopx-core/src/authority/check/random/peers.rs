//! Owns the moves of a random history about returns and handoffs, and that a packet's revision moves exactly with it.

use super::{
    super::{handoff::parts, peers::given},
    Player, pick,
};
use crate::{
    kernel::{Change, Command, Coordinator, Given, HandoffCommand, PeerCommand, TodoCommand},
    model::*,
};

impl Player {
    pub(super) fn peers(&mut self, x: u16, y: u16) {
        let rows = self.world.ledger.rows();
        let all = rows.nouns.values().filter_map(PeerReturn::of).cloned();
        let Some(row) = pick(all, x / 8).filter(|_| x % 8 > 3) else { return self.give(x, y) };
        let own_id = rows.todos[&row.todo_id].ownership.as_ref().map(|own| own.own_id);
        let own_id = own_id.filter(|_| !y.is_multiple_of(5));
        let PeerReturn { return_id, todo_id, .. } = row;
        let other = pick(rows.nouns.values().filter_map(PeerReturn::of).map(|row| row.return_id), y);
        let command = Command::Peer(match x % 8 {
            4 | 5 => PeerCommand::Adopt { return_id, todo_id, own_id, reason: None },
            n => PeerCommand::Reject {
                return_id,
                todo_id,
                own_id,
                reason: "not shown".parse().unwrap(),
                superseded_by: other.filter(|_| n == 6),
            },
        });
        if y.is_multiple_of(3) { self.as_user(command) } else { self.as_agent(y, command) }
    }

    /// A Todo gets a coordinator, returns to it, or is taken over.
    fn give(&mut self, x: u16, y: u16) {
        let (Some(todo_id), Some(other)) = (self.todo(x / 8), self.todo(y)) else { return };
        let rows = self.world.ledger.rows();
        let row = &rows.todos[&todo_id];
        match x % 8 {
            0 => {
                let coordinates =
                    if y.is_multiple_of(7) { Coordinator::Nobody } else { Coordinator::Todo(other) };
                let change = Box::new(Change { coordinates: Some(coordinates), ..Change::default() });
                self.as_user(Command::Todo(TodoCommand::Update { todo_id, change }));
            }
            1 => {
                let revision = self.world.handoff(&todo_id).revision;
                let revision = if y.is_multiple_of(4) { Digest::ZERO } else { revision };
                self.as_agent(y, Command::Handoff(HandoffCommand::Accept { todo_id, revision }));
            }
            _ => {
                let turn = pick(rows.turns.values().filter(|turn| turn.todo_id() == Some(&todo_id)), y);
                let own_id = row.ownership.as_ref().map(|own| own.own_id).filter(|_| !y.is_multiple_of(5));
                let turn_id = turn.map(|turn| turn.turn_id);
                let given = Given { own_id, turn_id, ..given(&todo_id, pick(rows.evidence.into_keys(), x)) };
                let command = Command::Peer(PeerCommand::Return(Box::new(given)));
                match turn {
                    Some(turn) if !y.is_multiple_of(6) => {
                        let name = format!("{}@{}", turn.agent_id, turn.endpoint);
                        drop(self.world.agent(&name, command));
                    }
                    Some(_) | None => self.as_agent(y, command),
                }
            }
        }
    }

    /// The revision of each packet is another exactly where a part of it is.
    pub(super) fn check_packets(&mut self) {
        let rows = self.world.ledger.rows();
        for todo_id in rows.todos.keys() {
            let found = (parts(&rows, todo_id), self.world.handoff(todo_id).revision);
            let before = self.packets.insert(todo_id.clone(), found.clone());
            let Some((parts, revision)) = before else { continue };
            assert_eq!(parts == found.0, revision == found.1, "{parts}\n{}", found.0);
        }
    }
}
