//! Owns the rules of one Goal, in their order, the first that holds deciding.
//!
//! Knows nothing of other Goals, and writes nothing.

use super::{
    Action, Asker, Decided,
    ground::Ground,
    trace::{Found, Trace},
    turns::{executing, unresolved},
    work::best,
};
use crate::{
    error::{Code, Result},
    kernel::{
        self, ASKS_MAX, Ask, Depth, Facts, Read, Reason, UnresolvedBy,
        asks::{close_asks, goal_gate_asks, todo_asks},
        effect, gap, replan,
    },
    model::{GoalId, GoalState, TodoKind},
};

/// Decides what an agent should do now, by all that any decision looks at.
///
/// Errors: `not_found` for a Goal or an agent that is not there.
pub fn decide_next(facts: &Facts, goal_id: &GoalId, asker: &Asker<'_>) -> Result<Decided> {
    facts.asked(&Read::Live(goal_id.clone()))?;
    let gap = gap::offered(facts, goal_id)?;
    let ground = Ground::of(facts, goal_id, asker, gap.as_ref())?;
    let mut trace = Trace::default();
    if let Some(action) = trace.look(1, ground.closed()) {
        return Ok(ground.decided(action, trace, Depth::Whole));
    }
    let action = ground.rules(&mut trace)?;
    Ok(ground.decided(action, trace, Depth::Whole))
}

/// Decides by a first page alone; nothing, when what was not loaded could change the answer.
///
/// Invariant: what it decides, [`decide_next`] decides too. Only work to take is decided here: all that comes before
/// it is on the page, and nothing that is not can come before what is ready at any time, or before a monitor. A gap in the
/// criteria comes after both.
pub fn decide_first(facts: &Facts, goal_id: &GoalId, asker: &Asker<'_>) -> Result<Option<Decided>> {
    let ground = Ground::of(facts, goal_id, asker, None)?;
    let mut trace = Trace::default();
    if trace.look(1, ground.closed()).is_some() || ground.ahead(&mut trace)?.is_some() {
        return Ok(None);
    }
    let room = ground.room()?;
    let agent = ground.agent()?;
    let Some(todo) = best(agent, room.admitted.iter().copied()) else { return Ok(None) };
    let is_certain = match &todo.monitor {
        _ if replan::is_replan(todo) => true,
        Some(_) => agent.is_some_and(|agent| !agent.looked_last),
        None => kernel::index(todo).ready_at == 0,
    };
    if !is_certain {
        return Ok(None);
    }
    trace.look(6, ground.no_slot(&room)?);
    let action = trace.look(7, ground.work(&room)?);
    Ok(action.map(|action| ground.decided(action, trace, Depth::First)))
}

impl Ground<'_> {
    fn closed(&self) -> Found {
        match self.goal.state {
            GoalState::Closed { .. } => Found::held(Action::Closed, "the Goal is closed"),
            GoalState::Active | GoalState::Stopped => Found::passed("the Goal is not closed"),
        }
    }

    /// Rules 2 to 5: what comes before any work.
    fn ahead(&self, trace: &mut Trace) -> Result<Option<Action>> {
        if let Some(action) = trace.look(2, executing(self.facts, self.goal_id(), self.asker)?) {
            return Ok(Some(action));
        }
        if let Some(action) = trace.look(3, unresolved(self.facts, self.goal_id(), self.asker)?) {
            return Ok(Some(action));
        }
        if let Some(action) = trace.look(4, self.stopped()) {
            return Ok(Some(action));
        }
        Ok(trace.look(5, self.gated()))
    }

    fn stopped(&self) -> Found {
        match self.goal.state {
            GoalState::Stopped => {
                let wait = Action::Wait { why: Code::GoalStopped.as_str(), until: None, turn_id: None };
                Found::held(wait, "the Goal is stopped")
            }
            GoalState::Active | GoalState::Closed { .. } => Found::passed("the Goal is active"),
        }
    }

    fn gated(&self) -> Found {
        if self.goal.goal_gates == 0 {
            return Found::passed("no gate blocks the whole Goal");
        }
        let asks = goal_gate_asks(self.facts, self.goal_id());
        Found::held(Action::AskUser { asks }, format!("{} block the whole Goal", self.goal.goal_gates))
    }

    /// The rules after the first, in order; the last one always holds.
    fn rules(&self, trace: &mut Trace) -> Result<Action> {
        if let Some(action) = self.ahead(trace)? {
            return Ok(action);
        }
        let room = self.room()?;
        if let Some(action) = trace.look(6, self.no_slot(&room)?) {
            return Ok(action);
        }
        if let Some(action) = trace.look(7, self.work(&room)?) {
            return Ok(action);
        }
        let asks = self.asks()?;
        if let Some(action) = trace.look(8, self.peers(&asks)) {
            return Ok(action);
        }
        if let Some(action) = trace.look(9, Self::persons(asks)) {
            return Ok(action);
        }
        if let Some(action) = trace.look(10, self.nothing_left()?) {
            return Ok(action);
        }
        let until = self.earliest(|reason| match reason {
            Reason::Time(at) => *at,
            _ => None, // wildcard: only one reason matters here
        });
        let saw = match until {
            Some(_) => "the earliest moment of what is put off or watched",
            None => "what is left waits for a change, and for no moment",
        };
        let wait = Action::Wait { why: "time", until, turn_id: None };
        trace.look(11, Found::held(wait.clone(), saw));
        Ok(wait)
    }

    /// Rule 9: what a person has to do, each with the command that frees it.
    fn asks(&self) -> Result<Vec<Ask>> {
        let mut asks: Vec<Ask> = Vec::new();
        for (todo, reason) in &self.reasons {
            asks.extend(todo_asks(self.facts, self.asker, todo, reason)?);
            if asks.len() >= ASKS_MAX {
                break;
            }
        }
        asks.truncate(ASKS_MAX);
        Ok(asks)
    }

    /// Rule 8: others work, and no person can free anything.
    fn peers(&self, asks: &[Ask]) -> Found {
        let peer = self.earliest(|reason| match reason {
            Reason::Peer { until, .. } => Some(*until),
            Reason::Unresolved(UnresolvedBy::Effect(effect_id)) => effect::in_hand(self.facts, *effect_id),
            _ => None, // wildcard: only one reason matters here
        });
        match peer {
            None => Found::passed("nobody else keeps anything"),
            Some(_) if !asks.is_empty() => {
                Found::passed("others keep something, and a person can free something")
            }
            Some(until) => Found::held(
                Action::Wait { why: "owned_by_peers", until: Some(until), turn_id: None },
                "others keep something",
            ),
        }
    }

    fn persons(asks: Vec<Ask>) -> Found {
        match asks.len() {
            0 => Found::passed("nothing waits for a person"),
            n => Found::held(Action::AskUser { asks }, format!("{n} to be freed")),
        }
    }

    /// Rule 10: only monitors or nothing is left.
    fn nothing_left(&self) -> Result<Found> {
        let others = self.reasons.iter().filter(|(todo, _)| todo.kind != TodoKind::Monitor).count();
        if others > 0 {
            return Ok(Found::passed(format!("{others} wait, monitors left aside")));
        }
        if let (Some(_), Some(monitor)) = (self.goal.open_criterion(), self.goal.awaited()) {
            return Ok(Found::passed(format!("the Goal awaits what {monitor} sees")));
        }
        let asks = close_asks(self.facts, self.goal_id())?;
        Ok(Found::held(Action::AskUser { asks }, "only monitors, or nothing"))
    }
}
