//! Owns the random histories: the same wishes, steps and passing of time on the ledger in memory and in a file.
//!
//! The `World` checks after every call that a refusal wrote nothing, that events fold to the rows and that
//! counters and meters are what the rows say; the `Twin` below it, that both ledgers give the same answers.

use proptest::{prelude::*, test_runner::Config};

use super::{
    super::conformance::{Room as _, ask_everything},
    Kept,
    world::{World, agent, text, validator},
};
use crate::{
    kernel::{
        AgentCommand, BatchItem, Change, ClaimCommand, Command, EvidenceCommand, GateCommand, GoalChange,
        GoalCommand, NewGate, NewTodo, QuotaCommand, Step, TodoCommand, TurnCommand, index, turn::Found,
    },
    model::*,
};

/// One move of a history: what is done, and which of the rows that then exist it is done to.
type Move = (u8, u16, u16);

fn history() -> impl Strategy<Value = Vec<Move>> {
    proptest::collection::vec(any::<Move>(), 10..70)
}

/// Picks one of what is there.
fn pick<T: Clone>(from: impl IntoIterator<Item = T>, by: u16) -> Option<T> {
    let all: Vec<T> = from.into_iter().collect();
    (!all.is_empty()).then(|| all[usize::from(by) % all.len()].clone())
}

struct Player {
    world: World,
}

impl Player {
    fn todo(&self, by: u16) -> Option<TodoId> {
        pick(self.world.ledger.rows().todos.into_keys(), by)
    }

    fn gate(&self, by: u16) -> Option<GateId> {
        pick(self.world.ledger.rows().gates.into_keys(), by)
    }

    /// A Turn that has not ended, or now and then one that has.
    fn turn(&self, by: u16) -> Option<Turn> {
        let turns = self.world.ledger.rows().turns;
        let live: Vec<Turn> = turns
            .values()
            .filter(|turn| !turn.is_terminal())
            .cloned()
            .collect();
        if by % 7 == 0 {
            pick(turns.into_values(), by)
        } else {
            pick(live, by)
        }
    }

    fn as_user(&mut self, command: Command) {
        drop(self.world.user(command));
    }

    fn as_agent(&mut self, by: u16, command: Command) {
        let name = ["a", "b", "c"][usize::from(by) % 3];
        drop(self.world.agent(name, command));
    }

    fn step(&mut self, turn: &Turn, step: Step) {
        drop(self.world.step(agent(turn.agent_id.as_str()), step));
    }

    fn play(&mut self, (what, x, y): Move) {
        match what % 16 {
            0 | 1 => self.add(x, y),
            2 => self.change(x, y),
            3..=6 => self.own(x, y),
            7 | 8 => self.advance(x, y),
            9 => self.settle(x, y),
            10 => self.gates(x, y),
            11 => self.goal(x, y),
            12 => self.pass(x, y),
            13 => self.driver(x, y),
            _ => self.relieve(x, y),
        }
    }

    /// Takes something out of the way, so that a history goes on.
    fn relieve(&mut self, x: u16, y: u16) {
        let rows = self.world.ledger.rows();
        match &rows.goals[&self.world.goal].state {
            GoalState::Active => {}
            GoalState::Stopped => return self.as_user(Command::Goal(GoalCommand::Resume)),
            GoalState::Closed { .. } => return self.as_user(Command::Goal(GoalCommand::Reopen)),
        }
        let gate = pick(rows.gates.values().filter(|gate| gate.is_blocking()), x);
        let paused = pick(rows.todos.values().filter(|todo| todo.hold), y);
        match (gate, paused) {
            (Some(gate), _) => {
                let gate_id = gate.gate_id;
                let command = match gate.state {
                    GateState::Denied { .. } => GateCommand::Withdraw { gate_id },
                    _ if gate.kind.is_approval() => GateCommand::Resolve { gate_id, answer: Answer::Approve },
                    _ => GateCommand::Resolve { gate_id, answer: Answer::Answer { text: text("yes") } },
                };
                self.as_user(Command::Gate(command));
            }
            (None, Some(todo)) => {
                self.as_user(Command::Todo(TodoCommand::Unhold { todo_id: todo.todo_id.clone() }));
            }
            (None, None) => self.own(x | 15, y),
        }
    }

    /// A Todo that can be taken, if there is one.
    fn ready(&self, by: u16) -> Option<TodoId> {
        let todos = self.world.ledger.rows().todos;
        let ready = todos.into_values().filter(|todo| {
            let counters = &todo.counters;
            let met = counters.unmet + counters.cancelled_deps + counters.blocking_gates == 0;
            met && index(todo).ready.is_some_and(|ready| ready.free_at < 1_900_000_000_000)
        });
        pick(ready.map(|todo| todo.todo_id), by)
    }

    fn new_todo(&self, x: u16, y: u16) -> NewTodo {
        let kinds = [
            TodoKind::Advance,
            TodoKind::Advance,
            TodoKind::Monitor,
            TodoKind::Blocker,
            TodoKind::Action,
        ];
        let mut new = NewTodo::titled(text(&format!("todo {x}")), kinds[usize::from(x) % 5]);
        new.priority = Priority::ALL[usize::from(y) % 5];
        new.depends_on = [x, y]
            .into_iter()
            .filter(|by| by % 3 == 0)
            .filter_map(|by| self.todo(by / 3))
            .collect();
        match x % 11 {
            0 => {
                new.wake = Some(Wake::After(Timestamp::from_ms(
                    1_800_000_000_000 + i64::from(y) * 60_000,
                )))
            }
            1 => new.wake = self.todo(y).map(Wake::TodoDone),
            2 => new.wake = self.gate(y).map(Wake::Gate),
            3 => new.blocked = Some(text("no key")),
            4 => new.hold = true,
            5 => new.requires.capabilities = [text("gpu")].into(),
            6 => new.excluded_agents = [text("a")].into(),
            7 => new.requires.write_scopes = [text(["src", "docs", "src/x"][usize::from(y) % 3])].into(),
            8 => new.validators = vec![validator()],
            9 => new.detail = Some(text("at length")),
            _ => {}
        }
        new
    }

    fn add(&mut self, x: u16, y: u16) {
        if x % 13 == 0 {
            let mut items: Vec<BatchItem> = (0..=y % 5)
                .map(|n| BatchItem::Add {
                    new: Box::new(self.new_todo(x.wrapping_add(n), y)),
                    after_items: (0..u32::from(n)).filter(|m| m % 2 == 0).collect(),
                })
                .collect();
            if let Some(todo) = self.todo(y) {
                items.push(BatchItem::Complete {
                    todo: crate::kernel::BatchRef::Todo(todo),
                });
            }
            return self.as_user(Command::Batch(items));
        }
        let add = TodoCommand::Add(Box::new(self.new_todo(x, y)));
        if y % 4 == 0 {
            self.as_agent(x, Command::Todo(add))
        } else {
            self.as_user(Command::Todo(add))
        }
    }

    fn change(&mut self, x: u16, y: u16) {
        let (Some(todo_id), Some(other)) = (self.todo(x / 16), self.todo(y)) else {
            return;
        };
        let command = match x % 16 {
            0 | 1 => TodoCommand::Link {
                todo_id,
                depends_on: other,
            },
            2 => TodoCommand::Unlink {
                todo_id,
                depends_on: other,
            },
            3 => TodoCommand::Defer {
                todo_id,
                own_id: None,
                wake: Wake::TodoDone(other),
            },
            4 => {
                let at = Timestamp::from_ms(1_800_000_000_000 + i64::from(y) * 100_000);
                TodoCommand::Defer {
                    todo_id,
                    own_id: None,
                    wake: Wake::After(at),
                }
            }
            5 => TodoCommand::Block {
                todo_id,
                own_id: None,
                reason: text("stuck"),
            },
            6 => TodoCommand::Unblock { todo_id },
            7 => TodoCommand::Hold { todo_id },
            8 => TodoCommand::Unhold { todo_id },
            9 => TodoCommand::Resolve {
                todo_id,
                evidence: Vec::new(),
            },
            10 => TodoCommand::Cancel {
                todo_id,
                reason: text("no"),
                superseded_by: (y % 2 == 0).then_some(other),
            },
            11 | 12 => TodoCommand::Reopen { todo_id },
            13 => {
                let waive = (y % 2 == 0).then(|| text("seen"));
                TodoCommand::Complete {
                    todo_id,
                    continuation: Continuation::ActiveGoal,
                    waive,
                }
            }
            _ => {
                let mut change = Change {
                    title: Some(text(&format!("now {y}"))),
                    ..Change::default()
                };
                change.priority = Some(Priority::ALL[usize::from(y) % 5]);
                TodoCommand::Update {
                    todo_id,
                    change: Box::new(change),
                }
            }
        };
        self.as_user(Command::Todo(command));
    }

    fn own(&mut self, x: u16, y: u16) {
        let ready = self.ready(x / 16).filter(|_| x % 16 > 4);
        let Some(todo_id) = ready.or_else(|| self.todo(x / 16)) else { return };
        let row = self.world.row(&todo_id);
        let own_id = row.ownership.as_ref().map(|own| own.own_id);
        let hosted = x % 5 == 0;
        let claim = crate::kernel::claim::Claim {
            todo_id: todo_id.clone(),
            executor_of: None,
            executor: if hosted {
                Executor::Hosted
            } else {
                Executor::Attached
            },
            machine_id: hosted.then(|| text("abc123")),
            ttl_ms: (y % 3 == 0).then(|| Duration::from_mins(5)),
            workspace: (y % 2 == 0).then(|| text("00112233445566778899")),
        };
        let command = match x % 16 {
            0 => ClaimCommand::Renew { todo_id, own_id },
            1 => ClaimCommand::Release { todo_id, own_id },
            2 => ClaimCommand::Transfer {
                todo_id,
                own_id,
                to: text("b"),
            },
            3 => {
                return self.as_user(Command::Claim(ClaimCommand::ForceRelease {
                    todo_id,
                    reason: text("mine"),
                }));
            }
            4 => {
                let to = text(["a", "b", "c"][usize::from(y) % 3]);
                return self.as_user(Command::Claim(ClaimCommand::Transfer {
                    todo_id,
                    own_id: None,
                    to,
                }));
            }
            _ => ClaimCommand::Claim(Box::new(claim)),
        };
        let owner = row.ownership.filter(|_| x % 16 < 4).map(|own| own.agent_id);
        match owner {
            Some(owner) => drop(self.world.agent(owner.as_str(), Command::Claim(command))),
            None => self.as_agent(y, Command::Claim(command)),
        }
    }

    /// A step of a Turn as its executor goes on.
    fn advance(&mut self, x: u16, y: u16) {
        let Some(turn) = self.turn(x) else { return };
        let (turn_id, own_id) = (turn.turn_id, turn.own_id);
        if turn.is_driven() && turn.state == TurnState::Admitted {
            return self.dispatch(&turn);
        }
        if matches!(turn.state, TurnState::Candidate) {
            return self.settle(x, y);
        }
        let kinds = [
            ResultKind::ValidatedCompletion,
            ResultKind::ValidatedCompletion,
            ResultKind::ValidatedProgress,
            ResultKind::RepairRequired,
            ResultKind::Wait,
            ResultKind::UserActionRequired,
            ResultKind::LookUnchanged,
            ResultKind::LookChanged,
        ];
        let candidate = Candidate {
            kind: kinds[usize::from(y) % kinds.len()],
            digest: Digest::of(&x.to_be_bytes()),
            requirement_revision: 0,
            at: Timestamp::default(),
            summary: None,
            classification: None,
            next_action: None,
            continuation: Continuation::ActiveGoal,
            evidence: Vec::new(),
            goes_on: y % 5 == 0,
            tree: None,
            outside: [].into(),
        };
        let step = Step::Candidate {
            turn_id,
            own_id: Some(own_id),
            candidate: Box::new(candidate),
            wake: None,
        };
        self.step(&turn, step);
    }

    fn dispatch(&mut self, turn: &Turn) {
        let attempt = Attempt {
            number: 0,
            host: text("command"),
            host_version: None,
            machine_id: turn.machine_id.clone(),
            boot_id: None,
            pid_namespace: None,
            containment: None,
            dispatched_at: Timestamp::default(),
            deadline_at: None,
            tree: None,
            end: None,
        };
        self.step(
            turn,
            Step::Dispatch {
                turn_id: turn.turn_id,
                own_id: turn.own_id,
                attempt: Box::new(attempt),
                wall_ms: Duration::from_mins(10),
            },
        );
    }

    /// What the validators said.
    fn settle(&mut self, x: u16, y: u16) {
        let Some(turn) = self.turn(x) else { return };
        let outcomes = [
            VerdictOutcome::Passed,
            VerdictOutcome::Passed,
            VerdictOutcome::Progress,
            VerdictOutcome::Failed,
            VerdictOutcome::Inconclusive,
            VerdictOutcome::Unchecked,
        ];
        let verdict = Verdict {
            outcome: outcomes[usize::from(y) % outcomes.len()],
            validator: None,
            exit: Some(0),
            note: None,
            took_ms: Duration::from_ms(3),
            tree: None,
            at: Timestamp::default(),
        };
        let moved = y % 11 == 0;
        self.step(
            &turn,
            Step::Verdict {
                turn_id: turn.turn_id,
                own_id: turn.own_id,
                verdict: Box::new(verdict),
                moved,
            },
        );
    }

    fn driver(&mut self, x: u16, y: u16) {
        let Some(turn) = self.turn(x) else { return };
        let (turn_id, own_id) = (turn.turn_id, turn.own_id);
        let failure = Some([HostFailure::Crashed, HostFailure::Timeout][usize::from(y) % 2]);
        let step = match x % 6 {
            0 => Step::End {
                turn_id,
                own_id,
                failure,
                retry: y % 2 == 0,
                note: None,
            },
            1 => Step::Prove {
                turn_id,
                executor_gone: y % 2 == 0,
                tree: None,
            },
            2 => Step::Lose {
                turn_id,
                own_id,
                executor_gone: y % 2 == 0,
            },
            3 => Step::Recover {
                turn_id,
                own_id,
                found: Found::Nothing(HostFailure::Crashed),
            },
            4 => Step::Recover {
                turn_id,
                own_id,
                found: Found::Again,
            },
            _ => {
                let command = match y % 3 {
                    0 => TurnCommand::Stop {
                        turn_id,
                        own_id: None,
                    },
                    1 => TurnCommand::Accept { turn_id },
                    _ => TurnCommand::Abandon {
                        turn_id,
                        reason: text("enough"),
                    },
                };
                return self.as_user(Command::Turn(command));
            }
        };
        self.step(&turn, step);
    }

    fn gates(&mut self, x: u16, y: u16) {
        let gate_id = self.gate(x / 8);
        let command = match (x % 8, gate_id) {
            (0..=2, _) | (_, None) => {
                let todos: std::collections::BTreeSet<_> =
                    [x, y].into_iter().filter_map(|by| self.todo(by / 8)).collect();
                let kinds = [
                    GateKind::Decision,
                    GateKind::Approval,
                    GateKind::Direction,
                    GateKind::Access,
                ];
                let kind = kinds[usize::from(y) % 4];
                GateCommand::Open(Box::new(NewGate {
                    kind,
                    question: text("may we?"),
                    options: Vec::new(),
                    blocks: if todos.is_empty() || y % 31 == 0 {
                        Blocks::Goal
                    } else {
                        Blocks::Todos(todos)
                    },
                    scope: kind.is_approval().then(|| Key::Capability(text("gpu"))),
                    standing_until: None,
                }))
            }
            (3, Some(gate_id)) => GateCommand::Withdraw { gate_id },
            (4, Some(gate_id)) => GateCommand::Reopen { gate_id },
            (_, Some(gate_id)) => {
                let until = Timestamp::from_ms(1_800_000_000_000 + i64::from(y) * 60_000);
                let answers = [
                    Answer::Approve,
                    Answer::Deny { reason: None },
                    Answer::Answer { text: text("yes") },
                    Answer::Defer { until },
                ];
                GateCommand::Resolve {
                    gate_id,
                    answer: answers[usize::from(y) % 4].clone(),
                }
            }
        };
        self.as_user(Command::Gate(command));
    }

    fn goal(&mut self, x: u16, y: u16) {
        let command = match x % 12 {
            0 => Command::Goal(GoalCommand::Stop),
            1 if y % 3 == 0 => Command::Goal(GoalCommand::Close {
                kind: if y % 2 == 0 {
                    CloseKind::Achieved
                } else {
                    CloseKind::Abandoned
                },
                reason: (y % 2 == 1).then(|| text("enough")),
                waive: Vec::new(),
            }),
            2 => Command::Agent(AgentCommand::Retire {
                agent_id: text(["a", "b"][usize::from(y) % 2]),
            }),
            3..=5 => {
                let capabilities = if y % 2 == 0 {
                    [text("gpu")].into()
                } else {
                    [].into()
                };
                Command::Agent(AgentCommand::Add {
                    agent_id: text(["a", "b", "c"][usize::from(y) % 3]),
                    capabilities,
                })
            }
            6 | 7 => {
                let limit = Limit {
                    turns: u32::from(y % 6) + 1,
                    window_ms: Duration::from_mins(30),
                };
                let agent_id = (y % 2 == 0).then(|| text("a"));
                Command::Quota(QuotaCommand::Set {
                    agent_id,
                    limit: (y % 5 != 0).then_some(limit),
                })
            }
            _ if y % 2 == 0 => Command::Goal(GoalCommand::Update(Box::new(GoalChange {
                objective: Some(text(&format!("ship {y}"))),
                ..GoalChange::default()
            }))),
            _ => Command::Evidence(EvidenceCommand::Add {
                todo_id: self.todo(y),
                criterion: None,
                kind: EvidenceKind::Url,
                pointer: text("https://example.org/x"),
                digest: None,
                privacy: Privacy::Public,
                verdict: None,
            }),
        };
        self.as_user(command);
    }

    fn pass(&mut self, x: u16, y: u16) {
        match x % 9 {
            0 => self.world.step_wall(i64::from(y) * 100_000 - 3_000_000_000),
            1 if y % 4 == 0 => self.world.reboot(),
            2 => self.world.pass(Duration::from_mins(60 * 24)),
            _ => self.world.pass(Duration::from_secs(u64::from(y))),
        }
    }
}

/// Plays a history on both ledgers.
fn tell(moves: &[Move]) {
    let mut world = World::over(Kept::twin());
    world.start(|goal| goal.unvalidated = Unvalidated::Trust);
    let mut player = Player { world };
    for n in 0..3 {
        player.world.todo("begin", |new| new.priority = Priority::ALL[n]);
    }
    for one in moves {
        player.play(*one);
        for name in ["a", "b"] {
            // Whoever is not registered is refused; the reads were compared all the same.
            drop(player.world.next(name, None));
        }
    }
    // A fresh handle finds what the one that wrote it found.
    let operations: Vec<OperationId> = (0..80).map(|n| text(&format!("op-{n}"))).collect();
    player.world.ledger.open().read(&mut |view| ask_everything(view, &operations).map(drop)).unwrap();
}

proptest! {
    #![proptest_config(Config { cases: 16, failure_persistence: None, ..Config::default() })]

    #[test]
    fn both_ledgers_tell_one_history(moves in history()) {
        tell(&moves);
    }
}
