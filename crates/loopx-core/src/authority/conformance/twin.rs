//! Owns two ledgers that are asked and told the same, and compared at every step.
//!
//! One is the ledger in memory. A difference in any answer fails the test at the question that showed it.

use std::{collections::BTreeSet, fmt::Debug, time::Duration};

use serde_json::Value;

use super::super::{
    Commit, Count, EventFilter, GateFilter, Head, Ledger, MemoryLedger, Meta, Meters, NounFilter, OwnCommit,
    Record, StoredReceipt, Stray, TodoFilter, Told, TurnFilter, Tx, View,
};
use crate::{
    error::Result,
    kernel::{Facts, Read, Rows},
    model::{
        Agent, Evidence, Gate, Goal, GoalId, Limit, Noun, NounKind, OperationId, Todo, TodoId, Turn,
        Workspace,
    },
};

/// The ledger in memory and another, as one.
#[derive(Debug)]
pub struct Twin {
    memory: MemoryLedger,
    other: Box<dyn Ledger>,
}

impl Twin {
    /// Holds both; they must hold the same already.
    pub fn new(memory: MemoryLedger, other: Box<dyn Ledger>) -> Self {
        Self { memory, other }
    }
}

impl Ledger for Twin {
    fn write(&mut self, job: &mut dyn FnMut(&mut dyn Tx) -> Result<()>) -> Result<()> {
        let Self { memory, other } = self;
        memory.write(&mut |memory| other.write(&mut |other| job(&mut Both { memory: &mut *memory, other })))
    }

    fn read(&mut self, job: &mut dyn FnMut(&mut dyn View) -> Result<()>) -> Result<()> {
        let Self { memory, other } = self;
        memory.read(&mut |memory| other.read(&mut |other| job(&mut Seen { memory: &mut *memory, other })))
    }

    fn wait(
        &mut self,
        wait: Duration,
        changed: &mut dyn FnMut(&mut dyn View) -> Result<bool>,
    ) -> Result<bool> {
        self.other.wait(wait, changed)
    }
}

/// Two write transactions.
struct Both<'a> {
    memory: &'a mut dyn Tx,
    other: &'a mut dyn Tx,
}

/// Two states.
struct Seen<'a> {
    memory: &'a mut dyn View,
    other: &'a mut dyn View,
}

/// Takes an answer that both gave.
#[track_caller]
fn same<T: PartialEq + Debug>(memory: Result<T>, other: Result<T>) -> Result<T> {
    match (memory, other) {
        (Ok(memory), Ok(other)) => {
            assert_eq!(other, memory, "the answers differ");
            Ok(other)
        }
        (Err(memory), Err(other)) => {
            assert_eq!(other.code(), memory.code(), "{other:?} {memory:?}");
            Err(other)
        }
        (memory, other) => panic!("one refused: {other:?}, in memory {memory:?}"),
    }
}

macro_rules! ask_both {
    ($name:ident) => {
        impl View for $name<'_> {
            fn meta(&mut self) -> Result<Option<Meta>> {
                same(self.memory.meta(), self.other.meta())
            }

            fn receipt(&mut self, id: &OperationId) -> Result<Option<StoredReceipt>> {
                same(self.memory.receipt(id), self.other.receipt(id))
            }

            fn head(&mut self, goal: &GoalId) -> Result<Option<Head>> {
                same(self.memory.head(goal), self.other.head(goal))
            }

            fn load(&mut self, reads: &BTreeSet<Read>, facts: &mut Facts) -> Result<()> {
                let mut second = facts.clone();
                let memory = self.memory.load(reads, &mut second);
                same(memory, self.other.load(reads, facts))?;
                assert_eq!(*facts, second, "the answers to {reads:?} differ");
                Ok(())
            }

            fn goals(&mut self, after: Option<&GoalId>, limit: usize) -> Result<Vec<Goal>> {
                same(self.memory.goals(after, limit), self.other.goals(after, limit))
            }

            fn todos(&mut self, filter: &TodoFilter<'_>, after: u32, limit: usize) -> Result<Vec<Todo>> {
                same(self.memory.todos(filter, after, limit), self.other.todos(filter, after, limit))
            }

            fn owned_in(&mut self, workspace: &Workspace, limit: usize) -> Result<Vec<Todo>> {
                let mut memory = self.memory.owned_in(workspace, limit)?;
                let mut other = self.other.owned_in(workspace, limit)?;
                for rows in [&mut memory, &mut other] {
                    rows.sort_by(|a, b| a.todo_id.cmp(&b.todo_id));
                }
                same(Ok(memory), Ok(other))
            }

            fn nouns(
                &mut self,
                filter: &NounFilter<'_>,
                after: Option<&str>,
                limit: usize,
            ) -> Result<Vec<Noun>> {
                same(self.memory.nouns(filter, after, limit), self.other.nouns(filter, after, limit))
            }

            fn last_noun(&mut self, kind: NounKind, todo: &TodoId) -> Result<Option<Noun>> {
                same(self.memory.last_noun(kind, todo), self.other.last_noun(kind, todo))
            }

            fn agents(&mut self, goal: &GoalId) -> Result<Vec<Agent>> {
                same(self.memory.agents(goal), self.other.agents(goal))
            }

            fn gates(
                &mut self,
                filter: &GateFilter<'_>,
                after: Option<&str>,
                limit: usize,
            ) -> Result<Vec<Gate>> {
                same(self.memory.gates(filter, after, limit), self.other.gates(filter, after, limit))
            }

            fn evidence(
                &mut self,
                goal: &GoalId,
                todo: Option<&TodoId>,
                after: Option<&str>,
                limit: usize,
            ) -> Result<Vec<Evidence>> {
                same(
                    self.memory.evidence(goal, todo, after, limit),
                    self.other.evidence(goal, todo, after, limit),
                )
            }

            fn turns(
                &mut self,
                filter: &TurnFilter<'_>,
                before: Option<&str>,
                limit: usize,
            ) -> Result<Vec<Turn>> {
                same(self.memory.turns(filter, before, limit), self.other.turns(filter, before, limit))
            }

            fn events(&mut self, filter: &EventFilter<'_>, limit: usize) -> Result<Vec<Record>> {
                same(self.memory.events(filter, limit), self.other.events(filter, limit))
            }

            fn own_head(&mut self) -> Result<Option<Head>> {
                same(self.memory.own_head(), self.other.own_head())
            }

            fn own_events(&mut self, after: u64, limit: usize) -> Result<Vec<Record>> {
                same(self.memory.own_events(after, limit), self.other.own_events(after, limit))
            }

            fn chains(&mut self, after: Option<&GoalId>, limit: usize) -> Result<Vec<(GoalId, Head)>> {
                same(self.memory.chains(after, limit), self.other.chains(after, limit))
            }

            fn meters(&mut self, goal: &GoalId) -> Result<Meters> {
                same(self.memory.meters(goal), self.other.meters(goal))
            }

            fn stray(&mut self, goal: &GoalId) -> Result<Option<Stray>> {
                same(self.memory.stray(goal), self.other.stray(goal))
            }

            fn receipts(&mut self, after: Option<&OperationId>, limit: usize) -> Result<Vec<Told>> {
                same(self.memory.receipts(after, limit), self.other.receipts(after, limit))
            }

            /// How rows lie is each ledger's own.
            fn raw(
                &mut self,
                goal: &GoalId,
                each: &mut dyn FnMut(&'static str, Value) -> Result<()>,
            ) -> Result<()> {
                self.other.raw(goal, each)
            }

            fn counts(&mut self, goal: &GoalId) -> Result<Count> {
                same(self.memory.counts(goal), self.other.counts(goal))
            }

            fn find(
                &mut self,
                text: &str,
                goal: Option<&GoalId>,
                limit: usize,
            ) -> Result<Vec<(String, String)>> {
                same(self.memory.find(text, goal, limit), self.other.find(text, goal, limit))
            }

            fn tails(&mut self, prefix: &str, tail: &str, limit: usize) -> Result<Vec<String>> {
                same(self.memory.tails(prefix, tail, limit), self.other.tails(prefix, tail, limit))
            }
        }
    };
}

ask_both!(Both);
ask_both!(Seen);

impl Tx for Both<'_> {
    fn found(&mut self, meta: &Meta) -> Result<()> {
        same(self.memory.found(meta), self.other.found(meta))
    }

    fn store(&mut self, commit: Commit<'_>) -> Result<()> {
        same(self.memory.store(commit.clone()), self.other.store(commit))
    }

    fn rebuild(&mut self, goal: &GoalId, head: Head, rows: &Rows, meters: &Meters) -> Result<()> {
        same(self.memory.rebuild(goal, head, rows, meters), self.other.rebuild(goal, head, rows, meters))
    }

    fn cut_own(&mut self, head: Head, limit: Option<Limit>) -> Result<()> {
        same(self.memory.cut_own(head, limit), self.other.cut_own(head, limit))
    }

    fn put_receipt(&mut self, id: &OperationId, receipt: &StoredReceipt) -> Result<()> {
        same(self.memory.put_receipt(id, receipt), self.other.put_receipt(id, receipt))
    }

    fn store_own(&mut self, commit: OwnCommit<'_>) -> Result<()> {
        same(self.memory.store_own(commit.clone()), self.other.store_own(commit))
    }
}
