//! Owns taking what an agent should do now: the decision and the admission are one commit.
//!
//! Knows no rule: what is to be done the decision says, whether it may be taken the admission.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Admission, admit, checked_ttl, owned};
use crate::{
    error::{Code, Error, Result},
    kernel::{
        Action, Asker, Concluded, Decided, Depth, Draft, Outcome, Reason, Seen, UnresolvedBy, Viewer, Wanted,
        agent, decide_first, decide_next, gate, goal, next, reason, todo,
    },
    model::{Actor, Duration, Executor, GoalId, MachineId, OwnId, TurnId, Workspace},
};

/// What an agent that asks for its next work says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Next {
    /// How long it keeps others out without renewal: 45 minutes unless said, at most 24 hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<Duration>,
    /// Where it writes; the Goal's workspace unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,
    /// The token of a Turn that it is at work on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_id: Option<OwnId>,
    /// What its edge saw. Invariant: it is in no digest, so that whoever asks again may have seen other things.
    #[serde(skip)]
    pub sighted: Sighted,
}

/// What an edge saw on its machine, and how far it had to look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sighted {
    /// The machine.
    pub machine_id: Option<MachineId>,
    /// What the driver and guardian locks of it say of a Turn; absent: unknown.
    pub seen: BTreeMap<TurnId, Seen>,
    /// Unresolved Turns whose readback was tried as they stand now, and led nowhere.
    pub tried: BTreeSet<TurnId>,
    /// How far the decision looks. A short page that does not settle it refuses.
    pub depth: Depth,
}

impl Next {
    pub(super) fn reads(&self, goal: &GoalId, actor: &Actor, wanted: &mut Wanted<'_>) {
        if let Some((agent, _)) = actor.agent() {
            next::reads(goal, agent, self.workspace.as_ref(), self.sighted.depth, wanted);
        }
    }

    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        let Some((agent_id, endpoint)) = draft.actor().agent() else {
            return Err(Error::from(Code::ActorNotAllowed));
        };
        let (agent_id, endpoint) = (agent_id.clone(), endpoint.clone());
        let ttl_ms = checked_ttl(self.ttl_ms)?;
        let goal_id = draft.goal_id().clone();
        let row = agent::registered(draft.facts(), &(goal_id.clone(), agent_id.clone()))?;
        let asker = Asker {
            viewer: Viewer {
                agent_id: &agent_id,
                capabilities: row.capabilities.clone(),
                own_id: self.own_id,
                workspace: self.workspace.as_ref(),
            },
            endpoint: &endpoint,
            executor: Executor::Attached,
            machine_id: self.sighted.machine_id.as_ref(),
            seen: self.sighted.seen.clone(),
            tried: self.sighted.tried.clone(),
        };
        let decided = match self.sighted.depth {
            Depth::First => decide_first(draft.facts(), &goal_id, &asker)?.ok_or_else(changed)?,
            Depth::Whole => decide_next(draft.facts(), &goal_id, &asker)?,
        };
        match &decided.action {
            Action::Run { todo_id, turn_id: Some(_) } => Ok((owned(draft, todo_id)?, None)),
            Action::Run { todo_id, turn_id: None }
            | Action::Repair { todo_id, .. }
            | Action::Replan { todo_id, .. } => {
                let replan = decided.action.replan().cloned();
                let todo_id = todo_id.clone();
                let workspace = self.workspace.clone();
                let executor = Executor::Attached;
                let machine_id = None;
                let want = Admission {
                    todo_id,
                    replan,
                    agent_id,
                    endpoint,
                    executor,
                    machine_id,
                    ttl_ms,
                    workspace,
                };
                admit(draft, &want)
            }
            Action::AskUser { .. } if !decided.unasked.is_empty() => ask(draft, &decided, &asker.viewer),
            Action::Reconcile { .. } | Action::Wait { .. } | Action::AskUser { .. } | Action::Closed => {
                Err(refusal(draft, &decided)?)
            }
        }
    }
}

/// Opens the gates that nobody was asked for yet.
fn ask(draft: &mut Draft<'_>, decided: &Decided, viewer: &Viewer<'_>) -> Result<Concluded> {
    let mut gate_id = None;
    for todo_id in &decided.unasked {
        if let Reason::Approval(keys) = reason(draft.facts(), todo::named(draft, todo_id)?, viewer)? {
            let opened = gate::ask_approvals(draft, todo_id, &keys)?;
            gate_id = gate_id.or(opened.first().copied());
        }
    }
    let outcome = Outcome { todo_ids: decided.unasked.clone(), gate_id, ..Outcome::default() };
    Ok((outcome, Some(Code::GateOpened)))
}

/// A first page that does not settle what to do: it did when it was read before.
fn changed() -> Error {
    Error::new(Code::NotReady, "what could be taken has changed meanwhile").detail("why", "changed")
}

/// Why nothing is to be taken now; a decision that is no work writes nothing.
fn refusal(draft: &Draft<'_>, decided: &Decided) -> Result<Error> {
    let goal_id = draft.goal_id();
    if let Some(goal) = draft.facts().goal(goal_id)? {
        goal::check_not_closed(goal)?;
    }
    let not_ready = |message: String| Error::new(Code::NotReady, message).detail("rule", decided.rule);
    Ok(match &decided.action {
        Action::Reconcile { of: UnresolvedBy::Effect(effect_id), command } => {
            let message = format!("first it has to be read back what the effect {effect_id} did");
            Error::new(Code::EffectUnresolved, message)
                .detail("effect_id", effect_id.to_string())
                .hint(command.clone())
        }
        Action::Reconcile { of: UnresolvedBy::Turn(turn_id), command } => {
            let message = format!("first it has to be found out what the Turn {turn_id} did");
            Error::new(Code::ReconciliationRequired, message)
                .detail("turn_id", turn_id.to_string())
                .hint(command.clone())
        }
        Action::Wait { why, until, .. } => {
            let error = not_ready(format!("there is nothing to do in {goal_id} now")).detail("why", *why);
            match until {
                Some(until) => error.detail("until_ms", until.as_ms()),
                None => error,
            }
        }
        Action::AskUser { asks } => {
            not_ready(format!("nothing can be done in {goal_id} until a person acts"))
                .detail("asks", serde_json::to_value(asks).unwrap_or_default())
        }
        Action::Run { .. } | Action::Repair { .. } | Action::Replan { .. } | Action::Closed => {
            Error::from(Code::Internal)
        }
    })
}
