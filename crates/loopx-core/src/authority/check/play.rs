//! Owns what a test does in a `World` in one word: the moves of people, owners and drivers.

use super::world::{World, agent, text, user};
use crate::{
    error::{Code, Result},
    kernel::{
        AgentCommand, Change, ClaimCommand, Command, EffectCommand, EvidenceCommand, GateCommand,
        GoalCommand, Intent, Outcome, QuotaCommand, Step, TodoCommand, TurnCommand,
        claim::{Claim, Next},
        turn::Found,
    },
    model::*,
};

/// The machine of the drivers.
pub(super) const MACHINE: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// The code of a refusal, or of a negative end, or `ok`.
pub(super) fn code(answer: &Result<Receipt>) -> &'static str {
    match answer {
        Ok(receipt) => receipt.negative().map_or("ok", Code::as_str),
        Err(error) => error.code().as_str(),
    }
}

/// The code of a refusal; panics where there is none.
#[track_caller]
pub(super) fn refused<T: std::fmt::Debug>(answer: Result<T>) -> &'static str {
    answer.unwrap_err().code().as_str()
}

/// A result of a kind.
pub(super) fn result(kind: ResultKind) -> Candidate {
    Candidate {
        kind,
        digest: Digest::of(b"result"),
        requirement_revision: 0,
        at: Timestamp::default(),
        summary: None,
        classification: None,
        next_action: None,
        continuation: Continuation::ActiveGoal,
        evidence: Vec::new(),
        usage: Vec::new(),
        goes_on: false,
        tree: None,
        outside: [].into(),
        shared: false,
    }
}

/// An intent of work on a Todo, under a key.
pub(super) fn intent(todo_id: &TodoId, key: &str) -> Intent {
    Intent {
        todo_id: todo_id.clone(),
        own_id: None,
        key: text(key),
        digest: Digest::of(key.as_bytes()),
        what: text("publish it"),
        todos: [].into(),
        keys: [].into(),
    }
}

/// An attached claim of a Todo.
pub(super) fn attached(todo_id: &TodoId) -> Claim {
    Claim::attached(todo_id.clone())
}

/// What is known of an attempt before it is dispatched.
pub(super) fn attempt() -> Attempt {
    Attempt {
        number: 0,
        host: text("sh"),
        host_version: None,
        machine_id: Some(text(MACHINE)),
        boot_id: None,
        pid_namespace: None,
        containment: Some(text("c1")),
        guarantee: None,
        dispatched_at: Timestamp::default(),
        deadline_at: None,
        tree: None,
        end: None,
    }
}

/// A verdict.
pub(super) fn verdict(outcome: VerdictOutcome) -> Verdict {
    Verdict {
        outcome,
        validator: Some(text("true")),
        exit: Some(0),
        note: None,
        took_ms: Duration::from_ms(3),
        tree: None,
        at: Timestamp::default(),
    }
}

impl World {
    /// A person's command about a Todo.
    pub(super) fn todo_cmd(&mut self, command: TodoCommand) -> Result<Receipt> {
        self.user(Command::Todo(command))
    }

    /// A person pauses a Todo.
    pub(super) fn hold(&mut self, todo_id: &TodoId) -> Result<Receipt> {
        let todo_id = todo_id.clone();
        self.todo_cmd(TodoCommand::Hold { todo_id })
    }

    /// A person changes what is wanted.
    pub(super) fn retitle(&mut self, todo_id: &TodoId, title: &str) -> Result<Receipt> {
        let change = Box::new(Change { title: Some(text(title)), ..Change::default() });
        let todo_id = todo_id.clone();
        self.todo_cmd(TodoCommand::Update { todo_id, change })
    }

    /// An agent's command about a Todo.
    pub(super) fn agent_todo(&mut self, name: &str, command: TodoCommand) -> Result<Receipt> {
        self.agent(name, Command::Todo(command))
    }

    /// A person's command about the Goal.
    pub(super) fn goal_cmd(&mut self, command: GoalCommand) -> Result<Receipt> {
        self.user(Command::Goal(command))
    }

    /// Closes the Goal.
    pub(super) fn close(&mut self, kind: CloseKind, reason: Option<&str>) -> Result<Receipt> {
        self.goal_cmd(GoalCommand::Close {
            kind,
            reason: reason.map(text),
            waive: Vec::new(),
            waive_effects: Vec::new(),
        })
    }

    /// An attached claim.
    pub(super) fn claim(&mut self, name: &str, todo_id: &TodoId) -> Result<Outcome> {
        self.claim_as(name, attached(todo_id))?.outcome()
    }

    /// An agent takes what it should do now, and presents a token if it has one.
    pub(super) fn take(&mut self, name: &str, own_id: Option<OwnId>) -> Result<Receipt> {
        self.take_as(name, Next { own_id, ..Next::default() })
    }

    /// The same as told.
    pub(super) fn take_as(&mut self, name: &str, next: Next) -> Result<Receipt> {
        self.agent(name, Command::Claim(ClaimCommand::Next(Box::new(next))))
    }

    /// A claim as it is given.
    pub(super) fn claim_as(&mut self, name: &str, claim: Claim) -> Result<Receipt> {
        self.agent(name, Command::Claim(ClaimCommand::Claim(Box::new(claim))))
    }

    /// A hosted Turn, admitted and not dispatched.
    pub(super) fn hosted(&mut self, name: &str, todo_id: &TodoId) -> Result<Outcome> {
        let machine_id = Some(text(MACHINE));
        let claim = Claim { executor: Executor::Hosted, machine_id, ..attached(todo_id) };
        self.claim_as(name, claim)?.outcome()
    }

    /// An attempt of half an hour.
    pub(super) fn dispatch(&mut self, name: &str, owned: &Outcome) -> Result<Outcome> {
        self.dispatched(name, owned)?.outcome()
    }

    /// The receipt of such an attempt.
    pub(super) fn dispatched(&mut self, name: &str, owned: &Outcome) -> Result<Receipt> {
        let step = Step::Dispatch {
            turn_id: owned.turn_id.unwrap(),
            own_id: owned.own_id.unwrap(),
            attempt: Box::new(attempt()),
            wall_ms: Duration::from_mins(30),
        };
        self.step(agent(name), step)
    }

    /// A hosted Turn that executes.
    pub(super) fn running(&mut self, name: &str, todo_id: &TodoId) -> Outcome {
        let owned = self.hosted(name, todo_id).unwrap();
        self.dispatch(name, &owned).unwrap();
        owned
    }

    /// A result of a kind of the owner of a claim.
    pub(super) fn candidate(&mut self, name: &str, owned: &Outcome, kind: ResultKind) -> Result<Outcome> {
        self.result_of(name, owned, result(kind))?.outcome()
    }

    /// A whole result of the owner of a claim.
    pub(super) fn result_of(&mut self, name: &str, owned: &Outcome, candidate: Candidate) -> Result<Receipt> {
        self.step(
            agent(name),
            Step::Candidate {
                turn_id: owned.turn_id.unwrap(),
                own_id: owned.own_id,
                candidate: Box::new(candidate),
                wake: None,
                held_by: None,
                awake_ms: None,
            },
        )
    }

    /// What the validators said.
    pub(super) fn verdict(
        &mut self,
        name: &str,
        owned: &Outcome,
        outcome: VerdictOutcome,
    ) -> Result<Outcome> {
        self.judged(name, owned, verdict(outcome), false)?.outcome()
    }

    /// `done` with validators that pass.
    pub(super) fn done(&mut self, name: &str, owned: &Outcome) -> Result<Outcome> {
        self.candidate(name, owned, ResultKind::ValidatedCompletion)?;
        self.verdict(name, owned, VerdictOutcome::Passed)
    }

    /// What the validators said, and whether the tree moved under them.
    pub(super) fn judged(
        &mut self,
        name: &str,
        owned: &Outcome,
        verdict: Verdict,
        moved: bool,
    ) -> Result<Receipt> {
        self.step(
            agent(name),
            Step::Verdict {
                turn_id: owned.turn_id.unwrap(),
                own_id: owned.own_id.unwrap(),
                verdict: Box::new(verdict),
                moved,
                goes_on: false,
            },
        )
    }

    /// An attempt that ended without a result.
    pub(super) fn host_end(
        &mut self,
        name: &str,
        owned: &Outcome,
        failure: Option<HostFailure>,
        retry: bool,
    ) -> Result<Receipt> {
        let (turn_id, own_id) = (owned.turn_id.unwrap(), owned.own_id.unwrap());
        self.step(
            agent(name),
            Step::End { turn_id, own_id, failure, retry, note: None, held_by: None, awake_ms: None },
        )
    }

    /// A proof by LoopX itself.
    pub(super) fn prove(&mut self, turn_id: TurnId, executor_gone: bool) -> Result<Receipt> {
        self.step(Actor::System, Step::Prove { turn_id, executor_gone, tree: None })
    }

    /// A Turn whose executor nobody can ask.
    pub(super) fn lose(&mut self, name: &str, owned: &Outcome, executor_gone: bool) -> Result<Receipt> {
        let (turn_id, own_id) = (owned.turn_id.unwrap(), owned.own_id.unwrap());
        self.step(agent(name), Step::Lose { turn_id, own_id, executor_gone, held_by: None, awake_ms: None })
    }

    /// What a recovery found.
    pub(super) fn recover(&mut self, name: &str, owned: &Outcome, found: Found) -> Result<Receipt> {
        let (turn_id, own_id) = (owned.turn_id.unwrap(), owned.own_id.unwrap());
        self.step(
            agent(name),
            Step::Recover { turn_id, own_id, found, wake: None, held_by: None, awake_ms: None },
        )
    }

    /// A person's command about a Turn.
    pub(super) fn turn_cmd(&mut self, command: TurnCommand) -> Result<Receipt> {
        self.user(Command::Turn(command))
    }

    /// A person's wish that a Turn end.
    pub(super) fn stop(&mut self, turn_id: TurnId) -> Result<Receipt> {
        self.turn_cmd(TurnCommand::Stop { turn_id, own_id: None, reason: None })
    }

    /// A gate on a Todo, opened by a person.
    pub(super) fn gate(&mut self, kind: GateKind, todo_id: &TodoId) -> GateId {
        self.gate_as(user(), kind, Blocks::Todos([todo_id.clone()].into())).unwrap()
    }

    /// A gate, opened by anybody.
    pub(super) fn gate_as(&mut self, actor: Actor, kind: GateKind, blocks: Blocks) -> Result<GateId> {
        let new = crate::kernel::NewGate {
            kind,
            question: text("which?"),
            options: Vec::new(),
            blocks,
            scope: None,
            standing_until: None,
        };
        let operation = self.operation(actor, Command::Gate(GateCommand::Open(Box::new(new))));
        Ok(self.submit(operation)?.outcome::<Outcome>()?.gate_id.unwrap())
    }

    /// An agent's command about an effect.
    pub(super) fn effect(&mut self, actor: Actor, command: EffectCommand) -> Result<Receipt> {
        let operation = self.operation(actor, Command::Effect(command));
        self.submit(operation)
    }

    /// An effect of the work of an owner.
    pub(super) fn intended(&mut self, name: &str, owned: &Outcome, key: &str) -> EffectId {
        let intent = Intent { own_id: owned.own_id, ..intent(&owned.todo_ids[0], key) };
        let receipt = self.effect(agent(name), EffectCommand::Intend(Box::new(intent))).unwrap();
        receipt.outcome::<Outcome>().unwrap().effect_id.unwrap()
    }

    /// An effect that its owner began to send.
    pub(super) fn sent(&mut self, name: &str, owned: &Outcome, key: &str) -> EffectId {
        let effect_id = self.intended(name, owned, key);
        self.effect(agent(name), EffectCommand::Dispatch { effect_id }).unwrap();
        effect_id
    }

    /// An effect's row.
    pub(super) fn effect_row(&self, effect_id: EffectId) -> Effect {
        let key = NounKey { kind: NounKind::Effect, id: *effect_id.as_bytes() };
        Effect::of(&self.ledger.rows().nouns[&key]).unwrap().clone()
    }

    /// Registers an agent with capabilities.
    pub(super) fn register(&mut self, name: &str, capabilities: &[&str]) {
        let capabilities = capabilities.iter().map(|key| text(key)).collect();
        self.user(Command::Agent(AgentCommand::Add { agent_id: text(name), capabilities })).unwrap();
    }

    /// Sets the limit of the Goal, or of an agent in it.
    pub(super) fn limit(&mut self, agent_id: Option<&str>, turns: Option<u32>) -> Result<Receipt> {
        let limit = turns.map(|turns| Limit::of_turns(turns, Duration::from_mins(24 * 60)));
        self.user(Command::Quota(QuotaCommand::Set { agent_id: agent_id.map(text), limit }))
    }

    /// Evidence of an actor.
    pub(super) fn evidence(
        &mut self,
        actor: Actor,
        todo_id: Option<&TodoId>,
        verdict: Option<EvidenceVerdict>,
    ) -> EvidenceId {
        let add = EvidenceCommand::Add {
            todo_id: todo_id.cloned(),
            criterion: None,
            kind: EvidenceKind::Note,
            pointer: text("notes.md"),
            digest: None,
            privacy: Privacy::Public,
            verdict,
        };
        let operation = self.operation(actor, Command::Evidence(add));
        self.submit(operation).unwrap().outcome::<Outcome>().unwrap().evidence_ids.remove(0)
    }

    /// A completion that waits for a person to accept it.
    pub(super) fn ask_acceptance(&mut self, name: &str, todo_id: &TodoId) -> Outcome {
        let mut owned = self.claim(name, todo_id).unwrap();
        self.candidate(name, &owned, ResultKind::ValidatedCompletion).unwrap();
        let held = self.verdict(name, &owned, VerdictOutcome::Unchecked).unwrap();
        owned.gate_id = held.gate_id;
        assert_eq!(self.turn_state(&owned), "held");
        owned
    }

    /// The state of a Turn, by name.
    pub(super) fn turn_state(&self, owned: &Outcome) -> &'static str {
        self.turn(owned.turn_id.unwrap()).state.as_str()
    }

    /// The kinds of the events from one place on.
    pub(super) fn kinds_after(&mut self, events: usize) -> Vec<String> {
        self.envelopes()[events..].iter().map(|envelope| envelope.body.kind().to_owned()).collect()
    }
}
