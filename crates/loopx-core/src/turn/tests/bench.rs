//! Owns the bench of these tests: a Goal `g` with an agent `a`, a work tree, and shell scripts as hosts and validators.

use std::{
    cell::Cell,
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    authority::{
        Authority, EventFilter, MemoryLedger,
        clock::{Clock, SystemClock},
    },
    error::Result,
    kernel::{
        AgentCommand, ClaimCommand, Command, GateCommand, GoalCommand, NewGoal, NewTodo, Outcome,
        QuotaCommand, Step, TodoCommand, claim::Claim,
    },
    model::*,
    private::PrivateStore,
    registry::Composition,
    turn::{self, CommandHost, Done, Hosting, Machine, Site, Start, Trees, Wish},
};

/// Lets the Goal have this many Turns a day.
pub(super) fn limited(turns: u32) -> Command {
    let limit = Limit::of_turns(turns, Duration::from_mins(24 * 60));
    Command::Quota(QuotaCommand::Set { agent_id: None, limit: Some(limit) })
}

pub(super) fn text<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text:?} does not parse"))
}

/// A validator that runs a line of shell in the work tree.
pub(super) fn check(script: &str) -> Validator {
    Validator {
        argv: ["/bin/sh", "-c", script].map(Into::into).to_vec(),
        progress_exit: Some(3),
        timeout_ms: Duration::from_secs(20),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
    }
}

/// What a script prints as its result.
pub(super) fn result(kind: &str) -> String {
    format!(
        r#"printf '{{"schema_version":"loopx_turn_result_v0","turn_key":"%s","result_kind":"{kind}","summary":"it is done","classification":"work","next_action":"look","recommended_action":"look","completed_phases":[],"delivery_batch_scale":"test_only","delivery_outcome":"outcome_progress","path_delta_mode":""}}' "$LOOPX_TURN_KEY""#
    )
}

pub(super) struct Bench {
    dir: tempfile::TempDir,
    pub(super) ledger: MemoryLedger,
    pub(super) authority: Authority,
    pub(super) private: PrivateStore,
    pub(super) machine: Machine,
    hosts: Composition,
    pub(super) workspace: Workspace,
    calls: Cell<u32>,
}

impl Bench {
    /// A Goal that is proved by one line of shell; none leaves it without a validator.
    pub(super) fn new(script: Option<&str>) -> Self {
        Self::at(script, Box::new(SystemClock::new()))
    }

    /// The same at another clock.
    pub(super) fn at(script: Option<&str>, clock: Box<dyn Clock>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir(&tree).unwrap();
        fs::create_dir(dir.path().join("locks")).unwrap();
        let ledger = MemoryLedger::new();
        let mut authority = Authority::with_clock(Box::new(ledger.clone()), clock);
        authority.found().unwrap();
        let private = PrivateStore::at(&dir.path().join("private.db"));
        let env =
            [("PATH", "/usr/bin:/bin"), ("SECRET", "x")].map(|(k, v)| (OsString::from(k), OsString::from(v)));
        let machine =
            Machine::new(text("abc123"), dir.path().join("locks"), Trees::at(dir.path().join("trees")), env)
                .unwrap();
        let (workspace, real) = turn::identify(&machine.machine_id, &tree).unwrap();
        machine.trees.note(&workspace, &real).unwrap();
        let mut bench = Self {
            dir,
            ledger,
            authority,
            private,
            machine,
            hosts: Composition::linked().unwrap(),
            workspace,
            calls: Cell::new(0),
        };
        let goal = NewGoal {
            validators: script.map(check).into_iter().collect(),
            workspace: Some(bench.workspace.clone()),
            ..NewGoal::wanting(text("ship it"))
        };
        bench.user(Command::Goal(GoalCommand::Start(Box::new(goal)))).unwrap();
        bench
            .user(Command::Agent(AgentCommand::Add { agent_id: text("a"), capabilities: [].into() }))
            .unwrap();
        bench
            .user(Command::Agent(AgentCommand::Add { agent_id: text("b"), capabilities: [].into() }))
            .unwrap();
        bench
    }

    /// Makes the work tree a git repository with one commit.
    pub(super) fn with_git(self) -> Self {
        self.shell("git init -q && echo 1 > tracked && git add . && git -c user.name=a -c user.email=a@b commit -qm one");
        self
    }

    pub(super) fn shell(&self, script: &str) {
        let mut spec =
            crate::process::Spec::new(["/bin/sh", "-c", script].map(OsString::from).to_vec(), self.tree());
        spec.env = BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]);
        let outcome = crate::process::run(&spec, &mut |_| crate::process::Control::Continue);
        assert_eq!(
            outcome.ended,
            crate::process::Ended::Exited(0),
            "{}",
            String::from_utf8_lossy(&outcome.stderr)
        );
    }

    pub(super) fn tree(&self) -> PathBuf {
        self.dir.path().join("tree")
    }

    pub(super) fn locks(&self) -> &Path {
        &self.machine.locks
    }

    pub(super) fn id(&self) -> OperationId {
        self.calls.set(self.calls.get() + 1);
        text(&format!("op-{}", self.calls.get()))
    }

    pub(super) fn operation<C>(&self, actor: Actor, command: C) -> Operation<C> {
        Operation::embedded(self.id(), actor, text("g"), command)
    }

    pub(super) fn user(&mut self, command: Command) -> Result<Receipt> {
        let operation = self.operation(text("user:ana"), command);
        self.authority.submit(operation)
    }

    pub(super) fn step(&mut self, actor: &str, step: Step) -> Result<Receipt> {
        let right = AnyTurn(step.turn_id());
        let operation = self.operation(text(actor), step);
        self.authority.submit_step(&right, operation)
    }

    /// Adds a Todo.
    pub(super) fn todo(&mut self, change: impl FnOnce(&mut NewTodo)) -> TodoId {
        let mut new = NewTodo::titled(text("mend it"), TodoKind::Advance);
        change(&mut new);
        let receipt = self.user(Command::Todo(TodoCommand::Add(Box::new(new)))).unwrap();
        receipt.outcome::<Outcome>().unwrap().todo_ids.remove(0)
    }

    /// An attached claim by `a`.
    pub(super) fn claim(&mut self, todo_id: &TodoId) -> (OwnId, TurnId) {
        let claim = Claim { workspace: Some(self.workspace.clone()), ..Claim::attached(todo_id.clone()) };
        let operation = self.operation(text("agent:a"), Command::Claim(ClaimCommand::Claim(Box::new(claim))));
        let outcome = self.authority.submit(operation).unwrap().outcome::<Outcome>().unwrap();
        (outcome.own_id.unwrap(), outcome.turn_id.unwrap())
    }

    pub(super) fn wish(&self, todo_id: &TodoId, own_id: OwnId, kind: ResultKind) -> Wish {
        Wish {
            operation_id: self.id(),
            actor: text("agent:a"),
            provenance: Provenance { door: Door::Library, assurance: Assurance::Stated, contained: None },
            goal_id: text("g"),
            todo_id: todo_id.clone(),
            own_id: Some(own_id),
            kind,
            continuation: Continuation::ActiveGoal,
            goes_on: false,
            summary: Some("did it".into()),
            evidence: Vec::new(),
        }
    }

    pub(super) fn site(&mut self) -> Site<'_> {
        Site {
            authority: &mut self.authority,
            private: &mut self.private,
            machine: &self.machine,
            hosts: &self.hosts,
        }
    }

    pub(super) fn finish(&mut self, wish: &Wish) -> Result<Done> {
        turn::finish(&mut self.site(), wish, &|| false)
    }

    pub(super) fn start(&self, todo_id: &TodoId) -> Start {
        Start {
            operation_id: self.id(),
            actor: text("user:ana"),
            provenance: Provenance { door: Door::Library, assurance: Assurance::Stated, contained: None },
            goal_id: text("g"),
            todo_id: todo_id.clone(),
            executor: (text("a"), text("a.cli")),
            workspace: self.workspace.clone(),
            ttl_ms: None,
        }
    }

    pub(super) fn host(&self, script: &str, change: impl FnOnce(&mut Hosting)) -> CommandHost {
        let argv = ["/bin/sh", "-c", script].map(String::from).to_vec();
        let mut hosting = Hosting { argv, folder: self.tree(), wall_ms: 20_000, attempts_max: 3 };
        change(&mut hosting);
        CommandHost::new(hosting).unwrap()
    }

    /// Runs a Turn with a script as its host.
    pub(super) fn run(&mut self, todo_id: &TodoId, script: &str) -> Result<Done> {
        let (start, host) = (self.start(todo_id), self.host(script, |_| {}));
        run(&mut self.site(), &start, &host, &|| false)
    }

    pub(super) fn row(&self, turn_id: TurnId) -> Turn {
        self.ledger.rows().turns[&turn_id].clone()
    }

    pub(super) fn todo_row(&self, todo_id: &TodoId) -> Todo {
        self.ledger.rows().todos[todo_id].clone()
    }

    /// The names of the Goal's events.
    pub(super) fn events(&mut self) -> usize {
        let goal = text("g");
        self.authority
            .read(|view| view.events(&EventFilter { goal: &goal, after: 0 }, usize::MAX))
            .unwrap()
            .len()
    }

    pub(super) fn answer(&mut self, gate_id: GateId, answer: Answer) -> Receipt {
        self.user(Command::Gate(GateCommand::Resolve { gate_id, answer })).unwrap()
    }
}

/// Admits a Turn and drives it, as `turn run` does.
pub(super) fn run(
    site: &mut Site<'_>,
    start: &Start,
    host: &dyn turn::Host,
    watcher: &dyn turn::Watcher,
) -> Result<Done> {
    let admitted = turn::admit(site, start)?;
    turn::drive(site, start, admitted, host, watcher)
}

/// A right that a test gives itself, to play what no driver would do.
#[derive(Debug)]
pub(super) struct AnyTurn(pub(super) TurnId);

impl crate::authority::StepRight for AnyTurn {
    fn turn_id(&self) -> TurnId {
        self.0
    }
}
