//! Owns what can happen in an explored world: the moves of agents, drivers, people and time, and how each is done.
//!
//! Knows nothing of which moves a scope offers, nor of what they should lead to.

use std::collections::BTreeMap;

use super::{
    super::play::{MACHINE, attached, attempt, result, verdict},
    node::{Node, Seat, Sight, actor},
    outside::{self, Fate},
    proposed::{self, Proposed, Word},
    returned::{self, Say},
};
use crate::{
    authority::check::world::text,
    error::Result,
    kernel::{
        Change, ClaimCommand, Command, GateCommand, GoalChange, GoalCommand, NewGate, NewTodo,
        ProposalCommand, Rows, Step, TodoCommand, TurnCommand, claim::Claim, turn::Found,
    },
    model::*,
};

/// A move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// An agent claims a Todo; a driven one for a driver.
    Claim(Seat, u32, Executor),
    /// An agent claims the replan that it is told of.
    Replan(Seat),
    /// Whoever has the token of a Todo uses it.
    Own(u32, Owner),
    /// Whoever has the lock of its Turn does.
    Drive(u32, Driver),
    /// A person does something with a Todo.
    Todo(u32, TodoVerb),
    /// A person does something with the Turn of a Todo.
    Turn(u32, TurnVerb),
    /// A person opens a gate, on a Todo or on the Goal.
    Open(GateKind, Option<u32>),
    /// A person answers a gate, by its place among all.
    Gate(usize, GateVerb),
    /// A person does something with the Goal.
    Goal(GoalVerb),
    /// An agent proposes what only a person may do.
    Propose(Seat, Proposed),
    /// Somebody answers a proposal, by its place among all that wait.
    Answer(usize, Word),
    /// Something happens to an effect, by its place among all.
    Effect(usize, Fate),
    /// A peer returns what it found in the last Turn of a Todo.
    Give(u32),
    /// The owner of a coordinator decides on a return, by its place among all that wait, or a person does.
    Decide(usize, Say, bool),
    /// Time passes, to the next moment at which something changes.
    Pass,
}

/// What an owner does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Renew,
    Release,
    Transfer,
    Defer,
    Block,
    Stop,
    /// It drops what its replan covers, or plans more where that is the Goal.
    Drop,
    /// It means something to happen outside.
    Intend,
    Result(ResultKind),
    /// A replan is done, and the second Todo, a monitor, is awaited.
    Await,
    /// It proposes to let the first criterion go, where it has nothing proposed.
    Ask,
    /// A part is done, and its owner goes on.
    GoOn,
    Verdict(VerdictOutcome),
    /// The tree moved while the validators ran.
    Moved,
}

/// What a driver does, or whoever took over from one that died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Driver {
    Dispatch,
    /// The host crashed, and may be started again or not.
    Crashed {
        retry: bool,
    },
    /// The host was ended on a wish.
    Ended,
    Lose {
        gone: bool,
    },
    Prove {
        gone: bool,
    },
    RecoverNothing,
    RecoverAgain,
    RecoverResult,
}

/// What a person does with a Todo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TodoVerb {
    Hold,
    Unhold,
    Unblock,
    Cancel,
    Reopen,
    Done,
    Retitle,
    ForceRelease,
    /// Lets it wait no more for the Todo before it.
    Unlink,
}

/// What a person does with a Turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnVerb {
    Stop,
    Accept,
    Abandon,
}

/// What a person does with a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GateVerb {
    Approve,
    Deny,
    Answer,
    Withdraw,
    Reopen,
}

/// What a person does with the Goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoalVerb {
    Stop,
    Resume,
    Achieve,
    /// The same, though nobody knows what effects did that were given up.
    Waive,
    /// The first criterion is let go.
    LetGo,
    Abandon,
    Reopen,
    /// The ledger begins another life.
    Incarnate,
}

/// How long a host may work.
const WALL: Duration = Duration::from_mins(30);

/// The Todo of a number.
pub(super) fn todo_id(number: u32) -> TodoId {
    text(&format!("g.{number}"))
}

/// The seat of an owner.
pub(super) fn seat_of(own: &Ownership) -> String {
    format!("{}@{}", own.agent_id, own.endpoint)
}

impl Node {
    /// Does a move; none where it makes no sense here, and then nothing was asked.
    pub(super) fn act(&mut self, action: Action) -> Option<Result<Option<Receipt>>> {
        let answer = match action {
            Action::Claim(seat, number, executor) => Some(self.claim(seat, number, executor)),
            Action::Replan(seat) => {
                let rows = self.rows();
                let decided = self.next(&rows, seat, &Sight::default()).ok()?;
                Some(self.replan(seat, decided.action.replan()?, Executor::Attached))
            }
            Action::Own(number, what) => self.own(number, what),
            Action::Drive(number, what) => self.drive(number, what),
            Action::Todo(number, verb) => Some(self.user(todo_command(todo_id(number), verb))),
            Action::Turn(number, verb) => {
                let turn_id = self.ledger.seen(|rows| rows.todos[&todo_id(number)].turn_id)?;
                Some(self.user(Command::Turn(match verb {
                    TurnVerb::Stop => TurnCommand::Stop { turn_id, own_id: None, reason: None },
                    TurnVerb::Accept => TurnCommand::Accept { turn_id },
                    TurnVerb::Abandon => TurnCommand::Abandon { turn_id, reason: text("gone") },
                })))
            }
            Action::Open(kind, of) => Some(self.open_gate(kind, of)),
            Action::Gate(place, verb) => {
                let gate_id = self.ledger.seen(|rows| rows.gates.keys().nth(place).copied())?;
                Some(self.user(Command::Gate(gate_command(gate_id, verb))))
            }
            Action::Goal(verb) => Some(self.goal(verb)),
            Action::Propose(seat, what) => Some(self.propose(seat, what)),
            Action::Answer(place, word) => {
                let proposal = self.ledger.seen(|rows| proposed::waiting(rows).nth(place).cloned())?;
                Some(self.answer(&proposal, word))
            }
            Action::Effect(place, what) => {
                let effect = self.ledger.seen(|rows| outside::all(rows).nth(place).cloned())?;
                Some(self.befall(&effect, what))
            }
            Action::Give(number) => self.give_back(number),
            Action::Decide(place, say, by_owner) => {
                let given = self.ledger.seen(|rows| returned::waiting(rows).nth(place).cloned())?;
                self.decide_on(&given, say, by_owner)
            }
            Action::Pass => {
                let until = self.next_moment()?;
                self.pass(until.since(self.now()));
                return Some(Ok(None));
            }
        };
        answer.map(|answer| answer.map(Some))
    }

    /// A claim, with nothing but what its kind of executor needs.
    pub(super) fn claim(&mut self, seat: &str, number: u32, executor: Executor) -> Result<Receipt> {
        self.claim_by(seat, attached(&todo_id(number)), executor)
    }

    /// A claim of a replan by its name.
    pub(super) fn replan(&mut self, seat: &str, of: &ReplanRef, executor: Executor) -> Result<Receipt> {
        self.claim_by(seat, Claim::replanning(of.clone()), executor)
    }

    fn claim_by(&mut self, seat: &str, claim: Claim, executor: Executor) -> Result<Receipt> {
        let machine_id = (executor != Executor::Attached).then(|| text(MACHINE));
        let claim = Claim { executor, machine_id, ..claim };
        self.agent(seat, Command::Claim(ClaimCommand::Claim(Box::new(claim))))
    }

    fn own(&mut self, number: u32, what: Owner) -> Option<Result<Receipt>> {
        if what == Owner::Drop {
            self.ledger.seen(|rows| rows.todos[&todo_id(number)].covering.is_some()).then_some(())?;
        }
        let own = self.ledger.seen(|rows| rows.todos[&todo_id(number)].ownership.clone())?;
        if what == Owner::Ask {
            let asks = |rows: &Rows| proposed::waiting(rows).any(|one| one.by == actor(&seat_of(&own)));
            (!self.ledger.seen(asks)).then_some(())?;
        }
        Some(self.use_token(&Token::of(number, &own), what))
    }

    /// Uses a token, whoever has it and whatever it is worth.
    pub(super) fn use_token(&mut self, token: &Token, what: Owner) -> Result<Receipt> {
        let Token { seat, todo_id, turn_id, own_id } = token.clone();
        let presented = Some(own_id);
        let command = match what {
            Owner::Renew => Command::Claim(ClaimCommand::Renew { todo_id, own_id: presented }),
            Owner::Release => Command::Claim(ClaimCommand::Release { todo_id, own_id: presented }),
            Owner::Transfer => {
                let to = if seat.starts_with("a@") { "b" } else { "a" };
                Command::Claim(ClaimCommand::Transfer { todo_id, own_id: presented, to: text(to) })
            }
            Owner::Defer => {
                let wake = Wake::After(self.now().plus(Duration::from_mins(15)));
                Command::Todo(TodoCommand::Defer { todo_id, own_id: presented, wake })
            }
            Owner::Block => {
                Command::Todo(TodoCommand::Block { todo_id, own_id: presented, reason: text("stuck") })
            }
            Owner::Drop => {
                let covered = |rows: &Rows| rows.todos[&todo_id].covering.as_ref()?.covers().cloned();
                // The whole Goal is not dropped: more is planned for it.
                let Some(todo_id) = self.ledger.seen(covered) else {
                    let new = NewTodo::titled(text("what is missing"), TodoKind::Advance);
                    return self.agent(&seat, Command::Todo(TodoCommand::Add(Box::new(new))));
                };
                let reason = text("it does not work");
                Command::Todo(TodoCommand::Cancel { todo_id, reason, superseded_by: None })
            }
            Owner::Ask => {
                let let_go =
                    GoalChange { waive: vec![(1, text("it is not wanted"))], ..GoalChange::default() };
                Command::Proposal(ProposalCommand::Add {
                    kind: ProposalKind::Change,
                    command: Box::new(Command::Goal(GoalCommand::Update(Box::new(let_go)))),
                    expected: Expected::default(),
                    reason: text("nothing shows it"),
                })
            }
            Owner::Intend => return self.intend(token),
            Owner::Stop => Command::Turn(TurnCommand::Stop { turn_id, own_id: presented, reason: None }),
            Owner::Result(_) | Owner::Await | Owner::GoOn | Owner::Verdict(_) | Owner::Moved => {
                return self.step(actor(&seat), step_of(turn_id, own_id, what));
            }
        };
        self.agent(&seat, command)
    }

    fn drive(&mut self, number: u32, what: Driver) -> Option<Result<Receipt>> {
        let turn = self.ledger.seen(|rows| {
            let turn_id = rows.todos[&todo_id(number)].turn_id?;
            rows.turns.get(&turn_id).cloned()
        });
        Some(self.drive_turn(&turn?, what))
    }

    /// Does a step of a Turn, with the token that its driver was given.
    pub(super) fn drive_turn(&mut self, turn: &Turn, what: Driver) -> Result<Receipt> {
        let (turn_id, own_id) = (turn.turn_id, turn.own_id);
        let by = Actor::Agent(turn.agent_id.clone(), turn.endpoint.clone());
        let recover =
            |found| Step::Recover { turn_id, own_id, found, wake: None, held_by: None, awake_ms: None };
        let end = |failure, retry| Step::End {
            turn_id,
            own_id,
            failure,
            retry,
            note: None,
            held_by: None,
            awake_ms: None,
        };
        let step = match what {
            Driver::Dispatch => {
                Step::Dispatch { turn_id, own_id, attempt: Box::new(attempt()), wall_ms: WALL }
            }
            Driver::Crashed { retry } => end(Some(HostFailure::Crashed), retry),
            Driver::Ended => end(None, false),
            Driver::Lose { gone } => {
                Step::Lose { turn_id, own_id, executor_gone: gone, held_by: None, awake_ms: None }
            }
            Driver::Prove { gone } => {
                let prove = Step::Prove { turn_id, executor_gone: gone, tree: None };
                return self.step(Actor::System, prove);
            }
            Driver::RecoverNothing => recover(Found::Nothing(HostFailure::Crashed)),
            Driver::RecoverAgain => recover(Found::Again),
            Driver::RecoverResult => {
                recover(Found::Result(Box::new(result(ResultKind::ValidatedCompletion))))
            }
        };
        self.step(by, step)
    }

    fn open_gate(&mut self, kind: GateKind, of: Option<u32>) -> Result<Receipt> {
        let new = NewGate {
            kind,
            question: text("which?"),
            options: Vec::new(),
            blocks: of.map_or(Blocks::Goal, |number| Blocks::Todos([todo_id(number)].into())),
            scope: None,
            standing_until: None,
        };
        self.user(Command::Gate(GateCommand::Open(Box::new(new))))
    }

    fn goal(&mut self, verb: GoalVerb) -> Result<Receipt> {
        let close =
            |kind, reason| GoalCommand::Close { kind, reason, waive: Vec::new(), waive_effects: Vec::new() };
        let given_up = || self.ledger.seen(|rows| outside::given_up(rows).collect::<Vec<_>>());
        let command = Command::Goal(match verb {
            GoalVerb::Stop => GoalCommand::Stop,
            GoalVerb::Resume => GoalCommand::Resume,
            GoalVerb::Achieve => close(CloseKind::Achieved, None),
            GoalVerb::Waive => GoalCommand::Close {
                kind: CloseKind::Achieved,
                reason: None,
                waive: Vec::new(),
                waive_effects: given_up().into_iter().map(|id| (id, text("nobody can tell"))).collect(),
            },
            GoalVerb::LetGo => GoalCommand::Update(Box::new(GoalChange {
                waive: vec![(1, text("it is not wanted"))],
                ..GoalChange::default()
            })),
            GoalVerb::Abandon => close(CloseKind::Abandoned, Some(text("no more"))),
            GoalVerb::Reopen => GoalCommand::Reopen,
            GoalVerb::Incarnate => GoalCommand::Incarnate,
        });
        if verb == GoalVerb::Incarnate {
            return self.submit(Actor::System, crate::kernel::Input::Command(command));
        }
        self.user(command)
    }

    /// The next moment at which a rule may find otherwise than now.
    pub(super) fn next_moment(&self) -> Option<Timestamp> {
        let (meters, now) = (self.ledger.meters(), self.now());
        self.ledger.seen(|rows| moments(rows, &meters).into_iter().filter(|at| *at > now).min())
    }
}

/// Every moment that a rule looks at, past or to come.
fn moments(rows: &Rows, meters: &BTreeMap<(MeterScope, Bucket), u64>) -> Vec<Timestamp> {
    let mut moments: Vec<Timestamp> = Vec::new();
    for todo in rows.todos.values().filter(|todo| todo.is_live()) {
        moments.extend(todo.ownership.iter().filter(|own| !own.frozen).map(|own| own.expires_at));
        moments.extend(todo.reserved.iter().map(|reserved| reserved.until));
        let due = |monitor: &Monitor| Some(monitor.looked_at?.plus(monitor.every_ms));
        moments.extend(todo.monitor.as_ref().and_then(due));
        if let TodoState::Deferred { wake: Wake::After(at) } = &todo.state {
            moments.push(*at);
        }
        let turn = todo.turn_id.map(|turn_id| &rows.turns[&turn_id]);
        let deadline = turn.and_then(|turn| turn.open_attempt()?.deadline_at);
        moments.extend(deadline.into_iter().flat_map(|at| [at, at.plus(crate::kernel::GRACE)]));
    }
    for (scope, limit) in limits(rows) {
        let held = meters.keys().filter(|(held, _)| *held == scope);
        moments.extend(held.map(|(_, bucket)| bucket.leaves(limit.window_ms)));
    }
    moments
}

/// Every limit, and what it is metered by.
pub(super) fn limits(rows: &Rows) -> Vec<(MeterScope, Limit)> {
    let goals =
        rows.goals.values().filter_map(|goal| Some((MeterScope::Goal(goal.goal_id.clone()), goal.limit?)));
    let agents = rows.agents.values().filter_map(|agent| {
        Some((MeterScope::Agent(agent.goal_id.clone(), agent.agent_id.clone()), agent.limit?))
    });
    goals.chain(agents).collect()
}

/// What was given to whoever claimed.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) seat: String,
    pub(super) todo_id: TodoId,
    pub(super) turn_id: TurnId,
    pub(super) own_id: OwnId,
}

impl Token {
    /// That of a Todo's owner.
    pub(super) fn of(number: u32, own: &Ownership) -> Self {
        Self { seat: seat_of(own), todo_id: todo_id(number), turn_id: own.turn_id, own_id: own.own_id }
    }
}

fn step_of(turn_id: TurnId, own_id: OwnId, what: Owner) -> Step {
    let candidate = |candidate: Candidate| Step::Candidate {
        turn_id,
        own_id: Some(own_id),
        candidate: Box::new(candidate),
        wake: None,
        held_by: None,
        awake_ms: None,
    };
    let said = |outcome, moved| Step::Verdict {
        turn_id,
        own_id,
        verdict: Box::new(verdict(outcome)),
        moved,
        goes_on: false,
    };
    match what {
        Owner::Result(kind) => candidate(result(kind)),
        Owner::Await => candidate(Candidate {
            continuation: Continuation::Awaits { monitor: todo_id(2) },
            ..result(ResultKind::ValidatedCompletion)
        }),
        Owner::GoOn => candidate(Candidate { goes_on: true, ..result(ResultKind::ValidatedProgress) }),
        Owner::Verdict(outcome) => said(outcome, false),
        Owner::Moved => said(VerdictOutcome::Passed, true),
        Owner::Renew
        | Owner::Release
        | Owner::Transfer
        | Owner::Defer
        | Owner::Block
        | Owner::Stop
        | Owner::Drop
        | Owner::Ask
        | Owner::Intend => {
            panic!("{what:?} is no step")
        }
    }
}

/// What a person does with a Todo, as a command.
pub(super) fn todo_command(todo_id: TodoId, verb: TodoVerb) -> Command {
    Command::Todo(match verb {
        TodoVerb::Hold => TodoCommand::Hold { todo_id },
        TodoVerb::Unhold => TodoCommand::Unhold { todo_id },
        TodoVerb::Unblock => TodoCommand::Unblock { todo_id },
        TodoVerb::Cancel => TodoCommand::Cancel { todo_id, reason: text("no"), superseded_by: None },
        TodoVerb::Reopen => TodoCommand::Reopen { todo_id },
        TodoVerb::Done => TodoCommand::Complete {
            todo_id,
            continuation: Continuation::ActiveGoal,
            waive: Some(text("seen")),
        },
        TodoVerb::Retitle => {
            let change = Change { title: Some(text("other")), ..Change::default() };
            TodoCommand::Update { todo_id, change: Box::new(change) }
        }
        TodoVerb::Unlink => {
            let depends_on = TodoId::new(todo_id.goal().clone(), todo_id.number() - 1);
            TodoCommand::Unlink { todo_id, depends_on }
        }
        TodoVerb::ForceRelease => {
            return Command::Claim(ClaimCommand::ForceRelease { todo_id, reason: text("mine") });
        }
    })
}

fn gate_command(gate_id: GateId, verb: GateVerb) -> GateCommand {
    match verb {
        GateVerb::Approve => GateCommand::Resolve { gate_id, answer: Answer::Approve },
        GateVerb::Deny => GateCommand::Resolve { gate_id, answer: Answer::Deny { reason: None } },
        GateVerb::Answer => GateCommand::Resolve { gate_id, answer: Answer::Answer { text: text("left") } },
        GateVerb::Withdraw => GateCommand::Withdraw { gate_id },
        GateVerb::Reopen => GateCommand::Reopen { gate_id },
    }
}
