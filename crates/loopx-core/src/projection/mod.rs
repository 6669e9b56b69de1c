//! Owns the read models: what people and programs are shown of the facts.
//!
//! Pure over a [`View`](crate::authority::View): it reads one consistent state, writes nothing, and knows no
//! clock but the terms it is given. Invariant: every page costs the same at ten Todos and at a million; what is
//! counted is read from counts, what is listed is bounded.

mod agent;
mod budget;
mod decision;
mod evidence;
mod export;
mod find;
mod gate;
mod goal;
mod handoff;
mod metrics;
mod moments;
mod noun;
mod page;
mod proof;
mod quota;
mod status;
mod timeline;
mod todo;
mod turn;
mod why;
mod words;

pub use agent::{AgentPage, AgentRow, agent, agents};
pub use budget::{amount_of, amounts, limited, span};
pub use decision::{Inquiry, decision, decisions, sighted};
pub use evidence::{EvidenceQuery, EvidenceRow, evidence, evidences};
pub use export::{ChainExport, EventExport, GoalExport, ReceiptExport, check_chain, export, export_chain};
pub use find::{Found, find};
pub use gate::{GateQuery, GateRow, gate, gates};
pub use goal::{CriterionRow, GoalPage, GoalRow, goal, goals, known};
pub use handoff::{HandoffPage, handoff};
pub use metrics::{Count, Metric, Metrics, metrics};
pub use moments::with_units;
pub use noun::{NounRow, noun, nouns, undecided};
pub use page::{Listed, PAGE_MAX, Slice};
pub use proof::{
    Checked, PROOF_MAX_BYTES, Proof, SCHEMA as PROOF_SCHEMA, against, against_ledger, check as check_proof,
    prove, read as read_proof,
};
pub use quota::{Budget, BudgetRow, CeilingRow, SpendBy, SpendRow, budget, spending};
pub use status::{
    Attention, AttentionPage, AttentionRow, Eyes, GoalStatus, LastRun, Next, Owned, Rank, Saw, Status, Stuck,
    WaitingOn, Which, attention, status,
};
pub use timeline::{History, LogQuery, LogRow, log};
pub use todo::{OwnerRow, TodoPage, TodoQuery, TodoRow, todo, todos};
pub use turn::{TurnQuery, TurnRow, last_ended, left, left_of, turns, word};
pub use why::{Because, why_gate, why_goals, why_todo};
pub use words::{asked, mend, plain, question, should};

#[cfg(test)]
mod tests;
