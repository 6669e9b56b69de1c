//! Owns the players of the suite: an authority over a ledger, a clock that stands still, and a story that
//! leaves rows of every kind behind.

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicU64, Ordering},
};

use super::super::{
    Authority, Ledger,
    clock::{Clock, Reading},
};
use crate::{
    error::Result,
    kernel::{
        AgentCommand, ClaimCommand, Command, EvidenceCommand, GateCommand, GoalCommand, NewGate, NewGoal,
        NewTodo, Outcome, QuotaCommand, TodoCommand, claim::Claim,
    },
    model::*,
};

/// A clock that stands still until it is moved.
#[derive(Debug, Clone)]
pub struct StillClock {
    wall_ms: Arc<AtomicI64>,
    boot_ms: Arc<AtomicI64>,
    boot: Arc<AtomicU64>,
}

impl StillClock {
    /// Stands at a moment of its first boot.
    pub fn new() -> Self {
        Self {
            wall_ms: Arc::new(AtomicI64::new(1_800_000_000_000)),
            boot_ms: Arc::new(AtomicI64::new(1_000_000)),
            boot: Arc::new(AtomicU64::new(1)),
        }
    }

    /// Moves time.
    pub fn pass(&self, ms: i64) {
        self.wall_ms.fetch_add(ms, Ordering::SeqCst);
        self.boot_ms.fetch_add(ms, Ordering::SeqCst);
    }

    /// Steps the wall clock alone.
    pub fn step_wall(&self, ms: i64) {
        self.wall_ms.fetch_add(ms, Ordering::SeqCst);
    }

    /// Boots the machine anew.
    pub fn reboot(&self) {
        self.boot.fetch_add(1, Ordering::SeqCst);
        self.boot_ms.store(5_000, Ordering::SeqCst);
    }
}

impl Default for StillClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for StillClock {
    fn read(&self) -> Result<Reading> {
        Ok(Reading {
            boot_id: format!("boot-{}", self.boot.load(Ordering::SeqCst)),
            boot_ms: self.boot_ms.load(Ordering::SeqCst),
            wall_ms: self.wall_ms.load(Ordering::SeqCst),
        })
    }
}

/// Reads what is well formed by the suite's own hand.
pub(super) fn text<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().unwrap_or_else(|| panic!("{text:?} does not parse"))
}

/// A Goal with an objective and nothing else.
pub(super) fn new_goal(objective: &str) -> NewGoal {
    NewGoal::wanting(text(objective))
}

/// An authority, and how often it was asked.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) authority: Authority,
    pub(super) clock: StillClock,
    pub(super) goal: GoalId,
    pub(super) operations: Vec<OperationId>,
}

impl Stage {
    /// Founds a ledger, with a Goal `g` and the agents `a`, which has a capability, and `b`.
    pub(super) fn set(ledger: Box<dyn Ledger>) -> Self {
        let clock = StillClock::new();
        let mut authority = Authority::with_clock(ledger, Box::new(clock.clone()));
        assert!(authority.found().unwrap(), "the ledger was founded before");
        let mut stage = Self { authority, clock, goal: text("g"), operations: Vec::new() };
        stage.start("g", "ship it");
        stage
    }

    /// Starts a Goal with two agents, and plays on in it.
    pub(super) fn start(&mut self, goal: &str, objective: &str) {
        self.goal = text(goal);
        self.user(Command::Goal(GoalCommand::Start(Box::new(new_goal(objective)))));
        self.user(Command::Agent(AgentCommand::Add {
            agent_id: text("a"),
            capabilities: [text("gpu")].into(),
        }));
        self.user(Command::Agent(AgentCommand::Add { agent_id: text("b"), capabilities: [].into() }));
    }

    /// An operation under a fresh id.
    pub(super) fn operation(&mut self, actor: &str, command: Command) -> Operation<Command> {
        let actor: Actor = text(actor);
        let operation_id: OperationId = text(&format!("op-{}", self.operations.len()));
        self.operations.push(operation_id.clone());
        Operation::embedded(operation_id, actor, self.goal.clone(), command)
    }

    pub(super) fn submit(&mut self, actor: &str, command: Command) -> Result<Outcome> {
        let operation = self.operation(actor, command);
        self.authority.submit(operation)?.outcome()
    }

    pub(super) fn user(&mut self, command: Command) -> Outcome {
        self.submit("user:ana", command).unwrap()
    }

    pub(super) fn todo(&mut self, title: &str, kind: TodoKind, change: impl FnOnce(&mut NewTodo)) -> TodoId {
        let mut new = NewTodo::titled(text(title), kind);
        change(&mut new);
        self.user(Command::Todo(TodoCommand::Add(Box::new(new)))).todo_ids.remove(0)
    }

    pub(super) fn claim(
        &mut self,
        actor: &str,
        todo_id: &TodoId,
        workspace: Option<&str>,
    ) -> Result<Outcome> {
        let claim = Claim { workspace: workspace.map(text), ..Claim::attached(todo_id.clone()) };
        self.submit(actor, Command::Claim(ClaimCommand::Claim(Box::new(claim))))
    }

    pub(super) fn gate(&mut self, kind: GateKind, blocks: Blocks, scope: Option<Key>) -> GateId {
        let new = NewGate {
            kind,
            question: text("may we?"),
            options: Vec::new(),
            blocks,
            scope,
            standing_until: None,
        };
        self.user(Command::Gate(GateCommand::Open(Box::new(new)))).gate_id.unwrap()
    }

    /// Leaves rows of every kind and state.
    pub(super) fn play(&mut self) {
        use TodoKind::{Action, Advance, Blocker, Monitor};
        let first = self.todo("Write the Docs", Advance, |new| new.detail = Some(text("all of them")));
        let second = self.todo("\u{c4}ndern", Advance, |new| {
            new.depends_on = [first.clone()].into();
            new.priority = Priority::P0;
        });
        let third =
            self.todo("third", Advance, |new| new.depends_on = [first.clone(), second.clone()].into());
        let fourth = self.todo("with a gpu", Advance, |new| new.requires.capabilities = [text("gpu")].into());
        self.todo("not for a", Advance, |new| new.excluded_agents = [text("a"), text("c")].into());
        self.todo("paused", Advance, |new| new.hold = true);
        self.todo("in the way", Blocker, |_| {});
        self.todo("by hand", Action, |_| {});
        self.todo("watch", Monitor, |new| new.priority = Priority::P4);
        self.todo("later", Advance, |new| {
            new.wake = Some(Wake::After(Timestamp::from_ms(1_800_000_300_000)))
        });
        self.todo("after the third", Advance, |new| new.wake = Some(Wake::TodoDone(third.clone())));
        self.todo("stuck", Advance, |new| new.blocked = Some(text("no key")));
        let writing = self.todo("writes", Advance, |new| new.requires.write_scopes = [text("src")].into());
        self.claim("agent:a", &first, None).unwrap();
        self.claim("agent:b", &writing, Some("00112233445566778899")).unwrap();
        self.clock.pass(60_000);
        let gate = self.gate(GateKind::Decision, Blocks::Todos([third.clone(), fourth.clone()].into()), None);
        self.todo("after the gate", Advance, |new| new.wake = Some(Wake::Gate(gate)));
        let approval = self.gate(
            GateKind::Approval,
            Blocks::Todos([fourth.clone()].into()),
            Some(Key::Capability(text("gpu"))),
        );
        self.user(Command::Gate(GateCommand::Resolve { gate_id: approval, answer: Answer::Approve }));
        self.gate(GateKind::Direction, Blocks::Goal, None);
        for (todo_id, criterion) in [(Some(first.clone()), None), (None, None), (Some(third), None)] {
            self.user(Command::Evidence(EvidenceCommand::Add {
                todo_id,
                criterion,
                kind: EvidenceKind::Url,
                pointer: text("https://example.org/x"),
                digest: None,
                privacy: Privacy::Public,
                verdict: None,
            }));
        }
        let limit = Limit::of_turns(9, Duration::from_mins(60));
        self.user(Command::Quota(QuotaCommand::Set { agent_id: Some(text("b")), limit: Some(limit) }));
        let cancel = TodoCommand::Cancel { todo_id: second, reason: text("no"), superseded_by: None };
        self.user(Command::Todo(cancel));
        let release = ClaimCommand::ForceRelease { todo_id: first.clone(), reason: text("mine") };
        self.user(Command::Claim(release));
        let complete =
            TodoCommand::Complete { todo_id: first, continuation: Continuation::ActiveGoal, waive: None };
        self.user(Command::Todo(complete));
        let handed = ClaimCommand::Transfer { todo_id: writing, own_id: None, to: text("a") };
        self.user(Command::Claim(handed));
    }
}
