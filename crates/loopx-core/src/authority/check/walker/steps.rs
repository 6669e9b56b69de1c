//! Owns one random step of a history: by a person, an agent, a driver, or the clock.

use super::Walk;
use crate::{
    authority::check::{
        play::{MACHINE, attached, intent, result, verdict},
        world::{agent, text, user},
    },
    error::Result,
    kernel::{
        AgentCommand, Change, ClaimCommand, Command, EffectCommand, GateCommand, GoalCommand, Intent,
        NewGate, NewTodo, Outcome, Step, TodoCommand, Told, TurnCommand, claim::Claim, turn::Found,
    },
    model::*,
};

const KINDS: [TodoKind; 6] = [
    TodoKind::Advance,
    TodoKind::Advance,
    TodoKind::Advance,
    TodoKind::Monitor,
    TodoKind::Blocker,
    TodoKind::Action,
];

impl Walk {
    /// One step; whether it is refused does not matter, what it writes is checked by the World.
    pub(super) fn step(&mut self) {
        let choice = self.dice.below(26);
        match choice {
            0..=3 => self.add(),
            4..=7 => self.claim(),
            8..=12 => self.owner(),
            13..=15 => self.driver(),
            16..=18 => self.plan(),
            19 | 20 => self.gates(),
            21 => self.persons(),
            22 | 23 => self.effects(),
            _ => {
                let mins = [1, 7, 20, 46, 90, 600][self.dice.below(6)];
                self.log.push(format!("{mins} min pass"));
                self.world.pass(Duration::from_mins(mins));
            }
        }
    }

    pub(super) fn note<T: std::fmt::Debug>(&mut self, what: &str, answer: &Result<T>) {
        let end = match answer {
            Ok(_) => "ok".to_owned(),
            Err(error) => error.code().to_string(),
        };
        self.log.push(format!("{what}: {end}"));
    }

    fn todo(&mut self) -> Option<TodoId> {
        let ids: Vec<_> = self.world.ledger.rows().todos.into_keys().collect();
        self.dice.one(&ids)
    }

    fn name(&mut self) -> &'static str {
        ["a", "b"][self.dice.below(2)]
    }

    fn wake(&mut self) -> Wake {
        let gates: Vec<_> = self.world.ledger.rows().gates.into_keys().collect();
        let after = Wake::After(self.world.now().plus(Duration::from_mins(30)));
        match self.dice.below(3) {
            0 => self.todo().map_or(after, Wake::TodoDone),
            1 => self.dice.one(&gates).map_or(after, Wake::Gate),
            _ => after,
        }
    }

    fn add(&mut self) {
        let mut new = NewTodo::titled(text("work"), KINDS[self.dice.below(6)]);
        new.priority = Priority::ALL[self.dice.below(5)];
        if self.dice.once_in(3) {
            new.depends_on = self.todo().into_iter().collect();
        }
        if self.dice.once_in(6) {
            new.wake = Some(self.wake());
        } else if self.dice.once_in(9) {
            new.blocked = Some(text("no key"));
        }
        if self.dice.once_in(4) {
            let scope = ["src", "src/a", "docs", "."][self.dice.below(4)];
            new.requires.write_scopes = [text(scope)].into();
        }
        if self.dice.once_in(8) {
            new.requires.capabilities = [text("deploy")].into();
        }
        new.requires.publish = self.dice.once_in(8);
        if self.dice.once_in(10) {
            new.excluded_agents = [text("a")].into();
        }
        if self.dice.once_in(6) {
            new.reviews = self.todo();
        }
        new.hold = self.dice.once_in(12);
        let actor = if self.dice.once_in(3) { agent(self.name()) } else { user() };
        let operation = self.world.operation(actor, Command::Todo(TodoCommand::Add(Box::new(new))));
        let answer = self.world.submit(operation);
        self.note("add", &answer);
    }

    /// An owner means something outside, or tells of it.
    fn effects(&mut self) {
        let open: Vec<_> = self.world.ledger.rows().nouns.into_values().collect();
        let open: Vec<_> = open.iter().filter_map(Effect::of).map(|effect| effect.effect_id).collect();
        let token = {
            let tokens = self.tokens.clone();
            self.dice.one(&tokens)
        };
        let known = self.dice.one(&open);
        if let (true, Some(effect_id)) = (self.dice.once_in(2), known) {
            let evidence = vec![self.world.evidence(user(), None, None)];
            let command = match self.dice.below(4) {
                0 | 1 => EffectCommand::Dispatch { effect_id },
                2 => EffectCommand::Confirm { effect_id, failed: false, evidence },
                _ => EffectCommand::Reconcile { effect_id, told: Told::Unknown, evidence },
            };
            let answer = self.world.effect(user(), command);
            self.note("effect", &answer);
            return;
        }
        let Some((name, owned)) = token else { return };
        let key = format!("k{}", self.dice.below(9));
        let todos = self.todo().into_iter().collect();
        let intent = Intent { own_id: owned.own_id, todos, ..intent(&owned.todo_ids[0], &key) };
        let answer = self.world.effect(agent(&name), EffectCommand::Intend(Box::new(intent)));
        self.note("intend", &answer);
    }

    fn claim(&mut self) {
        let Some(todo_id) = self.todo() else { return };
        let name = self.name();
        let endpoint = if self.dice.once_in(6) { format!("{name}@other") } else { name.to_owned() };
        let claim = if self.dice.once_in(3) {
            Claim { executor: Executor::Hosted, machine_id: Some(text(MACHINE)), ..attached(&todo_id) }
        } else {
            attached(&todo_id)
        };
        let answer = self.world.claim_as(&endpoint, claim);
        self.note(&format!("{endpoint} claims {todo_id}"), &answer);
        if let Ok(outcome) = answer.and_then(|receipt| receipt.outcome::<Outcome>())
            && outcome.own_id.is_some()
        {
            self.tokens.push((endpoint, outcome));
        }
    }

    /// A token that was handed out once, often the last one.
    fn any_token(&mut self) -> Option<(String, Outcome)> {
        if self.dice.once_in(2) { self.tokens.last().cloned() } else { self.dice.one(&self.tokens.clone()) }
    }

    /// Whether a token is the one its Todo's ownership has.
    fn is_current(&self, name: &str, owned: &Outcome) -> bool {
        let row = self.world.row(&owned.todo_ids[0]);
        let actor = agent(name);
        row.ownership.is_some_and(|own| {
            Some(own.own_id) == owned.own_id && actor.agent() == Some((&own.agent_id, &own.endpoint))
        })
    }

    fn owner(&mut self) {
        let Some((name, owned)) = self.any_token() else {
            return;
        };
        let (todo_id, own_id, turn_id) = (owned.todo_ids[0].clone(), owned.own_id, owned.turn_id.unwrap());
        let current = self.is_current(&name, &owned);
        let what = self.dice.below(8);
        let answer = match what {
            0 => self.world.agent(&name, Command::Claim(ClaimCommand::Renew { todo_id, own_id })),
            1 => self.world.agent(&name, Command::Claim(ClaimCommand::Release { todo_id, own_id })),
            2 => self
                .world
                .agent(&name, Command::Claim(ClaimCommand::Transfer { todo_id, own_id, to: text("b") })),
            3 => {
                let wake = self.wake();
                self.world.agent_todo(&name, TodoCommand::Defer { todo_id, own_id, wake })
            }
            4 => self.world.agent_todo(&name, TodoCommand::Block { todo_id, own_id, reason: text("stuck") }),
            5 => self.world.agent(&name, Command::Turn(TurnCommand::Stop { turn_id, own_id, reason: None })),
            _ => self.result(&name, &owned),
        };
        self.note(&format!("{name} owner {what}"), &answer);
        assert!(current || answer.is_err(), "a stale token wrote: {name} {owned:?}");
    }

    fn result(&mut self, name: &str, owned: &Outcome) -> Result<Receipt> {
        let kinds = [
            ResultKind::ValidatedCompletion,
            ResultKind::ValidatedCompletion,
            ResultKind::ValidatedProgress,
            ResultKind::RepairRequired,
            ResultKind::UserActionRequired,
            ResultKind::Wait,
            ResultKind::LookChanged,
        ];
        let digest = Digest::of(&[u8::try_from(self.dice.below(3)).unwrap()]);
        let goes_on = self.dice.once_in(3);
        let kind = kinds[self.dice.below(7)];
        self.world.result_of(name, owned, Candidate { digest, goes_on, ..result(kind) })
    }

    fn driver(&mut self) {
        let Some((name, owned)) = self.any_token() else {
            return;
        };
        let current = self.is_current(&name, &owned);
        let turn_id = owned.turn_id.unwrap();
        let what = self.dice.below(9);
        let answer = match what {
            0 | 1 => self.world.dispatched(&name, &owned),
            2 | 3 => {
                let outcome = self.verdict();
                let moved = self.dice.once_in(5);
                self.world.judged(&name, &owned, verdict(outcome), moved)
            }
            4 => self.world.host_end(&name, &owned, Some(HostFailure::Crashed), true),
            5 => self.world.lose(&name, &owned, self.tokens.len().is_multiple_of(2)),
            6 => self.world.recover(
                &name,
                &owned,
                Found::Result(Box::new(result(ResultKind::ValidatedProgress))),
            ),
            7 => self.world.recover(&name, &owned, Found::Again),
            _ => {
                let executor_gone = self.dice.once_in(2);
                let prove = Step::Prove { turn_id, executor_gone, tree: None };
                let answer = self.world.step(Actor::System, prove);
                return self.note("prove", &answer);
            }
        };
        self.note(&format!("{name} driver {what}"), &answer);
        assert!(current || answer.is_err(), "a stale token wrote: {name} {owned:?}");
        if let Ok(outcome) = answer.and_then(|receipt| receipt.outcome::<Outcome>())
            && outcome.next_turn_id.is_some()
        {
            self.tokens.push((name, Outcome { turn_id: outcome.next_turn_id, ..outcome }));
        }
    }

    fn verdict(&mut self) -> VerdictOutcome {
        let proved = !self.world.ledger.rows().goals[&self.world.goal].validators.is_empty();
        match self.dice.below(6) {
            0 => VerdictOutcome::Failed,
            1 => VerdictOutcome::Inconclusive,
            2 => VerdictOutcome::Progress,
            _ if proved => VerdictOutcome::Passed,
            _ => VerdictOutcome::Unchecked,
        }
    }

    fn plan(&mut self) {
        let (Some(todo_id), Some(other)) = (self.todo(), self.todo()) else {
            return;
        };
        let what = self.dice.below(11);
        let command = match what {
            0 => TodoCommand::Link { todo_id, depends_on: other },
            1 => TodoCommand::Unlink { todo_id, depends_on: other },
            2 => TodoCommand::Defer { todo_id, own_id: None, wake: self.wake() },
            3 => TodoCommand::Block { todo_id, own_id: None, reason: text("why") },
            4 => TodoCommand::Unblock { todo_id },
            5 => TodoCommand::Hold { todo_id },
            6 => TodoCommand::Unhold { todo_id },
            7 => TodoCommand::Cancel { todo_id, reason: text("no"), superseded_by: None },
            8 => TodoCommand::Reopen { todo_id },
            9 => TodoCommand::Complete {
                todo_id,
                continuation: Continuation::ActiveGoal,
                waive: Some(text("seen")),
            },
            _ => TodoCommand::Update {
                todo_id,
                change: Box::new(Change { title: Some(text("new")), ..Change::default() }),
            },
        };
        let actor = if self.dice.once_in(5) { agent(self.name()) } else { user() };
        let operation = self.world.operation(actor, Command::Todo(command));
        let answer = self.world.submit(operation);
        self.note(&format!("plan {what}"), &answer);
    }

    fn gates(&mut self) {
        let gates: Vec<_> = self.world.ledger.rows().gates.into_keys().collect();
        let open = self.dice.once_in(2) || gates.is_empty();
        let answer = if open {
            let kind = [GateKind::Decision, GateKind::Approval][self.dice.below(2)];
            let blocks = match self.todo() {
                Some(todo_id) if !self.dice.once_in(6) => Blocks::Todos([todo_id].into()),
                Some(_) | None => Blocks::Goal,
            };
            let (options, question) = (Vec::new(), text("which?"));
            let new = NewGate { kind, question, options, blocks, scope: None, standing_until: None };
            self.world.user(Command::Gate(GateCommand::Open(Box::new(new))))
        } else {
            let gate_id = self.dice.one(&gates).unwrap();
            let until = self.world.now().plus(Duration::from_mins(10));
            match self.dice.below(6) {
                0 => self.world.user(Command::Gate(GateCommand::Withdraw { gate_id })),
                1 => self.world.user(Command::Gate(GateCommand::Reopen { gate_id })),
                2 => self.world.resolve(gate_id, Answer::Deny { reason: None }),
                3 => self.world.resolve(gate_id, Answer::Defer { until }),
                4 => self.world.resolve(gate_id, Answer::Answer { text: text("left") }),
                _ => self.world.resolve(gate_id, Answer::Approve),
            }
        };
        self.note("gate", &answer);
    }

    fn persons(&mut self) {
        let turns: Vec<_> = self.world.ledger.rows().turns.into_keys().collect();
        let turn = self.dice.one(&turns);
        let todo = self.todo();
        let answer = match (self.dice.below(8), turn, todo) {
            (0, _, _) => self.world.goal_cmd(GoalCommand::Stop),
            (1, _, _) => self.world.goal_cmd(GoalCommand::Resume),
            (2, Some(turn_id), _) => self.world.stop(turn_id),
            (3, Some(turn_id), _) => self.world.turn_cmd(TurnCommand::Accept { turn_id }),
            (4, Some(turn_id), _) => {
                self.world.turn_cmd(TurnCommand::Abandon { turn_id, reason: text("gone") })
            }
            (5, _, Some(todo_id)) => {
                self.world.user(Command::Claim(ClaimCommand::ForceRelease { todo_id, reason: text("mine") }))
            }
            (6, _, _) => {
                let incarnate = self.world.operation(Actor::System, Command::Goal(GoalCommand::Incarnate));
                self.world.submit(incarnate)
            }
            _ => {
                let retire = AgentCommand::Retire { agent_id: text("a") };
                let answer = self.world.user(Command::Agent(retire));
                self.world.register("a", &["deploy"]);
                answer
            }
        };
        self.note("person", &answer);
    }
}
