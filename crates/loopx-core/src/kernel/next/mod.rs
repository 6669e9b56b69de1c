//! Owns the decision: what an agent should do now, by ordered rules, the first that matches.
//!
//! Pure and total; it writes nothing and never obliges an agent to what an admission would refuse.

mod across;
mod ground;
mod reads;
mod rules;
mod trace;
mod turns;
mod work;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use across::across;
pub use reads::next_reads;
pub(super) use reads::reads;
pub use rules::{decide_first, decide_next};
pub use trace::Looked;
#[cfg(test)]
pub(crate) use work::would_admit;
pub use work::{best, budget_why};

use super::{
    Ask, Depth, Facts, UnresolvedBy, Viewer,
    asks::{Sight, held_asks},
};
use crate::{
    error::Result,
    model::{
        EndpointId, Executor, MachineId, Priority, ReplanRef, ShortText, Timestamp, TodoId, Turn, TurnId,
    },
};

impl Decided {
    /// A rule's answer alone, of which nothing else is known.
    pub fn of(rule: u8, action: Action) -> Self {
        Self {
            obligation: action.obligation(),
            action,
            rule,
            also: BTreeMap::new(),
            priority: None,
            unasked: Vec::new(),
            depth: Depth::Whole,
            trace: Vec::new(),
        }
    }
}

/// For whom a decision is asked, and what the edge saw on its machine.
#[derive(Debug, Clone)]
pub struct Asker<'a> {
    /// The agent.
    pub viewer: Viewer<'a>,
    /// Through which endpoint it would execute.
    pub endpoint: &'a EndpointId,
    /// Who would run it: the room that is looked for is what such an admission reserves.
    pub executor: Executor,
    /// The machine of the asking edge.
    pub machine_id: Option<&'a MachineId>,
    /// What the driver and guardian locks of this machine say of a Turn; absent: unknown.
    pub seen: BTreeMap<TurnId, Seen>,
    /// Unresolved Turns whose readback was tried as they stand now, and led nowhere.
    pub tried: BTreeSet<TurnId>,
}

impl Asker<'_> {
    /// What frees a held Turn, as is seen from here.
    pub(super) fn held_asks(&self, facts: &Facts, turn: &Turn) -> Result<Vec<Ask>> {
        let driver = |turn_id| self.seen.get(&turn_id).copied();
        let sight = Sight { machine_id: self.machine_id, driver: &driver, tried: &self.tried };
        Ok(held_asks(facts, turn, &sight)?.into_iter().map(|(_, ask)| ask).collect())
    }
}

/// What an edge saw of an executor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It lives.
    Alive,
    /// It is gone.
    Gone,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "action")]
pub enum Action {
    /// Work on a Todo.
    Run {
        /// Which.
        todo_id: TodoId,
        /// Its Turn, when it is the asker's already.
        #[serde(skip_serializing_if = "Option::is_none")]
        turn_id: Option<TurnId>,
    },
    /// Work on a Todo whose last result was refused.
    Repair {
        /// Which.
        todo_id: TodoId,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<ShortText>,
    },
    /// Change the plan.
    Replan {
        /// The replan. Where no claim has written it yet, what it covers, or, where that is the Goal, what it becomes.
        todo_id: TodoId,
        /// The name by which it is claimed then.
        #[serde(skip_serializing_if = "Option::is_none")]
        replan: Option<ReplanRef>,
    },
    /// Find out what became of a Turn, or of an outside effect.
    Reconcile {
        /// Of which.
        #[serde(flatten)]
        of: UnresolvedBy,
        /// The command that does.
        command: String,
    },
    /// Wait.
    Wait {
        /// For what.
        why: &'static str,
        /// Until when, if that is known; else for a change.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        /// The Turn whose end is waited for, if it is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        turn_id: Option<TurnId>,
    },
    /// A person has to act.
    AskUser {
        /// What each has to do.
        asks: Vec<Ask>,
    },
    /// Nothing more; the Goal is closed.
    Closed,
}

impl Action {
    /// The Todo to work on, if it is work on one.
    pub const fn todo_id(&self) -> Option<&TodoId> {
        match self {
            Self::Run { todo_id, .. } | Self::Repair { todo_id, .. } | Self::Replan { todo_id, .. } => {
                Some(todo_id)
            }
            Self::Reconcile { .. } | Self::Wait { .. } | Self::AskUser { .. } | Self::Closed => None,
        }
    }

    /// The replan to take by its name, if it is one that no claim has written yet.
    pub const fn replan(&self) -> Option<&ReplanRef> {
        match self {
            Self::Replan { replan, .. } => replan.as_ref(),
            Self::Run { .. }
            | Self::Repair { .. }
            | Self::Reconcile { .. }
            | Self::Wait { .. }
            | Self::AskUser { .. }
            | Self::Closed => None,
        }
    }

    /// What it obliges the asker to.
    const fn obligation(&self) -> Obligation {
        match self {
            Self::Run { .. } | Self::Repair { .. } | Self::Replan { .. } | Self::Reconcile { .. } => {
                Obligation { must_attempt_work: true }
            }
            Self::Wait { .. } | Self::AskUser { .. } | Self::Closed => {
                Obligation { must_attempt_work: false }
            }
        }
    }

    /// The stable name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Run { .. } => "run",
            Self::Repair { .. } => "repair",
            Self::Replan { .. } => "replan",
            Self::Reconcile { .. } => "reconcile",
            Self::Wait { .. } => "wait",
            Self::AskUser { .. } => "ask_user",
            Self::Closed => "closed",
        }
    }
}

/// What a decision obliges the asker to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Obligation {
    /// Whether it must attempt work; never what an admission would refuse it.
    pub must_attempt_work: bool,
}

/// A decision, the rule that made it, and what else stands around.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// What to do.
    #[serde(flatten)]
    pub action: Action,
    /// What that obliges the asker to.
    pub obligation: Obligation,
    /// The number of the rule that matched.
    pub rule: u8,
    /// How many of the Todos that were looked at have which reason.
    pub also: BTreeMap<&'static str, usize>,
    /// How urgent the work is that it found.
    #[serde(skip)]
    pub priority: Option<Priority>,
    /// The Todos, up to a bound, whose needed approvals nobody was asked for: who takes what is next asks.
    #[serde(skip)]
    pub unasked: Vec<TodoId>,
    /// How far it had to look.
    #[serde(skip)]
    pub depth: Depth,
    /// Each rule that it came to, in order; the last one decided.
    #[serde(skip)]
    pub trace: Vec<Looked>,
}
