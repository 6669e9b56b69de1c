//! Owns the trait of a ledger: a transaction that stores rows, and a view that reads them.
//!
//! A ledger stores encoded rows, the columns that [`crate::kernel::index`] names, and versions; it sees no rule.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    chain::{Head, Record},
    clock::Stamp,
};
use crate::{
    error::{Code, Error, Result},
    kernel::{Facts, Read, Rows, Writes},
    model::{
        Actor, Agent, AgentId, Amounts, AuthorityId, Bucket, Digest, Evidence, Gate, Goal, GoalId,
        IncarnationId, Limit, MeterScope, Noun, NounKind, OperationId, Provenance, Receipt, Timestamp, Todo,
        TodoId, Turn, Workspace,
    },
};

/// A place where facts lie.
pub trait Ledger: fmt::Debug + Send {
    /// Runs a job under the write lock and commits what it stored, or nothing if it fails.
    fn write(&mut self, job: &mut dyn FnMut(&mut dyn Tx) -> Result<()>) -> Result<()>;

    /// Runs a job on one consistent state, and changes nothing.
    fn read(&mut self, job: &mut dyn FnMut(&mut dyn View) -> Result<()>) -> Result<()>;

    /// Sleeps until `changed` says yes, at most for `wait`; says whether it did. `changed` is asked at least once.
    fn wait(
        &mut self,
        wait: Duration,
        changed: &mut dyn FnMut(&mut dyn View) -> Result<bool>,
    ) -> Result<bool>;
}

/// One consistent state of a ledger.
///
/// A page that begins after an id that is none is `invalid_id`.
pub trait View {
    /// Whose ledger it is, which life it has, and the time of its last commit; none before the first.
    fn meta(&mut self) -> Result<Option<Meta>>;
    /// What an operation returned.
    fn receipt(&mut self, id: &OperationId) -> Result<Option<StoredReceipt>>;
    /// The end of a Goal's chain; none when there is no such Goal.
    fn head(&mut self, goal: &GoalId) -> Result<Option<Head>>;
    /// Answers questions of the kernel, and notes each as asked.
    fn load(&mut self, reads: &BTreeSet<Read>, facts: &mut Facts) -> Result<()>;

    /// Goals by id.
    fn goals(&mut self, after: Option<&GoalId>, limit: usize) -> Result<Vec<Goal>>;
    /// Todos of a Goal by number.
    fn todos(&mut self, filter: &TodoFilter<'_>, after: u32, limit: usize) -> Result<Vec<Todo>>;
    /// Todos of any Goal that are owned in a work tree, in no order.
    fn owned_in(&mut self, workspace: &Workspace, limit: usize) -> Result<Vec<Todo>>;
    /// Agents of a Goal by id.
    fn agents(&mut self, goal: &GoalId) -> Result<Vec<Agent>>;
    /// Gates of a Goal by id, which is by age.
    fn gates(&mut self, filter: &GateFilter<'_>, after: Option<&str>, limit: usize) -> Result<Vec<Gate>>;
    /// Evidence of a Goal, of one Todo if one is given, by id.
    fn evidence(
        &mut self,
        goal: &GoalId,
        todo: Option<&TodoId>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Evidence>>;
    /// Nouns of a kind, by id, which is by age.
    fn nouns(&mut self, filter: &NounFilter<'_>, after: Option<&str>, limit: usize) -> Result<Vec<Noun>>;
    /// The last noun of a kind about a Todo, by id.
    fn last_noun(&mut self, kind: NounKind, todo: &TodoId) -> Result<Option<Noun>>;
    /// Turns of a Goal, newest first.
    fn turns(&mut self, filter: &TurnFilter<'_>, before: Option<&str>, limit: usize) -> Result<Vec<Turn>>;
    /// Stored events of a Goal by number.
    fn events(&mut self, filter: &EventFilter<'_>, limit: usize) -> Result<Vec<Record>>;
    /// The end of the ledger's own chain, as it was noted with its last event; where nothing is noted, as in a file of the
    /// first schema, the last event that lies there. None before the first event.
    fn own_head(&mut self) -> Result<Option<Head>>;
    /// Stored events of the ledger itself, by number.
    fn own_events(&mut self, after: u64, limit: usize) -> Result<Vec<Record>>;
    /// The end of each Goal's chain, by the Goal's id, whatever state its rows are in.
    fn chains(&mut self, after: Option<&GoalId>, limit: usize) -> Result<Vec<(GoalId, Head)>>;
    /// What the meters of a Goal hold.
    fn meters(&mut self, goal: &GoalId) -> Result<Meters>;
    /// What first stands beside the rows of a Goal and says something else than they do: a column, a link. None where
    /// a ledger keeps nothing beside them.
    fn stray(&mut self, goal: &GoalId) -> Result<Option<Stray>>;
    /// Every receipt by its operation; none in the place of one that cannot be read.
    fn receipts(&mut self, after: Option<&OperationId>, limit: usize) -> Result<Vec<Told>>;
    /// Hands out the rows of a Goal as they lie, readable or not: the name of their place, and what lies there.
    fn raw(&mut self, goal: &GoalId, each: &mut dyn FnMut(&'static str, Value) -> Result<()>) -> Result<()>;
    /// How many Todos of a Goal are counted under each bucket of [`crate::kernel::Index`].
    fn counts(&mut self, goal: &GoalId) -> Result<Count>;
    /// Goals, Todos and gates whose id or title holds a text, whatever its case: (id, title). A Goal's title is its
    /// objective, a gate's its question.
    fn find(&mut self, text: &str, goal: Option<&GoalId>, limit: usize) -> Result<Vec<(String, String)>>;
    /// Ids of a kind (`trn_`, `gate_`, `evd_`) whose random tail starts with a text, at most `limit`.
    fn tails(&mut self, prefix: &str, tail: &str, limit: usize) -> Result<Vec<String>>;
}

/// Reads the id after which a page begins.
pub(super) fn cursor<T: FromStr<Err = Error>>(text: Option<&str>) -> Result<Option<T>> {
    text.map(str::parse).transpose()
}

/// A write transaction.
pub trait Tx: View {
    /// Founds the ledger, before its first commit.
    fn found(&mut self, meta: &Meta) -> Result<()>;
    /// Stores a change of the ledger itself: event, receipt, time.
    fn store_own(&mut self, commit: OwnCommit<'_>) -> Result<()>;
    /// Stores one decision: deltas, rows, events, receipt, time.
    fn store(&mut self, commit: Commit<'_>) -> Result<()>;
    /// Lets a Goal's chain end at a head, and puts rows and meters in the place of those that lie there; a chain
    /// without an event leaves no Goal.
    fn rebuild(&mut self, goal: &GoalId, head: Head, rows: &Rows, meters: &Meters) -> Result<()>;
    /// Lets the ledger's own chain end at a head, and puts the limit of all Goals together that it comes to in the place of
    /// the one that lies there.
    fn cut_own(&mut self, head: Head, limit: Option<Limit>) -> Result<()>;
    /// Puts a receipt in the place of what an operation returned before, if it returned anything.
    fn put_receipt(&mut self, id: &OperationId, receipt: &StoredReceipt) -> Result<()>;
}

/// An operation, and what it returned.
pub type Told = (OperationId, Option<StoredReceipt>);

/// How many Todos are counted under each bucket.
pub type Count = BTreeMap<String, u64>;

/// The slots that meters hold.
pub type Meters = BTreeMap<(MeterScope, Bucket), Held>;

/// What a meter holds of one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// Slots reserved or spent.
    pub slots: u64,
    /// Of what else is metered.
    pub amounts: Amounts,
}

impl Held {
    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What is kept beside a row and does not agree with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// The row's id.
    pub row: String,
    /// What is kept beside it.
    pub what: &'static str,
}

/// What a ledger knows of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// The tenant.
    pub authority_id: AuthorityId,
    /// This life of the ledger.
    pub incarnation: IncarnationId,
    /// The time of the last commit.
    pub stamp: Stamp,
    /// The schema of its file, or what it is as good as.
    pub schema: i32,
}

/// One decision, as a ledger stores it.
#[derive(Debug, Clone)]
pub struct Commit<'a> {
    /// The Goal that is written.
    pub goal_id: &'a GoalId,
    /// Its chain's new end.
    pub head: Head,
    /// Its new events.
    pub records: Vec<Record>,
    /// The operation's id.
    pub operation_id: &'a OperationId,
    /// What it returned.
    pub receipt: &'a StoredReceipt,
    /// Deltas, to be applied first and in order, then rows.
    pub writes: Writes,
    /// The time of this commit.
    pub stamp: Stamp,
    /// The oldest schema that can hold its events.
    pub since: i32,
}

/// A change of the ledger itself, as a ledger stores it.
#[derive(Debug, Clone)]
pub struct OwnCommit<'a> {
    /// The event, which ends the ledger's own chain now.
    pub record: Record,
    /// The operation's id.
    pub operation_id: &'a OperationId,
    /// What it returned.
    pub receipt: &'a StoredReceipt,
    /// The time of this commit.
    pub stamp: Stamp,
    /// The limit of all Goals together, where it is changed; none within lifts it.
    pub limit: Option<Option<Limit>>,
    /// The ledger's life from then on, where another begins.
    pub incarnation: Option<IncarnationId>,
}

/// A receipt as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredReceipt {
    /// The digest of the operation.
    pub digest: Digest,
    /// Who asked.
    pub actor: Actor,
    /// Through which door, how surely.
    pub provenance: Provenance,
    /// The Goal that was written; none for a change of the ledger itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_id: Option<GoalId>,
    /// When.
    pub at: Timestamp,
    /// The number of its last event.
    pub seq: u64,
    /// The code of a negative end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative: Option<Box<str>>,
    /// What it did.
    pub outcome: Value,
    /// The life of the ledger that began without what it did; none where that stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<IncarnationId>,
}

impl StoredReceipt {
    /// The receipt, where what it tells of still stands: what was cut away is neither told nor done anew.
    ///
    /// Errors: `operation_conflict`.
    pub(crate) fn standing(self, operation_id: &OperationId) -> Result<Self> {
        let Some(incarnation) = self.cut else { return Ok(self) };
        let message = format!(
            "what the operation {operation_id} did was cut from the history, and is not done again under its id"
        );
        Err(Error::new(Code::OperationConflict, message)
            .detail("operation_id", operation_id.as_str())
            .detail("incarnation", incarnation.to_string()))
    }

    pub(crate) fn into_receipt(self, operation_id: OperationId, replayed: bool) -> Receipt {
        let negative = self
            .negative
            .and_then(|text| Code::ALL.iter().map(|code| code.as_str()).find(|code| *code == &*text));
        Receipt {
            operation_id,
            digest: self.digest,
            actor: self.actor,
            provenance: self.provenance,
            goal_id: self.goal_id,
            at: self.at,
            accepted_revision: self.seq,
            negative,
            outcome: self.outcome,
            replayed,
        }
    }
}

/// Which Todos are listed.
#[derive(Debug, Clone)]
pub struct TodoFilter<'a> {
    /// Of which Goal.
    pub goal: &'a GoalId,
    /// Only those that are open, deferred or blocked.
    pub live: bool,
    /// Only those counted under this bucket.
    pub bucket: Option<&'a str>,
}

/// Which gates are listed.
#[derive(Debug, Clone)]
pub struct GateFilter<'a> {
    /// Of which Goal.
    pub goal: &'a GoalId,
    /// Only those that block.
    pub blocking: bool,
}

/// Which nouns are listed.
#[derive(Debug, Clone)]
pub struct NounFilter<'a> {
    /// What they are.
    pub kind: NounKind,
    /// Of which Goal.
    pub goal: &'a GoalId,
    /// Only those about this Todo.
    pub todo: Option<&'a TodoId>,
    /// Only those that are open.
    pub open: bool,
}

impl NounFilter<'_> {
    /// The id after which a page begins.
    ///
    /// Errors: `invalid_id` for what is no id of this kind.
    pub(super) fn after(&self, text: Option<&str>) -> Result<Option<[u8; 16]>> {
        text.map(|text| self.kind.parse(text)).transpose()
    }
}

/// Which Turns are listed.
#[derive(Debug, Clone)]
pub struct TurnFilter<'a> {
    /// Of which Goal.
    pub goal: &'a GoalId,
    /// Only those of this Todo.
    pub todo: Option<&'a TodoId>,
    /// Only those of this agent.
    pub agent: Option<&'a AgentId>,
    /// Only those that have not ended.
    pub live: bool,
}

/// Which events are listed.
#[derive(Debug, Clone)]
pub struct EventFilter<'a> {
    /// Of which Goal.
    pub goal: &'a GoalId,
    /// Only those after this number.
    pub after: u64,
}
