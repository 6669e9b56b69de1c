//! Owns the read models: what people and programs are shown of the facts.
//!
//! Pure over a [`View`](crate::authority::View): it reads one consistent state, writes nothing, and knows no
//! clock but the terms it is given. Invariant: every page costs the same at ten Todos and at a million; what is
//! counted is read from counts, what is listed is bounded.

mod agent;
mod evidence;
mod export;
mod find;
mod gate;
mod goal;
mod metrics;
mod moments;
mod page;
mod status;
mod timeline;
mod todo;
mod turn;
mod words;

pub use agent::{AgentPage, AgentRow, agent, agents};
pub use evidence::{EvidenceQuery, EvidenceRow, evidence, evidences};
pub use export::{EventExport, GoalExport, ReceiptExport, export};
pub use find::{Found, find};
pub use gate::{GateQuery, GateRow, gate, gates};
pub use goal::{CriterionRow, GoalPage, GoalRow, goal, goals, known};
pub use metrics::{Count, Metric, Metrics, metrics};
pub use moments::with_units;
pub use page::{Listed, PAGE_MAX, Slice};
pub use status::{
    Attention, Eyes, GoalStatus, LastRun, Next, Owned, Status, Stuck, WaitingOn, Which, status,
};
pub use timeline::{LogQuery, LogRow, log};
pub use todo::{OwnerRow, TodoPage, TodoQuery, TodoRow, todo, todos};
pub use turn::{TurnQuery, TurnRow, last_ended, left, left_of, turns, word};
pub use words::{asked, mend, plain, question, should};

#[cfg(test)]
mod tests;
