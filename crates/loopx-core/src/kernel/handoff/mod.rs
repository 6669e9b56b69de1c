//! Owns the handoff: what whoever takes work over is told, and that he took it over knowing exactly that.
//!
//! Invariant: an accepted handoff is a fact beside the work. It moves no Todo, gives nobody an ownership, and no session
//! another mode.

mod packet;

use serde::{Deserialize, Serialize};

pub use packet::{Next, NextStep, OpenEffect, OpenGate, Packet, Standing, packet, packet_reads};

use super::{
    Concluded, Context, Covered, Draft, Facts, Outcome, Read, Reason, Viewer, Wanted, agent, claim,
    event_kinds,
    reason::{kept_from, kept_reads},
    todo,
};
use crate::{
    error::{Code, Error, Result},
    model::{Actor, Digest, GoalId, Handoff, HandoffId, TodoId},
};

/// What can be asked about a handoff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Takes work over.
    Accept {
        /// Which Todo.
        todo_id: TodoId,
        /// The revision of the packet that was read.
        revision: Digest,
    },
}

/// What can have happened to a handoff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// An agent took work over.
    Accepted {
        /// The fact.
        handoff: Box<Handoff>,
    },
}

event_kinds!(Event { Accepted => "handoff.accepted" });

impl Command {
    pub(super) fn reads(&self, goal: &GoalId, actor: &Actor, wanted: &mut Wanted<'_>) {
        let Self::Accept { todo_id, .. } = self;
        packet::want(todo_id, wanted);
        let Some((agent, _)) = actor.agent() else { return };
        wanted.want(Read::Agent(goal.clone(), agent.clone()));
        if let Some(todo) = wanted.rows().todos.get(todo_id) {
            kept_reads(todo, agent, wanted);
        }
    }

    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<Concluded> {
        let Self::Accept { todo_id, revision } = self;
        todo::named(draft, todo_id)?;
        todo::check_open_for_agents(draft)?;
        check_may_take_over(draft, todo_id)?;
        let found = packet(draft.facts(), todo_id)?.revision()?;
        if found != *revision {
            let message = format!("what is handed over with {todo_id} has another revision by now");
            return Err(Error::new(Code::StaleRevision, message)
                .detail("expected", revision.to_string())
                .detail("found", found.to_string())
                .hint(format!("handoff show {todo_id}")));
        }
        let handoff_id = HandoffId::from_bytes(draft.mint());
        let handoff = Handoff {
            handoff_id,
            goal_id: draft.goal_id().clone(),
            todo_id: todo_id.clone(),
            revision: *revision,
            by: draft.actor().clone(),
            at: draft.now(),
        };
        draft.emit(Event::Accepted { handoff: Box::new(handoff) })?;
        let todo_ids = vec![todo_id.clone()];
        Ok((Outcome { handoff_id: Some(handoff_id), todo_ids, ..Outcome::default() }, None))
    }
}

/// Who may take a Todo over: an agent from whom nobody keeps it, that can do it. What is open about the work, a gate or
/// an effect, is part of what it takes over.
fn check_may_take_over(draft: &Draft<'_>, todo_id: &TodoId) -> Result<()> {
    let Some((agent_id, _)) = draft.actor().agent() else { return Ok(()) };
    let facts = draft.facts();
    let row = agent::registered(facts, &(draft.goal_id().clone(), agent_id.clone()))?;
    let todo = todo::named(draft, todo_id)?;
    let capabilities = row.capabilities.clone();
    let viewer = Viewer { agent_id, capabilities, own_id: None, workspace: None };
    let kept = match kept_from(facts, todo, &viewer)? {
        Some(kept) => kept,
        None if todo.requires.capabilities.is_subset(&viewer.capabilities) => return Ok(()),
        None => Reason::Capability,
    };
    let refusal = claim::refusal(facts, todo, agent_id, &kept);
    // What is open about the work may keep its replan from being claimed too.
    Err(if let Reason::Replan(Covered::Derived(_)) = kept {
        refusal.hint(format!("todo show {todo_id}"))
    } else {
        refusal
    })
}

impl Event {
    #[expect(clippy::unnecessary_wraps, reason = "every domain's events are applied by one signature")]
    pub(super) fn apply(&self, _context: &Context, facts: &mut Facts) -> Result<()> {
        let Self::Accepted { handoff } = self;
        facts.put_noun((**handoff).clone());
        Ok(())
    }
}
