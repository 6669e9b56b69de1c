//! Owns one state of the world that is explored: a ledger, the moment, and the last operations that were accepted.
//!
//! Knows nothing of what may be done next. Everything is written by the one way that writes, and read by the same way
//! as by the edge.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use super::super::{
    super::{
        Authority, MemoryLedger,
        chain::Envelope,
        clock::{Clock, Reading},
        decision,
    },
    play::MACHINE,
    world::{AnyTurn, text, user},
};
use crate::{
    error::Result,
    kernel::{Asker, Command, Decided, Depth, Facts, Input, Rows, Seen, Step, Terms, Viewer, decide_next},
    model::*,
};

/// How many accepted operations are remembered, to be given again: the first of all, and the last.
const REMEMBERED: usize = 3;

/// A clock that stands at the moment of whichever state is looked at, and never mints two ids at once.
#[derive(Debug, Clone, Default)]
pub(super) struct Hand {
    boot_ms: Arc<AtomicI64>,
    wall_ms: Arc<AtomicI64>,
}

impl Clock for Hand {
    fn read(&self) -> Result<Reading> {
        Ok(Reading {
            boot_id: "boot".to_owned(),
            boot_ms: self.boot_ms.load(Ordering::Relaxed),
            // Ids are minted by the wall, so that their order is that of their making.
            wall_ms: self.wall_ms.fetch_add(1, Ordering::Relaxed),
        })
    }
}

/// Who acts for an agent.
pub(super) type Seat = &'static str;

/// What was accepted, and what it returned.
#[derive(Debug, Clone)]
pub(super) struct Accepted {
    pub(super) operation: Operation<Input>,
    pub(super) receipt: Receipt,
}

/// A state.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) ledger: MemoryLedger,
    clock: Hand,
    /// The moment: milliseconds of the clock.
    at_ms: i64,
    /// Under what the ledger was founded.
    terms: Terms,
    calls: u64,
    /// The first that was accepted and the last, the newest last.
    pub(super) last: Vec<Accepted>,
}

impl Node {
    /// A founded ledger.
    pub(super) fn founded() -> Self {
        let clock = Hand::default();
        // A whole number of the buckets of a budget.
        clock.wall_ms.store(1_800_000_000_000, Ordering::Relaxed);
        let ledger = MemoryLedger::new();
        let mut authority = Authority::with_clock(Box::new(ledger.clone()), Box::new(clock.clone()));
        assert!(authority.found().unwrap());
        let terms = authority.present().unwrap();
        Self { ledger, clock, at_ms: 0, terms, calls: 0, last: Vec::new() }
    }

    fn authority(&self) -> Authority {
        self.clock.boot_ms.store(self.at_ms, Ordering::Relaxed);
        Authority::with_clock(Box::new(self.ledger.clone()), Box::new(self.clock.clone()))
    }

    /// The same state once more, with a ledger of its own.
    pub(super) fn fork(&self) -> Self {
        let keep: Vec<_> = self.last.iter().map(|last| &last.operation.operation_id).collect();
        Self {
            ledger: self.ledger.fork(&keep),
            clock: self.clock.clone(),
            last: self.last.clone(),
            at_ms: self.at_ms,
            terms: self.terms.clone(),
            calls: self.calls,
        }
    }

    /// The one Goal.
    pub(super) fn goal_id() -> GoalId {
        text("g")
    }

    /// Moves time.
    pub(super) fn pass(&mut self, span: Duration) {
        self.at_ms += i64::try_from(span.as_ms()).unwrap();
    }

    /// A fresh operation of an actor, with proof for a person.
    pub(super) fn operation(&mut self, actor: Actor, input: Input) -> Operation<Input> {
        self.calls += 1;
        Operation::embedded(text(&format!("op-{}", self.calls)), actor, Self::goal_id(), input)
    }

    /// Submits an operation as it is.
    pub(super) fn give(&self, operation: &Operation<Input>) -> Result<Receipt> {
        let Operation { operation_id, actor, provenance, goal_id, command, expected } = operation.clone();
        match command {
            Input::Command(command) => self.authority().submit(Operation {
                operation_id,
                actor,
                provenance,
                goal_id,
                command,
                expected,
            }),
            Input::Step(command) => {
                let right = AnyTurn(command.turn_id());
                let step = Operation { operation_id, actor, provenance, goal_id, command, expected };
                self.authority().submit_step(&right, step)
            }
        }
    }

    /// Submits a fresh operation, and remembers it if it was accepted.
    pub(super) fn submit(&mut self, actor: Actor, input: Input) -> Result<Receipt> {
        let operation = self.operation(actor, input);
        let receipt = self.give(&operation)?;
        if self.last.len() == REMEMBERED {
            self.last.remove(1);
        }
        self.last.push(Accepted { operation, receipt: receipt.clone() });
        Ok(receipt)
    }

    /// A person's command.
    pub(super) fn user(&mut self, command: Command) -> Result<Receipt> {
        self.submit(user(), Input::Command(command))
    }

    /// An agent's command.
    pub(super) fn agent(&mut self, seat: &str, command: Command) -> Result<Receipt> {
        self.submit(actor(seat), Input::Command(command))
    }

    /// A step of a Turn.
    pub(super) fn step(&mut self, actor: Actor, step: Step) -> Result<Receipt> {
        self.submit(actor, Input::Step(step))
    }

    /// Every row.
    pub(super) fn rows(&self) -> Rows {
        self.ledger.rows()
    }

    /// The moment: within one boot its clock alone moves it.
    pub(super) fn now(&self) -> Timestamp {
        self.terms.now.plus(Duration::from_ms(self.at_ms.unsigned_abs()))
    }

    /// The life of the ledger.
    pub(super) fn incarnation(&self) -> IncarnationId {
        self.terms.incarnation
    }

    /// Under what a decision would be made now.
    pub(super) fn terms(&self) -> Terms {
        Terms { now: self.now(), ..self.terms.clone() }
    }

    /// What was written since this ledger was made.
    pub(super) fn written(&self) -> Vec<Envelope> {
        let records = self.ledger.stored(&Self::goal_id());
        records.iter().map(|record| Envelope::decode(&record.payload).unwrap()).collect()
    }

    /// What an agent should do now, as an edge that sees its drivers so would tell it.
    pub(super) fn next(&self, rows: &Rows, seat: Seat, sight: &Sight) -> Result<Decided> {
        let Actor::Agent(agent_id, endpoint) = actor(seat) else { panic!("{seat} is no agent") };
        let goal = Self::goal_id();
        let agent = rows.agents.get(&(goal.clone(), agent_id.clone()));
        let machine: MachineId = text(MACHINE);
        let driven = rows.turns.values().filter(|turn| turn.is_driven() && !turn.is_terminal());
        let asker = Asker {
            viewer: Viewer {
                agent_id: &agent_id,
                capabilities: agent.map(|agent| agent.capabilities.clone()).unwrap_or_default(),
                own_id: sight.own_id,
                workspace: None,
            },
            endpoint: &endpoint,
            executor: sight.executor,
            machine_id: sight.here.then_some(&machine),
            seen: driven.filter_map(|turn| Some((turn.turn_id, sight.drivers.of(turn)?))).collect(),
            tried: [].into(),
        };
        self.authority().look(|view, terms| {
            let mut facts = Facts::new(terms.clone());
            decision::load(view, &goal, &asker, Depth::Whole, &mut facts)?;
            decide_next(&facts, &goal, &asker)
        })
    }
}

/// What an edge knows when an agent asks what to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sight {
    /// Who would run what it is told.
    pub(super) executor: Executor,
    /// The token that the agent presents.
    pub(super) own_id: Option<OwnId>,
    /// Whether it asks on the machine of the drivers.
    pub(super) here: bool,
    /// What the locks there say of every driver.
    pub(super) drivers: Drivers,
}

impl Default for Sight {
    fn default() -> Self {
        let executor = Executor::Attached;
        Self { executor, own_id: None, here: false, drivers: Drivers::Unknown }
    }
}

/// What an edge sees of drivers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Drivers {
    /// Nothing.
    #[default]
    Unknown,
    /// All live.
    Alive,
    /// All are gone.
    Gone,
    /// Those live that have something to drive.
    AtWork,
}

impl Drivers {
    fn of(self, turn: &Turn) -> Option<Seen> {
        let rests = matches!(turn.state, TurnState::Held { .. } | TurnState::Unresolved { .. });
        match self {
            Self::Unknown => None,
            Self::Gone => Some(Seen::Gone),
            Self::AtWork if rests => Some(Seen::Gone),
            Self::Alive | Self::AtWork => Some(Seen::Alive),
        }
    }
}

/// The actor of a seat.
pub(super) fn actor(seat: &str) -> Actor {
    format!("agent:{seat}").parse().unwrap()
}
