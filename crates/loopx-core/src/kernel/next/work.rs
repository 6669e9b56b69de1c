//! Owns the rules about what can be taken: whether there is room for it in the budget, and what of it is best.
//!
//! Knows nothing of what is left when nothing can be.

use super::{Action, ground::Ground, trace::Found};
use crate::{
    error::{Code, Result},
    kernel::{
        Reason,
        asks::{ask, may_be_told, unresolved_ask},
        claim, quota, seeded,
    },
    model::{Agent, Timestamp, Todo, TurnState},
};
#[cfg(test)]
use crate::{kernel::Facts, model::TodoId};

/// What could be taken, and whether a slot is left for it.
pub(super) struct Room<'f> {
    pub(super) admitted: Vec<&'f Todo>,
    left: Result<()>,
}

impl<'f> Ground<'f> {
    pub(super) fn room(&self) -> Result<Room<'f>> {
        let (facts, goal_id, agent_id) = (self.facts, self.goal_id(), self.asker.viewer.agent_id);
        let mut admitted = Vec::new();
        let mut refused = None;
        for (todo, _) in self.reasons.iter().filter(|(_, reason)| *reason == Reason::Claimable) {
            let ends = claim::would_end(facts, &todo.todo_id, agent_id)?;
            let wish = quota::Wish { todo: Some(todo), ends: &ends, ..quota::Wish::default() };
            match quota::admit(facts, goal_id, agent_id, &wish) {
                Ok(_) => admitted.push(*todo),
                Err(_) if seeded!(ObligesPastQuota) => admitted.push(*todo),
                Err(error) if matches!(error.code(), Code::QuotaExhausted | Code::CeilingRequired) => {
                    refused.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        let left = quota::admit(facts, goal_id, agent_id, &quota::Wish::default()).map(drop);
        // Where there is room for some Turn, and for none of those there are, that is what is waited for.
        let left = match refused.filter(|_| admitted.is_empty()) {
            Some(error) => left.and(Err(error)),
            None => left,
        };
        Ok(Room { admitted, left })
    }

    /// Rule 6: nothing can be reserved. Held and unresolved Turns that hold the reservation are a person's to free.
    pub(super) fn no_slot(&self, room: &Room<'_>) -> Result<Found> {
        let Err(error) = &room.left else { return Ok(Found::passed("a slot is free")) };
        if !matches!(error.code(), Code::QuotaExhausted | Code::CeilingRequired) {
            return Err(error.clone());
        }
        if !room.admitted.is_empty() {
            return Ok(Found::passed("a Turn that ran out gives its slot back"));
        }
        if error.code() == Code::CeilingRequired {
            let command = error.hint_args().unwrap_or_default().to_owned();
            let asks = vec![ask(Code::CeilingRequired.as_str(), self.goal_id(), command)];
            return Ok(Found::held(Action::AskUser { asks }, error.message().to_owned()));
        }
        let mut asks = Vec::new();
        for turn in quota::holders(self.facts, self.goal_id(), self.asker.viewer.agent_id)? {
            match turn.state {
                TurnState::Held { .. } => asks.extend(self.asker.held_asks(self.facts, turn)?),
                TurnState::Unresolved { .. } => {
                    let told = may_be_told(turn, self.asker.machine_id, &self.asker.tried);
                    asks.push(unresolved_ask(turn, told));
                }
                TurnState::Admitted
                | TurnState::Dispatched
                | TurnState::Candidate
                | TurnState::Settled
                | TurnState::Stopped { .. }
                | TurnState::Failed { .. }
                | TurnState::Fenced => {}
            }
        }
        let saw = error.message().to_owned();
        if !asks.is_empty() {
            return Ok(Found::held(Action::AskUser { asks }, saw));
        }
        let until = error.details().get("frees_at_ms").and_then(serde_json::Value::as_i64);
        Ok(Found::held(Action::Wait { why: "quota", until: until.map(Timestamp::from_ms) }, saw))
    }

    /// Rule 7: the best of what can be taken.
    pub(super) fn work(&self, room: &Room<'_>) -> Result<Found> {
        let Some(todo) = best(self.agent()?, room.admitted.iter().copied()) else {
            return Ok(Found::passed(format!("none of the {} looked at", self.reasons.len())));
        };
        let todo_id = todo.todo_id.clone();
        let saw = format!("{todo_id} is the best of {}", room.admitted.len());
        let action = match todo.last_end.as_ref().filter(|end| end.repair) {
            Some(end) => Action::Repair { todo_id, failure: end.note.clone() },
            None => Action::Run { todo_id, turn_id: None },
        };
        Ok(Found::held(action, saw))
    }
}

/// Rule 7's order: the best of some Todos that an agent can take. After a look at a monitor, other work comes first.
pub fn best<'f>(agent: Option<&Agent>, claimable: impl IntoIterator<Item = &'f Todo>) -> Option<&'f Todo> {
    let looked_last = agent.is_some_and(|agent| agent.looked_last);
    claimable.into_iter().min_by_key(|todo| {
        let looked_at = todo.monitor.as_ref().map(|monitor| monitor.looked_at);
        let in_turn = looked_last && looked_at.is_some();
        (in_turn, todo.priority, looked_at.is_none(), looked_at.flatten(), todo.todo_id.number())
    })
}

/// Whether a claim of this Todo by this asker would be accepted; what the property tests compare `next` with.
#[cfg(test)]
pub(crate) fn would_admit(facts: &Facts, todo_id: &TodoId, asker: &super::Asker<'_>) -> Result<()> {
    let claim = claim::Claim {
        workspace: asker.viewer.workspace.cloned(),
        ..claim::Claim::attached(todo_id.clone())
    };
    claim::admissible(facts, &claim, asker.viewer.agent_id, asker.endpoint)
}
