//! Owns what can have happened to an ownership, and its application.

use serde::{Deserialize, Serialize};

use crate::{
    error::Result,
    kernel::{Context, Facts, event_kinds, quota},
    model::{AgentId, Ownership, Reserved, Timestamp, TodoId, TodoKind, Turn, TurnId},
};

/// What can have happened to an ownership.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// A Todo was claimed, and a Turn admitted for it.
    Claimed {
        /// Which.
        todo_id: TodoId,
        /// By whom, until when.
        ownership: Box<Ownership>,
        /// The Turn.
        turn: Box<Turn>,
    },
    /// It was kept longer.
    Renewed {
        /// Which.
        todo_id: TodoId,
        /// Until then.
        expires_at: Timestamp,
    },
    /// It had run out, nobody had come, and its owner goes on.
    Rearmed {
        /// Which.
        todo_id: TodoId,
        /// Until then.
        expires_at: Timestamp,
    },
    /// It was reserved for an agent.
    Reserved {
        /// Which.
        todo_id: TodoId,
        /// For whom.
        agent_id: AgentId,
        /// Until when.
        until: Timestamp,
    },
}

event_kinds!(Event {
    Claimed => "claim.claimed",
    Renewed => "claim.renewed",
    Rearmed => "claim.rearmed",
    Reserved => "claim.reserved",
});

impl Event {
    /// Whether a ledger of the first schema can hold it: it knew no reservation beside the slot.
    pub(in crate::kernel) const fn since(&self) -> i32 {
        match self {
            Self::Claimed { turn, .. } if turn.spend.is_some() => 2,
            Self::Claimed { .. } | Self::Renewed { .. } | Self::Rearmed { .. } | Self::Reserved { .. } => 1,
        }
    }

    pub(in crate::kernel) fn apply(&self, context: &Context, facts: &mut Facts) -> Result<()> {
        match self {
            Self::Claimed { todo_id, ownership, turn } => {
                let todo = facts.todo_mut(todo_id)?;
                todo.revision += 1;
                todo.epoch = turn.epoch;
                todo.turn_no = turn.turn_no;
                todo.turn_id = Some(turn.turn_id);
                todo.reserved = None;
                todo.ownership = Some((**ownership).clone());
                todo.owned_by_another |=
                    todo.made_by.agent().is_none_or(|(maker, _)| *maker != ownership.agent_id);
                if let Some(covering) = &mut todo.covering {
                    covering.proposed.clear();
                    covering.confirmed = false;
                }
                let looks = todo.kind == TodoKind::Monitor;
                let key = (context.goal_id.clone(), ownership.agent_id.clone());
                if facts.agent(&key)?.is_some_and(|agent| agent.looked_last != looks) {
                    facts.agent_mut(&key)?.looked_last = looks;
                }
                put_turn(facts, turn.turn_id, turn);
            }
            Self::Renewed { todo_id, expires_at } | Self::Rearmed { todo_id, expires_at } => {
                let todo = facts.todo_mut(todo_id)?;
                todo.revision += 1;
                if let Some(own) = &mut todo.ownership {
                    own.expires_at = *expires_at;
                }
            }
            Self::Reserved { todo_id, agent_id, until } => {
                let todo = facts.todo_mut(todo_id)?;
                todo.revision += 1;
                todo.reserved = Some(Reserved { agent_id: agent_id.clone(), until: *until });
            }
        }
        Ok(())
    }
}

fn put_turn(facts: &mut Facts, turn_id: TurnId, turn: &Turn) {
    quota::shift(facts, turn, 1);
    facts.put_turn(turn_id, turn.clone());
}
