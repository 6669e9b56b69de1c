//! Owns what can have happened to a gate, and its application.

use serde::{Deserialize, Serialize};

use super::NewGate;
use crate::{
    error::Result,
    kernel::{Context, Delta, Facts, Target, event_kinds, replan},
    model::{Answer, Blocks, Gate, GateId, GateState, ReplanCause, Timestamp, TurnId},
};

/// What can have happened to a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// It was opened.
    Opened {
        /// Its id.
        gate_id: GateId,
        /// What it is made of.
        new: Box<NewGate>,
        /// The Turn whose completion it accepts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        accepts: Option<TurnId>,
    },
    /// A person answered.
    Resolved {
        /// Which.
        gate_id: GateId,
        /// How.
        answer: Answer,
    },
    /// It was taken back.
    Withdrawn {
        /// Which.
        gate_id: GateId,
    },
    /// It was asked again.
    Reopened {
        /// Which.
        gate_id: GateId,
    },
}

event_kinds!(Event {
    Opened => "gate.opened",
    Resolved => "gate.resolved",
    Withdrawn => "gate.withdrawn",
    Reopened => "gate.reopened",
});

impl Event {
    pub(in crate::kernel) fn apply(&self, context: &Context, facts: &mut Facts) -> Result<()> {
        match self {
            Self::Opened { gate_id, new, accepts } => opened(context, facts, *gate_id, new, *accepts),
            Self::Resolved { gate_id, answer } => {
                let (by, at) = (context.actor.clone(), context.at);
                let state = match answer {
                    Answer::Approve => GateState::Approved { by, at },
                    Answer::Deny { reason } => GateState::Denied { by, at, reason: reason.clone() },
                    Answer::Answer { text } => GateState::Answered { by, at, answer: text.clone() },
                    Answer::Defer { until } => GateState::Deferred { until: *until },
                };
                moved(facts, *gate_id, state, context.at)
            }
            Self::Withdrawn { gate_id } => {
                let state = GateState::Withdrawn { by: context.actor.clone(), at: context.at };
                moved(facts, *gate_id, state, context.at)
            }
            Self::Reopened { gate_id } => moved(facts, *gate_id, GateState::Open, context.at),
        }
    }
}

fn opened(
    context: &Context,
    facts: &mut Facts,
    gate_id: GateId,
    new: &NewGate,
    accepts: Option<TurnId>,
) -> Result<()> {
    let gate = Gate {
        gate_id,
        goal_id: context.goal_id.clone(),
        kind: new.kind,
        question: new.question.clone(),
        options: new.options.clone(),
        blocks: new.blocks.clone(),
        scope: new.scope.clone(),
        standing_until: new.standing_until,
        accepts,
        opened_by: context.actor.clone(),
        opened_at: context.at,
        state: GateState::Open,
        revision: 1,
    };
    block(facts, &gate, 1)?;
    facts.put_gate(gate_id, gate);
    if let Some(turn_id) = accepts {
        facts.turn_mut(&turn_id)?.acceptance_gate = Some(gate_id);
    }
    Ok(())
}

fn moved(facts: &mut Facts, gate_id: GateId, state: GateState, now: Timestamp) -> Result<()> {
    let gate = facts.gate_mut(&gate_id)?;
    let (was, was_denied) = (gate.is_blocking(), matches!(gate.state, GateState::Denied { .. }));
    gate.state = state;
    gate.revision += 1;
    let gate = gate.clone();
    match (was, gate.is_blocking()) {
        (true, false) => block(facts, &gate, -1)?,
        (false, true) => block(facts, &gate, 1)?,
        (true, true) | (false, false) => {}
    }
    tell_of_plan(facts, &gate, was_denied)?;
    let target = Target::Gate(gate_id);
    match gate.state {
        GateState::Approved { .. } | GateState::Answered { .. } => {
            facts.shift(Delta::Wake { target, woken_at: Some(now), lost: false });
        }
        GateState::Denied { .. } | GateState::Withdrawn { .. } => {
            facts.shift(Delta::Wake { target, woken_at: None, lost: true });
        }
        GateState::Open | GateState::Deferred { .. } => {
            facts.shift(Delta::Wake { target, woken_at: None, lost: false });
        }
    }
    Ok(())
}

/// A denial obliges to change the plan of what it stops, until it is taken back.
fn tell_of_plan(facts: &mut Facts, gate: &Gate, was_denied: bool) -> Result<()> {
    let (Blocks::Todos(ids), None) = (&gate.blocks, gate.accepts) else { return Ok(()) };
    let is_denied = matches!(gate.state, GateState::Denied { .. });
    for id in ids.iter().filter(|_| is_denied != was_denied) {
        if is_denied {
            replan::oblige(facts, id, ReplanCause::GateDenied)?;
        } else {
            let other = |gate: &&Gate| matches!(gate.state, GateState::Denied { .. });
            if !facts.todo_gates(id)?.iter().any(other) {
                replan::relieve(facts, id, ReplanCause::GateDenied)?;
            }
        }
    }
    Ok(())
}

/// Moves the counts of what a gate stops. One that only asks whether a result is accepted holds that result's
/// Turn, and stops nothing else.
fn block(facts: &mut Facts, gate: &Gate, by: i32) -> Result<()> {
    if gate.accepts.is_some() {
        return Ok(());
    }
    match &gate.blocks {
        Blocks::Goal => {
            let goal = facts.goal_mut(&gate.goal_id)?;
            goal.goal_gates = goal.goal_gates.saturating_add_signed(by);
        }
        Blocks::Todos(ids) => facts.shift(Delta::Gated { todos: ids.iter().cloned().collect(), by }),
    }
    Ok(())
}
