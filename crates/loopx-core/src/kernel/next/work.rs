//! Owns the rules about what can be taken: whether there is room for it in the budget, and what of it is best.
//!
//! Knows nothing of what is left when nothing can be.

use super::{Action, ground::Ground, trace::Found};
use crate::{
    error::{Code, Error, Result},
    kernel::{
        Ask, Covered, Reason,
        asks::{ask, may_be_told, unresolved_ask},
        claim, quota, replan, seeded,
    },
    model::{Agent, Executor, Timestamp, Todo, TodoKind, TurnState},
};
#[cfg(test)]
use crate::{
    kernel::Facts,
    model::{ReplanRef, TodoId},
};

/// What could be taken, and whether a slot is left for it.
pub(super) struct Room<'f> {
    pub(super) admitted: Vec<&'f Todo>,
    /// Replans that no index offers: they come after all other work.
    lost: Vec<&'f Todo>,
    left: Result<()>,
}

impl Room<'_> {
    /// Whether nothing can be taken.
    fn is_empty(&self) -> bool {
        self.admitted.is_empty() && self.lost.is_empty()
    }
}

impl<'f> Ground<'f> {
    pub(super) fn room(&self) -> Result<Room<'f>> {
        // A driver may try more than once, and reserves for each attempt.
        let is_driven = self.asker.executor != Executor::Attached && !seeded!(AsksForOneAttempt);
        let (facts, goal_id, agent_id) = (self.facts, self.goal_id(), self.asker.viewer.agent_id);
        let (mut admitted, mut lost) = (Vec::new(), Vec::new());
        let mut refused = None;
        for (todo, reason) in &self.reasons {
            let derived = match reason {
                Reason::Claimable => false,
                Reason::Replan(Covered::Derived(_)) => true,
                _ => continue, // wildcard: nothing else can be taken
            };
            let (of, ends) = claim::taking(facts, todo, derived, agent_id)?;
            let wish = quota::Wish { todo: of, is_driven, ends: &ends };
            match quota::admit(facts, goal_id, agent_id, &wish) {
                Ok(_) if derived && !replan::is_indexed(todo, &self.asker.viewer.capabilities) => {
                    lost.push(*todo);
                }
                Ok(_) => admitted.push(*todo),
                Err(_) if seeded!(ObligesPastQuota) => admitted.push(*todo),
                Err(error) if matches!(error.code(), Code::QuotaExhausted | Code::CeilingRequired) => {
                    refused.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        let any = quota::Wish { is_driven, ..quota::Wish::default() };
        let left = quota::admit(facts, goal_id, agent_id, &any).map(drop);
        // Where there is room for some Turn, and for none of those there are, that is what is waited for.
        let left = match refused.filter(|_| admitted.is_empty() && lost.is_empty()) {
            Some(error) => left.and(Err(error)),
            None => left,
        };
        Ok(Room { admitted, lost, left })
    }

    /// Rule 6: nothing can be reserved. Held and unresolved Turns that hold the reservation are a person's to free.
    pub(super) fn no_slot(&self, room: &Room<'_>) -> Result<Found> {
        let Err(error) = &room.left else { return Ok(Found::passed("a slot is free")) };
        if !matches!(error.code(), Code::QuotaExhausted | Code::CeilingRequired) {
            return Err(error.clone());
        }
        if !room.is_empty() {
            return Ok(Found::passed("a Turn that ran out gives its slot back"));
        }
        // No time frees either of them.
        if let Some(why) = budget_why(error) {
            let command = error.hint_args().unwrap_or_default().to_owned();
            let asks = vec![ask(why, self.goal_id(), command)];
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
        let until = until.map(Timestamp::from_ms);
        Ok(Found::held(Action::Wait { why: "quota", until, turn_id: None }, saw))
    }

    /// Rule 7: the best of what can be taken.
    pub(super) fn work(&self, room: &Room<'_>) -> Result<Found> {
        let agent = self.agent()?;
        let found = best(agent, room.admitted.iter().copied());
        let last = best(agent, room.lost.iter().copied());
        // After a look at a monitor other work comes first, wherever that is found.
        let in_turn = agent.is_some_and(|agent| agent.looked_last)
            && found.is_some_and(|todo| todo.monitor.is_some() && !replan::is_replan(todo));
        let Some(todo) = (if in_turn { last.or(found) } else { found.or(last) }) else {
            return Ok(Found::passed(format!("none of the {} looked at", self.reasons.len())));
        };
        let saw = format!("{} is the best of {}", todo.todo_id, room.admitted.len() + room.lost.len());
        Ok(Found::held(self.to_do(todo), saw))
    }

    /// What taking a Todo means.
    fn to_do(&self, todo: &Todo) -> Action {
        let todo_id = todo.todo_id.clone();
        let reason =
            self.reasons.iter().find(|(other, _)| other.todo_id == todo_id).map(|(_, reason)| reason);
        if let Some(Reason::Replan(Covered::Derived(of))) = reason {
            return Action::Replan { todo_id, replan: Some(of.clone()) };
        }
        if todo.kind == TodoKind::Replan {
            return Action::Replan { todo_id, replan: None };
        }
        match todo.to_repair() {
            Some(end) => Action::Repair { todo_id, failure: end.note.clone() },
            None => Action::Run { todo_id, turn_id: None },
        }
    }
}

/// Rule 7's order: the best of some Todos that an agent can take. After a look at a monitor, other work comes first.
pub fn best<'f>(agent: Option<&Agent>, claimable: impl IntoIterator<Item = &'f Todo>) -> Option<&'f Todo> {
    let looked_last = agent.is_some_and(|agent| agent.looked_last);
    claimable.into_iter().min_by_key(|todo| {
        let looked_at = todo.monitor.as_ref().map(|monitor| monitor.looked_at);
        let is_replan = replan::is_replan(todo);
        let in_turn = looked_last && looked_at.is_some() && !is_replan;
        let looks = (looked_at.is_none(), looked_at.flatten());
        (in_turn, todo.priority, !is_replan, looks, todo.todo_id.number())
    })
}

/// Why a person is asked who has to change what is said of the budget before anything can be admitted; none where time
/// makes room again.
pub fn budget_why(error: &Error) -> Option<&'static str> {
    let frees = error.details().contains_key("frees_at_ms");
    match error.code() {
        Code::CeilingRequired => Some(Code::CeilingRequired.as_str()),
        Code::QuotaExhausted if !frees => Some(Ask::LIMIT_ZERO),
        _ => None, // wildcard: no other code is about the budget
    }
}

/// Whether a claim of this Todo by this asker would be accepted; what the property tests compare `next` with.
#[cfg(test)]
pub(crate) fn would_admit(
    facts: &Facts,
    todo_id: &TodoId,
    replan: Option<&ReplanRef>,
    asker: &super::Asker<'_>,
) -> Result<()> {
    let claim = claim::Claim {
        workspace: asker.viewer.workspace.cloned(),
        replan: replan.cloned(),
        executor: asker.executor,
        machine_id: asker.machine_id.cloned(),
        ..claim::Claim::attached(todo_id.clone())
    };
    claim::admissible(facts, &claim, asker.viewer.agent_id, asker.endpoint)
}
