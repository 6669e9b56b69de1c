//! Owns the `World`: an authority over a ledger, a clock that moves only when told, and the checks after each call.

use std::collections::BTreeMap;

use super::super::{
    Authority, EventFilter, Head, StepRight, View,
    chain::{self, Envelope},
    clock::{self, Clock as _},
    conformance::{Room as _, StillClock},
    decision, submit,
};
use super::{hints, invariants, kept::Kept, rules};
use crate::{
    error::{Code, Error, Result},
    kernel::{
        Action, Asker, Command, Context, Decided, Depth, Facts, GateCommand, GoalCommand, Input, NewGoal,
        NewTodo, Outcome, Reason, Rows, Step, Terms, TodoCommand, Viewer, decide_next, reason,
    },
    model::*,
};

/// A small world with one Goal `g`.
pub(super) struct World {
    pub(super) ledger: Kept,
    pub(super) authority: Authority,
    clock: StillClock,
    calls: u64,
    folded: Option<Facts>,
    folded_to: BTreeMap<GoalId, (Head, u64)>,
    pub(super) goal: GoalId,
}

pub(super) fn user() -> Actor {
    "user:ana".parse().unwrap()
}

pub(super) fn agent(name: &str) -> Actor {
    format!("agent:{name}").parse().unwrap()
}

pub(super) fn text<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text:?} does not parse"))
}

/// A validator whose program nobody runs here.
pub(super) fn validator() -> Validator {
    Validator {
        argv: vec!["/bin/true".into()],
        progress_exit: Some(3),
        timeout_ms: Duration::from_secs(60),
        env: Vec::new(),
    }
}

impl World {
    /// A founded ledger, in memory, without a Goal.
    pub(super) fn empty() -> Self {
        Self::over(Kept::memory())
    }

    /// The same over a ledger that is not founded.
    pub(super) fn over(ledger: Kept) -> Self {
        let clock = StillClock::new();
        let mut authority = Authority::with_clock(ledger.open(), Box::new(clock.clone()));
        assert!(authority.found().unwrap());
        Self { ledger, authority, clock, calls: 0, folded: None, folded_to: BTreeMap::new(), goal: text("g") }
    }

    /// A Goal `g` with a validator, and the agents `a` and `b`.
    pub(super) fn new() -> Self {
        let mut world = Self::empty();
        world.start(|goal| goal.validators = vec![validator()]);
        world
    }

    /// A Goal `g` as told, and the agents `a` and `b`.
    pub(super) fn start(&mut self, change: impl FnOnce(&mut NewGoal)) {
        let mut new = NewGoal::wanting(text("ship it"));
        change(&mut new);
        self.user(Command::Goal(GoalCommand::Start(Box::new(new)))).unwrap();
        for name in ["a", "b"] {
            let add = crate::kernel::AgentCommand::Add { agent_id: text(name), capabilities: [].into() };
            self.user(Command::Agent(add)).unwrap();
        }
    }

    /// Moves time.
    pub(super) fn pass(&mut self, span: Duration) {
        self.clock.pass(i64::try_from(span.as_ms()).unwrap());
    }

    /// Steps the wall clock alone.
    pub(super) fn step_wall(&mut self, ms: i64) {
        self.clock.step_wall(ms);
    }

    /// Boots the machine anew.
    pub(super) fn reboot(&mut self) {
        self.clock.reboot();
    }

    /// A fresh operation of an actor, with proof for a person.
    pub(super) fn operation<C>(&mut self, actor: Actor, command: C) -> Operation<C> {
        self.calls += 1;
        Operation::embedded(text(&format!("op-{}", self.calls)), actor, self.goal.clone(), command)
    }

    /// Submits and checks the world.
    pub(super) fn submit(&mut self, operation: Operation<Command>) -> Result<Receipt> {
        let before = self.ledger.rows();
        let events = self.length();
        let answer = self.authority.submit(operation);
        self.check(&before, events, answer.as_ref());
        answer
    }

    /// Submits a step and checks the world.
    pub(super) fn step(&mut self, actor: Actor, step: Step) -> Result<Receipt> {
        let right = AnyTurn(step.turn_id());
        let operation = self.operation(actor, step);
        let before = self.ledger.rows();
        let events = self.length();
        let answer = self.authority.submit_step(&right, operation);
        self.check(&before, events, answer.as_ref());
        answer
    }

    fn check(&mut self, before: &Rows, events: Option<u64>, answer: Result<&Receipt, &Error>) {
        if let Err(error) = answer {
            assert_ne!(error.code(), Code::Internal, "{error:?}");
            error.hint_args().into_iter().for_each(hints::check);
            assert_eq!(self.ledger.rows(), *before, "a refusal wrote rows: {error}");
            assert_eq!(self.length(), events, "a refusal wrote events: {error}");
        }
        self.check_fold();
        let now = self.now();
        let rows = self.ledger.rows();
        let kept = invariants::rows(&rows, now)
            .and_then(|()| invariants::settled(before, &rows))
            .and_then(|()| invariants::meters(&rows, &self.ledger.meters()))
            .and_then(|()| invariants::amounts(&rows, &self.ledger.amounts()));
        kept.unwrap_or_else(|broken| panic!("{broken:?}"));
    }

    /// The rows that a command loads before it is decided.
    pub(super) fn loads(&mut self, operation: &Operation<Input>) -> Rows {
        let terms = self.terms();
        let load = |view: &mut dyn View| {
            let mut facts = Facts::new(terms.clone());
            submit::load(view, operation, &mut facts)?;
            Ok(facts.rows().clone())
        };
        self.authority.read(load).unwrap()
    }

    /// How many events the Goal has; none where there is no such Goal.
    fn length(&mut self) -> Option<u64> {
        let goal = self.goal.clone();
        self.authority.read(|view| Ok(view.head(&goal)?.map(|head| head.seq))).unwrap()
    }

    /// Every event of the Goal.
    pub(super) fn envelopes(&mut self) -> Vec<Envelope> {
        let goal = self.goal.clone();
        let records = self
            .authority
            .read(|view| view.events(&EventFilter { goal: &goal, after: 0 }, usize::MAX))
            .unwrap();
        records.iter().map(|record| Envelope::decode(&record.payload).unwrap()).collect()
    }

    /// The fold of all events equals the live rows. What was folded once is kept: events never change.
    fn check_fold(&mut self) {
        let mut facts = self.folded.take().unwrap_or_else(|| Facts::whole(self.terms()));
        for goal_id in self.ledger.rows().goals.into_keys() {
            let (head, after) = self.folded_to.get(&goal_id).copied().unwrap_or((Head::START, 0));
            let records = self
                .authority
                .read(|view| view.events(&EventFilter { goal: &goal_id, after }, usize::MAX))
                .unwrap();
            let head = chain::verify(head, &records).unwrap();
            for envelope in records.iter().map(|record| Envelope::decode(&record.payload).unwrap()) {
                facts.set_now(envelope.at);
                let context = Context { goal_id: goal_id.clone(), actor: envelope.actor, at: envelope.at };
                envelope.body.apply(&context, &mut facts).unwrap();
            }
            let seen = records.last().map_or(after, |record| record.seq);
            self.folded_to.insert(goal_id, (head, seen));
        }
        assert_eq!(*facts.rows(), self.ledger.rows(), "the fold of all events differs from the rows");
        self.folded = Some(facts);
    }

    fn terms(&mut self) -> Terms {
        let clock = self.clock.clone();
        self.authority
            .read(|view| {
                let meta = view.meta()?.unwrap();
                let stamp = clock::advance(&meta.stamp, &clock.read()?);
                Ok(Terms {
                    authority_id: meta.authority_id,
                    incarnation: meta.incarnation,
                    now: Timestamp::from_ms(stamp.now_ms),
                    clock_jump: stamp.clock_jump,
                    strict: false,
                    schema: 2,
                })
            })
            .unwrap()
    }

    /// A person's command.
    pub(super) fn user(&mut self, command: Command) -> Result<Receipt> {
        let operation = self.operation(user(), command);
        self.submit(operation)
    }

    /// An agent's command.
    pub(super) fn agent(&mut self, name: &str, command: Command) -> Result<Receipt> {
        let operation = self.operation(agent(name), command);
        self.submit(operation)
    }

    /// Adds a Todo and returns its id.
    pub(super) fn todo(&mut self, title: &str, change: impl FnOnce(&mut NewTodo)) -> TodoId {
        let mut new = NewTodo::titled(text(title), TodoKind::Advance);
        change(&mut new);
        let receipt = self.user(Command::Todo(TodoCommand::Add(Box::new(new)))).unwrap();
        receipt.outcome::<Outcome>().unwrap().todo_ids.remove(0)
    }

    /// Answers a gate.
    pub(super) fn resolve(&mut self, gate_id: GateId, answer: Answer) -> Result<Receipt> {
        self.user(Command::Gate(GateCommand::Resolve { gate_id, answer }))
    }

    /// What an agent should do now.
    pub(super) fn next(&mut self, name: &str, own_id: Option<OwnId>) -> Result<Decided> {
        let goal = self.goal.clone();
        let decided = self.ask(name, own_id, |_| {}, |facts, asker| decide_next(facts, &goal, asker))?;
        if let Action::AskUser { asks } = &decided.action {
            for ask in asks {
                hints::check(&ask.command);
            }
        }
        Ok(decided)
    }

    /// The reason of a Todo for an agent.
    pub(super) fn reason(&mut self, name: &str, todo_id: &TodoId) -> Reason {
        self.ask(
            name,
            None,
            |_| {},
            |facts, asker| {
                let todo = facts.todo(todo_id)?.unwrap();
                reason(facts, todo, &asker.viewer)
            },
        )
        .unwrap()
    }

    /// Asks something on the facts that `next` reads, as an agent through its own endpoint or a named one.
    pub(super) fn ask<T>(
        &mut self,
        name: &str,
        own_id: Option<OwnId>,
        seen: impl FnOnce(&mut Asker<'_>),
        question: impl Fn(&Facts, &Asker<'_>) -> Result<T>,
    ) -> Result<T> {
        let Actor::Agent(agent_id, endpoint) = agent(name) else { panic!("{name} is no agent") };
        let key = (self.goal.clone(), agent_id.clone());
        let capabilities =
            self.ledger.rows().agents.get(&key).map(|agent| agent.capabilities.clone()).unwrap_or_default();
        let mut asker = Asker {
            viewer: Viewer { agent_id: &agent_id, capabilities, own_id, workspace: None },
            endpoint: &endpoint,
            executor: Executor::Attached,
            machine_id: None,
            seen: [].into(),
            tried: [].into(),
        };
        seen(&mut asker);
        let goal = self.goal.clone();
        let terms = self.terms();
        let rows = self.ledger.rows();
        self.authority.read(|view| {
            let mut facts = Facts::new(terms.clone());
            decision::load(view, &goal, &asker, Depth::Whole, &mut facts)?;
            // What the short page settles, the whole one settles alike.
            if let (Ok(short), Ok(whole)) =
                (decision::next(view, &terms, &goal, &asker), decide_next(&facts, &goal, &asker))
            {
                assert_eq!(
                    (short.rule, short.action),
                    (whole.rule, whole.action),
                    "a short page decides otherwise"
                );
            }
            rules::check(&rows, &facts, &goal, &asker);
            question(&facts, &asker)
        })
    }

    /// The moment of the last commit.
    pub(super) fn now(&mut self) -> Timestamp {
        self.authority.read(|view| Ok(Timestamp::from_ms(view.meta()?.unwrap().stamp.now_ms))).unwrap()
    }

    /// A Todo's row.
    pub(super) fn row(&self, todo_id: &TodoId) -> Todo {
        self.ledger.rows().todos[todo_id].clone()
    }

    /// A Turn's row.
    pub(super) fn turn(&self, turn_id: TurnId) -> Turn {
        self.ledger.rows().turns[&turn_id].clone()
    }
}

/// A right that a world gives itself: it plays the drivers too.
#[derive(Debug)]
pub(super) struct AnyTurn(pub(super) TurnId);

impl StepRight for AnyTurn {
    fn turn_id(&self) -> TurnId {
        self.0
    }
}
