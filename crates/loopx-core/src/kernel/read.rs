//! Owns the questions that a decision may put to the ledger before it looks at facts.

use super::facts::Facts;
use crate::model::{
    AgentId, Bucket, EffectKey, EvidenceId, GateId, GoalId, MeterScope, NounKey, NounKind, TodoId, TurnId,
    Workspace,
};

/// One question to the ledger.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Read {
    /// A Goal's row.
    Goal(GoalId),
    /// An agent's row.
    Agent(GoalId, AgentId),
    /// A Todo's row, its Turn that has not ended, and what a replan's Turn proposed that is not answered, with whose that
    /// is. Whatever else brings a Todo brings as much.
    Todo(TodoId),
    /// A Todo's long text.
    Text(TodoId),
    /// A Turn's row, and its Todo.
    Turn(TurnId),
    /// A gate's row.
    Gate(GateId),
    /// A piece of evidence.
    Evidence(EvidenceId),
    /// A noun beside the plan.
    Noun(NounKey),
    /// The nouns of a kind in a Goal that are open, up to [`Facts::PAGE`].
    OpenNouns(GoalId, NounKind),
    /// The effect that a key names in a Goal.
    EffectOf(GoalId, EffectKey),
    /// The Turns of an agent that have not ended, and their Todos.
    AgentTurns(GoalId, AgentId),
    /// The Turns of a Goal that have not ended, and their Todos.
    LiveTurns(GoalId),
    /// The gates that name a Todo and block.
    TodoGates(TodoId),
    /// The gates that block a whole Goal.
    GoalGates(GoalId),
    /// The gates of a Goal that were approved and carry a key.
    Approvals(GoalId),
    /// The Todos, of any Goal, that are owned in a work tree, whatever folder of it, and their Turns.
    Writers(Workspace),
    /// The done Todos that depend on one: the first by number, up to [`Facts::LISTED`], and how many there are; no row
    /// is loaded.
    DoneDependants(TodoId),
    /// The cancelled Todos that one depends on, as much of them; no row is loaded.
    CancelledDeps(TodoId),
    /// A Todo and everything it waits for, through Todos that are not cancelled, up to [`Facts::WALK_MAX`].
    Ancestors(TodoId),
    /// Some live Todos of a Goal that keep it from being achieved: advance, blocker, replan; where there is none, the
    /// first action.
    Unfinished(GoalId),
    /// Some live Todos of a Goal that a gate blocks by name.
    Gated(GoalId),
    /// The first live Todos of a Goal by number, up to [`Facts::PAGE`], and their Turns.
    Live(GoalId),
    /// The first Todos that an agent may take, and their Turns: none that excludes it or needs a capability it
    /// lacks. By priority, until the page is full: those that are ready at any time, by number, and besides them up to
    /// [`Facts::PAGE`] of those that become ready in time, monitors among them.
    Ready(GoalId, AgentId, Depth),
    /// The last Turn on a Todo whose result is proven.
    Proven(TodoId),
    /// The agent of the last Turn on a Todo that did not merely stop; no row is loaded.
    Author(TodoId),
    /// How much a meter holds since a bucket.
    Used(MeterScope, Bucket),
    /// The limit of all Goals together; no row is loaded.
    AuthorityLimit,
}

/// How far a page of candidates goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Depth {
    /// As far as usually suffices.
    First,
    /// As far as any decision looks.
    #[default]
    Whole,
}

impl Depth {
    /// How many rows fill the page.
    pub const fn rows(self) -> usize {
        match self {
            Self::First => 16,
            Self::Whole => Facts::PAGE,
        }
    }
}
