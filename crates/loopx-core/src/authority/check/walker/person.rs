//! Owns what agents and people do when they follow what LoopX tells them, word for word.

use std::collections::BTreeMap;

use super::Walk;
use crate::{
    authority::check::{
        invariants::spends,
        play::{attached, result, verdict},
        world::{agent, text, user},
    },
    error::{Code, Error, Result},
    kernel::{
        AgentCommand, Change, Command, EffectCommand, EvidenceCommand, GateCommand, GoalCommand, NewTodo,
        Outcome, ProposalCommand, Step, TodoCommand, Told, TurnCommand, claim::Claim, turn::Found,
    },
    model::*,
};

impl Walk {
    /// Claims a replan, and changes the plan.
    pub(super) fn replan(&mut self, name: &str, todo_id: &TodoId, replan: Option<ReplanRef>) {
        let claim = replan.map_or_else(|| attached(todo_id), Claim::replanning);
        let answer = self.world.claim_as(name, claim);
        let receipt = answer.unwrap_or_else(|error| panic!("{error:?}\n{}", self.log.join("\n")));
        let owned: Outcome = receipt.outcome().unwrap();
        self.finish(name, owned.turn_id.unwrap());
    }

    /// Drops what a replan covers, or puts something beside it, or asks a person to.
    fn change_plan(&mut self, name: &str, covers: &TodoId) {
        let cancel = || {
            Command::Todo(TodoCommand::Cancel {
                todo_id: covers.clone(),
                reason: text("it does not work"),
                superseded_by: None,
            })
        };
        match self.dice.below(3) {
            0 => {
                let add = ProposalCommand::Add {
                    kind: ProposalKind::Change,
                    command: Box::new(cancel()),
                    expected: Expected::default(),
                    reason: text("it does not work"),
                };
                let answer = self.world.agent(name, Command::Proposal(add));
                self.note("propose", &answer);
            }
            1 => {
                let new = NewTodo::titled(text("another way"), TodoKind::Advance);
                let answer = self.world.agent(name, Command::Todo(TodoCommand::Add(Box::new(new))));
                self.note("another way", &answer);
            }
            _ => {
                let answer = self.world.agent(name, cancel());
                self.note("drop", &answer);
            }
        }
    }

    /// Plans more work for a Goal, or awaits a monitor of it, or asks a person to say that it is reached; or he says so by
    /// himself.
    fn close_gap(&mut self, name: &str) -> Continuation {
        let shown = || {
            Command::Evidence(EvidenceCommand::Add {
                todo_id: None,
                criterion: Some(1),
                kind: EvidenceKind::Note,
                pointer: text("notes.md"),
                digest: None,
                privacy: Privacy::Public,
                verdict: None,
            })
        };
        let rows = self.world.ledger.rows();
        let watches = |todo: &&Todo| {
            let obliged = todo.replans.by.is_some() || !todo.replans.pending.is_empty();
            todo.kind == TodoKind::Monitor && todo.is_live() && !obliged && todo.counters.cancelled_deps == 0
        };
        let monitor = rows.todos.values().filter(watches).find(|todo| !todo.counters.wake_lost);
        match (self.dice.below(6), monitor) {
            (0 | 1, _) => {
                let new = NewTodo::titled(text("what is missing"), TodoKind::Advance);
                let answer = self.world.agent(name, Command::Todo(TodoCommand::Add(Box::new(new))));
                self.note("what is missing", &answer);
            }
            (2, Some(monitor)) => return Continuation::Awaits { monitor: monitor.todo_id.clone() },
            (3, _) => {
                let answer = self.world.user(shown());
                self.note("shown", &answer);
            }
            (_, _) => {
                let add = ProposalCommand::Add {
                    kind: ProposalKind::Change,
                    command: Box::new(shown()),
                    expected: Expected::default(),
                    reason: text("it is reached"),
                };
                let answer = self.world.agent(name, Command::Proposal(add));
                self.note("propose", &answer);
            }
        }
        Continuation::default()
    }

    /// Claims what `next` said, and does it.
    pub(super) fn work(&mut self, name: &str, todo_id: &TodoId) {
        let answer = self.world.claim_as(name, attached(todo_id));
        let receipt = answer.unwrap_or_else(|error| panic!("{error:?}\n{}", self.log.join("\n")));
        assert_eq!(receipt.negative(), None, "obliged to {todo_id}");
        let owned: Outcome = receipt.outcome().unwrap();
        self.finish(name, owned.turn_id.unwrap());
    }

    /// Ends a Turn that its agent has in hand, with a result that its validators like.
    pub(super) fn finish(&mut self, name: &str, turn_id: TurnId) {
        let turn = self.world.turn(turn_id);
        let owned = Outcome {
            todo_ids: turn.todo_id().cloned().into_iter().collect(),
            turn_id: Some(turn_id),
            own_id: Some(turn.own_id),
            ..Outcome::default()
        };
        let todo = self.world.row(&owned.todo_ids[0]);
        let continuation = match todo.covering.as_ref().map(|covering| covering.covers()) {
            Some(Some(covers)) => {
                self.change_plan(name, covers);
                Continuation::default()
            }
            Some(None) => self.close_gap(name),
            None => Continuation::default(),
        };
        let looks = todo.kind == TodoKind::Monitor;
        // What is awaited comes, sooner or later.
        let awaited = self.world.ledger.rows().goals[&self.world.goal].awaited() == Some(&todo.todo_id);
        let kind = match looks {
            true if awaited && self.dice.once_in(2) => ResultKind::LookChanged,
            true => ResultKind::LookUnchanged,
            false => ResultKind::ValidatedCompletion,
        };
        let said = Candidate { continuation, ..result(kind) };
        let receipt = self.world.result_of(name, &owned, said).unwrap();
        if looks || todo.covering.is_some() || receipt.negative().is_some() {
            return;
        }
        self.judge(name, &owned);
    }

    fn judge(&mut self, name: &str, owned: &Outcome) {
        let proved = !self.world.ledger.rows().goals[&self.world.goal].validators.is_empty();
        let said = if proved { VerdictOutcome::Passed } else { VerdictOutcome::Unchecked };
        self.world.judged(name, owned, verdict(said), false).unwrap();
    }

    /// Brings an unresolved Turn to an honest end; returns the moment it has to wait for, if it has.
    pub(super) fn reconcile(&mut self, turn_id: TurnId) -> Option<Timestamp> {
        let turn = self.world.turn(turn_id);
        let name = format!("{}@{}", turn.agent_id, turn.endpoint);
        let owned = Outcome {
            todo_ids: turn.todo_id().cloned().into_iter().collect(),
            turn_id: Some(turn_id),
            own_id: Some(turn.own_id),
            ..Outcome::default()
        };
        let again = matches!(turn.state, TurnState::Unresolved { why: Unresolved::Inconclusive, .. });
        let found = if again { Found::Again } else { Found::Nothing(HostFailure::Crashed) };
        match self.world.recover(&name, &owned, found) {
            Ok(receipt) if again && receipt.negative().is_none() => self.judge(&name, &owned),
            Ok(_) => {}
            // Its agent has something else in hand: a person gives it up instead.
            Err(error) if error.code() == Code::ExecutorActive => {
                let abandon = TurnCommand::Abandon { turn_id, reason: text("busy") };
                return self.world.turn_cmd(abandon).err().map(|error| self.must_wait(&error));
            }
            Err(error) => return Some(self.must_wait(&error)),
        }
        None
    }

    /// The moment a refusal names; a refusal without one is a dead end.
    fn must_wait(&self, error: &Error) -> Timestamp {
        let until = error.details().get("until_ms").and_then(serde_json::Value::as_i64);
        Timestamp::from_ms(until.unwrap_or_else(|| panic!("{error:?}\n{}", self.log.join("\n"))))
    }

    pub(super) fn resume(&mut self) {
        self.world.goal_cmd(GoalCommand::Resume).unwrap();
    }

    /// A person runs the command that was named, in its obvious form; refused until a moment, says which.
    pub(super) fn person(&mut self, name: &str, command: &str) -> Result<(), Option<Timestamp>> {
        let words: Vec<_> = command.split(' ').collect();
        match words[..] {
            // Who follows LoopX to the end of a Goal wants nothing more of it.
            ["todo", "add", ..] => return Err(None),
            ["turn", "recover", turn_id, "--resume"] => {
                self.log.push(command.to_owned());
                return self.reconcile(turn_id.parse().unwrap()).map_or(Ok(()), |at| Err(Some(at)));
            }
            _ => {}
        }
        let answer = self.run(name, command);
        self.note(command, &answer);
        match answer {
            Ok(_) => Ok(()),
            // Another ask of the same answer has moved it already.
            Err(error) if error.code() == Code::InvalidTransition => Err(None),
            Err(error) => Err(Some(self.must_wait(&error))),
        }
    }

    /// Confirms a proposal, or turns down what cannot be done.
    fn confirm(&mut self, proposal_id: ProposalId) -> Result<Receipt> {
        let Proposal { command, expected, .. } = self.world.proposal(proposal_id);
        let command = Box::new(serde_json::from_value(command).unwrap());
        let word = ProposalCommand::Confirm { proposal_id, command, expected };
        let answer = self.world.user(Command::Proposal(word)).or_else(|_| {
            let reject = ProposalCommand::Reject { proposal_id, reason: None };
            self.world.user(Command::Proposal(reject))
        });
        self.prove_freed();
        answer
    }

    fn run(&mut self, name: &str, command: &str) -> Result<Receipt> {
        let words: Vec<_> = command.split(' ').map(|word| word.trim_matches('\'')).collect();
        let todo = || text::<TodoId>(words[2]);
        let turn_id = || words[2].parse::<TurnId>().unwrap();
        let gate_id = || words[2].parse::<GateId>().unwrap();
        match (words[0], words[1]) {
            ("gate", "resolve") if words[3] == "--approve" => {
                let answer = self.world.resolve(gate_id(), Answer::Approve);
                self.prove_freed();
                answer
            }
            ("gate", "resolve") => {
                let answer = self.world.resolve(gate_id(), Answer::Answer { text: text(words[4]) });
                self.prove_freed();
                answer
            }
            ("gate", "withdraw") => {
                let answer = self.world.user(Command::Gate(GateCommand::Withdraw { gate_id: gate_id() }));
                self.prove_freed();
                answer
            }
            ("proposal", "confirm") => self.confirm(words[2].parse().unwrap()),
            ("turn", "abandon") => {
                self.world.turn_cmd(TurnCommand::Abandon { turn_id: turn_id(), reason: text("gone") })
            }
            ("turn", "accept") => {
                let answer = self.world.turn_cmd(TurnCommand::Accept { turn_id: turn_id() })?;
                let turn = self.world.turn(turn_id());
                if matches!(turn.state, TurnState::Candidate) {
                    self.validate(&turn);
                }
                Ok(answer)
            }
            ("turn", "stop") => self.world.stop(turn_id()),
            ("turn", "recover") => {
                let answer = self.world.step(
                    Actor::System,
                    Step::Prove { turn_id: turn_id(), executor_gone: false, tree: None },
                )?;
                let turn = self.world.turn(turn_id());
                if matches!(turn.state, TurnState::Candidate) {
                    self.validate(&turn);
                }
                Ok(answer)
            }
            ("todo", "claim") => self.world.claim_as(name, attached(&todo())),
            ("todo", verb) => {
                let answer = self.world.todo_cmd(todo_command(verb, &words, todo()));
                self.prove_freed();
                answer
            }
            ("agent", "add") => {
                let capabilities = words[3..]
                    .chunks(2)
                    .filter(|pair| pair[0] == "--capability")
                    .map(|pair| text(pair[1]))
                    .collect();
                self.world.user(Command::Agent(AgentCommand::Add { agent_id: text(words[2]), capabilities }))
            }
            ("effect", _) => {
                let answer = self.effect(name, &words);
                self.prove_freed();
                answer
            }
            ("goal", "close") => {
                let waived = words.iter().skip_while(|word| **word != "--waive").skip(1);
                let waived = waived.filter_map(|word| word.split_once('='));
                let waive_effects = waived.map(|(id, reason)| (text(id), text(reason))).collect();
                let close = GoalCommand::Close {
                    kind: CloseKind::Achieved,
                    reason: None,
                    waive: Vec::new(),
                    waive_effects,
                };
                self.world.goal_cmd(close)
            }
            ("evidence", "add") => {
                let number = words
                    .iter()
                    .position(|word| *word == "--criterion")
                    .map(|place| words[place + 1].parse().unwrap());
                self.world.user(Command::Evidence(EvidenceCommand::Add {
                    todo_id: None,
                    criterion: number,
                    kind: EvidenceKind::Note,
                    pointer: text(words[2]),
                    digest: None,
                    privacy: Privacy::Public,
                    verdict: None,
                }))
            }
            _ => panic!("nobody knows how to `{command}`\n{}", self.log.join("\n")),
        }
    }

    /// An agent reads back and finds nothing; a person says what was never sent, or gives up.
    fn effect(&mut self, name: &str, words: &[&str]) -> Result<Receipt> {
        let effect_id = text(words[2]);
        let shown = |walk: &mut Self| vec![walk.world.evidence(user(), None, None)];
        match words[1] {
            "reconcile" if words[3..].contains(&"--absent") => {
                let evidence = shown(self);
                self.world
                    .effect(user(), EffectCommand::Reconcile { effect_id, told: Told::Absent, evidence })
            }
            "reconcile" => {
                let reconcile =
                    EffectCommand::Reconcile { effect_id, told: Told::Unknown, evidence: Vec::new() };
                self.world.effect(agent(name), reconcile)
            }
            "write-off" => {
                let evidence = shown(self);
                self.world
                    .effect(user(), EffectCommand::WriteOff { effect_id, reason: text("gone"), evidence })
            }
            other => panic!("nobody knows how to `effect {other}`"),
        }
    }

    /// What a write freed is proved by LoopX itself, as every write verb does after its own commit.
    fn prove_freed(&mut self) {
        let held = |turn: &&Turn| matches!(turn.state, TurnState::Held { .. });
        let ids: Vec<_> =
            self.world.ledger.rows().turns.values().filter(held).map(|turn| turn.turn_id).collect();
        for turn_id in ids {
            let proof =
                self.world.step(Actor::System, Step::Prove { turn_id, executor_gone: false, tree: None });
            self.note("prove", &proof);
            let turn = self.world.turn(turn_id);
            if matches!(turn.state, TurnState::Candidate) {
                self.validate(&turn);
            }
        }
    }

    /// Its driver, or its owner, validates what came back to its candidate.
    fn validate(&mut self, turn: &Turn) {
        let name = format!("{}@{}", turn.agent_id, turn.endpoint);
        let owned = Outcome { turn_id: Some(turn.turn_id), own_id: Some(turn.own_id), ..Outcome::default() };
        self.judge(&name, &owned);
    }

    /// Every Turn that has ended ended once, and its slot is what its end says.
    pub(super) fn check_spending(&mut self) {
        let mut ends: BTreeMap<TurnId, usize> = BTreeMap::new();
        for envelope in self.world.envelopes() {
            if let crate::kernel::Event::Turn(crate::kernel::TurnEvent::Ended { turn_id, .. }) = envelope.body
            {
                *ends.entry(turn_id).or_insert(0) += 1;
            }
        }
        for turn in self.world.ledger.rows().turns.values() {
            assert_eq!(
                ends.get(&turn.turn_id).copied().unwrap_or(0),
                usize::from(turn.is_terminal()),
                "{turn:?}"
            );
            let Some(spends) = spends(turn) else { continue };
            assert_eq!(turn.slot == Slot::Spent, spends, "{turn:?}");
        }
    }
}

fn todo_command(verb: &str, words: &[&str], todo_id: TodoId) -> TodoCommand {
    match verb {
        "unblock" => TodoCommand::Unblock { todo_id },
        "unhold" => TodoCommand::Unhold { todo_id },
        "resolve" => TodoCommand::Resolve { todo_id, evidence: Vec::new() },
        "done" => TodoCommand::Complete {
            todo_id,
            continuation: Continuation::ActiveGoal,
            waive: words[3..].contains(&"--waive").then(|| text("looked at it")),
        },
        "unlink" => TodoCommand::Unlink { todo_id, depends_on: text(words[4]) },
        "update" => {
            assert_eq!(words[3..], ["--clear", "exclude"]);
            let change = Change { excluded_agents: Some([].into()), ..Change::default() };
            TodoCommand::Update { todo_id, change: Box::new(change) }
        }
        _ => panic!("nobody knows how to `todo {verb}`"),
    }
}
