//! Owns the moves of a random history that people make: gates, the Goal's terms, clearing the way.
//!
//! Knows nothing of Turns.

use super::{super::world::text, Player, pick};
use crate::{
    kernel::{
        AgentCommand, AttentionCommand, Command, EvidenceCommand, GateCommand, GoalChange, GoalCommand,
        NewGate, QuotaCommand, RewardCommand, SeenRow, TodoCommand,
    },
    model::*,
};

impl Player {
    /// Takes something out of the way, so that a history goes on.
    pub(super) fn relieve(&mut self, x: u16, y: u16) {
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

    pub(super) fn gates(&mut self, x: u16, y: u16) {
        let gate_id = self.gate(x / 8);
        let command = match (x % 8, gate_id) {
            (0..=2, _) | (_, None) => {
                let todos: std::collections::BTreeSet<_> =
                    [x, y].into_iter().filter_map(|by| self.todo(by / 8)).collect();
                let kinds = [GateKind::Decision, GateKind::Approval, GateKind::Direction, GateKind::Access];
                let kind = kinds[usize::from(y) % 4];
                GateCommand::Open(Box::new(NewGate {
                    kind,
                    question: text("may we?"),
                    options: Vec::new(),
                    blocks: if todos.is_empty() || y.is_multiple_of(31) {
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
                GateCommand::Resolve { gate_id, answer: answers[usize::from(y) % 4].clone() }
            }
        };
        self.as_user(Command::Gate(command));
    }

    /// Reports what a Turn used, or takes it back.
    fn meter(&mut self, x: u16, y: u16) {
        let Some(turn) = self.turn(x) else { return };
        let turn_id = turn.turn_id;
        if y.is_multiple_of(10) {
            return self.as_user(Command::Quota(QuotaCommand::Void { turn_id, reason: text("refunded") }));
        }
        let usage = Usage {
            seq: u64::from(y % 5),
            tokens_in: (!y.is_multiple_of(7)).then_some(u64::from(y % 30)),
            tokens_out: None,
            cost_micros: None,
            currency: None,
            wall_ms: Some(u64::from(x)),
        };
        let meter = if y % 8 == 2 { Meter::Account } else { Meter::Host };
        let usage = Box::new(usage);
        self.as_user(Command::Quota(QuotaCommand::Usage {
            turn_id,
            own_id: None,
            attempt: None,
            meter,
            usage,
        }));
    }

    pub(super) fn goal(&mut self, x: u16, y: u16) {
        let command = match x % 12 {
            0 => Command::Goal(GoalCommand::Stop),
            1 if y.is_multiple_of(3) => Command::Goal(GoalCommand::Close {
                kind: if y.is_multiple_of(2) { CloseKind::Achieved } else { CloseKind::Abandoned },
                reason: (y % 2 == 1).then(|| text("enough")),
                waive: Vec::new(),
                waive_effects: Vec::new(),
            }),
            2 => Command::Agent(AgentCommand::Retire { agent_id: text(["a", "b"][usize::from(y) % 2]) }),
            3..=5 => {
                let capabilities = if y.is_multiple_of(2) { [text("gpu")].into() } else { [].into() };
                Command::Agent(AgentCommand::Add {
                    agent_id: text(["a", "b", "c"][usize::from(y) % 3]),
                    capabilities,
                })
            }
            6 | 7 => {
                let tokens = (y % 3 == 1).then_some(u64::from(y % 50) * 10);
                let limit =
                    Limit { tokens, ..Limit::of_turns(u32::from(y % 6) + 1, Duration::from_mins(30)) };
                let agent_id = y.is_multiple_of(2).then(|| text("a"));
                Command::Quota(QuotaCommand::Set { agent_id, limit: (!y.is_multiple_of(5)).then_some(limit) })
            }
            _ if y.is_multiple_of(2) => Command::Goal(GoalCommand::Update(Box::new(GoalChange {
                objective: Some(text(&format!("ship {y}"))),
                ..GoalChange::default()
            }))),
            10 => {
                let ceiling = Caps { tokens: Some(u64::from(y % 40)), ..Caps::default() };
                let todo_id = self.todo(y).filter(|_| y.is_multiple_of(4));
                Command::Quota(QuotaCommand::Cap { agent_id: None, todo_id, ceiling })
            }
            8 if y.is_multiple_of(2) => return self.meter(x, y),
            9 if y.is_multiple_of(3) => {
                let about = [
                    self.todo(y).map(About::Todo),
                    self.turn(y).map(|turn| About::Turn(turn.turn_id)),
                    self.gate(y).map(About::Gate),
                    self.proposal(y).map(|proposal| About::Proposal(proposal.proposal_id)),
                    Some(About::Goal(self.world.goal.clone())),
                ];
                let rows =
                    about.into_iter().flatten().map(|about| SeenRow { about, version: None }).collect();
                Command::Attention(AttentionCommand::Seen { rows })
            }
            8 | 9 => Command::Reward(RewardCommand::Add {
                todo_id: self.todo(y),
                turn_id: self.turn(y).map(|turn| turn.turn_id).filter(|_| y.is_multiple_of(3)),
                route: (y % 5 == 1).then(|| text("alone")),
                polarity: if y % 4 == 1 { Polarity::Good } else { Polarity::Bad },
                reason: text("as it went"),
                lesson: None,
            }),
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
}
