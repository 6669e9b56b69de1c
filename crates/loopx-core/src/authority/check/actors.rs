//! Owns the table of who may use which verb, written down a second time, so that a new verb must be thought of twice.

use std::collections::BTreeMap;

use super::{
    peers::given,
    play::{attached, intent, result, verdict},
    world::{World, agent, text, user},
};
use crate::{
    kernel::{
        AgentCommand, AttentionCommand, BatchItem, Change, ClaimCommand, Command, EffectCommand,
        EvidenceCommand, GateCommand, GoalCommand, HandoffCommand, Input, NewGate, NewGoal, NewTodo,
        PeerCommand, ProposalCommand, QuotaCommand, RewardCommand, SeenRow, Step, TodoCommand, Told,
        TurnCommand, Verb, authorize, claim::Claim, turn::Found,
    },
    model::*,
};

/// What each verb answers, in this order: a stated person, a proven person, an agent, an agent contained in its own
/// Turn, a host, LoopX itself. `.` is yes, `P` needs proof, `U` is a person's only, `A` is not this actor's.
const TABLE: [(Verb, &str); 64] = [
    (Verb::GoalStart, "..UUAA"),
    (Verb::GoalUpdate, "P.UUAA"),
    (Verb::GoalStop, "..UUAA"),
    (Verb::GoalResume, "P.UUAA"),
    (Verb::GoalClose, "P.UUAA"),
    (Verb::GoalReopen, "P.UUAA"),
    (Verb::GoalIncarnate, "AAAAA."),
    (Verb::AgentAdd, "..UUAA"),
    (Verb::AgentRetire, "P.UUAA"),
    (Verb::QuotaSet, "P.UUAA"),
    (Verb::QuotaUsage, "P..AAA"),
    (Verb::QuotaVoid, "P.UUAA"),
    (Verb::TodoAdd, "...AAA"),
    (Verb::TodoUpdate, "...AAA"),
    (Verb::TodoLink, "...AAA"),
    (Verb::TodoUnlink, "...AAA"),
    (Verb::TodoDefer, "...AAA"),
    (Verb::TodoBlock, "...AAA"),
    (Verb::TodoUnblock, "..UUAA"),
    (Verb::TodoHold, "..UUAA"),
    (Verb::TodoUnhold, "..UUAA"),
    (Verb::TodoResolve, "...AAA"),
    (Verb::TodoCancel, "...AAA"),
    (Verb::TodoReopen, "..UUAA"),
    (Verb::TodoComplete, "..UUAA"),
    (Verb::TodoWaive, "P.UUAA"),
    (Verb::TodoClaim, "AA.AAA"),
    (Verb::TodoRenew, "AA.AAA"),
    (Verb::TodoRelease, "AA.AAA"),
    (Verb::TodoForceRelease, "P.UUAA"),
    (Verb::TodoTransfer, "...AAA"),
    (Verb::TurnRun, "...AAA"),
    (Verb::TurnStop, "...AAA"),
    (Verb::TurnAccept, "P.UUAA"),
    (Verb::TurnAbandon, "P.UUAA"),
    (Verb::TurnDispatch, "AA.AAA"),
    (Verb::TurnCandidate, "AA.AAA"),
    (Verb::TurnVerdict, "AA.AAA"),
    (Verb::TurnEnd, "AA.AAA"),
    (Verb::TurnProve, "AA.AA."),
    (Verb::TurnLose, "AA.AAA"),
    (Verb::TurnRecover, "AA.AA."),
    (Verb::GateOpen, "....AA"),
    (Verb::GateResolve, "P.UUAA"),
    (Verb::GateWithdraw, "P..AAA"),
    (Verb::EvidenceAdd, "....AA"),
    (Verb::EffectIntend, "...AAA"),
    (Verb::EffectConfirm, "...AAA"),
    (Verb::EffectReconcile, "...AAA"),
    (Verb::EffectStop, "...AAA"),
    (Verb::EffectWriteOff, "P.UUAA"),
    (Verb::RewardAdd, "..UUAA"),
    (Verb::ProposalAdd, "AA..AA"),
    (Verb::ProposalConfirm, "P.UUAA"),
    (Verb::ProposalLapse, "P.UUAA"),
    (Verb::ProposalReject, "P.UUAA"),
    (Verb::ProposalDefer, "P.UUAA"),
    (Verb::ProposalWithdraw, "AA.AAA"),
    (Verb::AttentionSeen, "..UUAA"),
    (Verb::PeerReturn, "AA.AAA"),
    (Verb::PeerAdopt, "...AAA"),
    (Verb::PeerReject, "...AAA"),
    (Verb::HandoffAccept, "AA.AAA"),
    (Verb::Batch, "..UUAA"),
];

fn provenance(assurance: Assurance, contained: bool) -> Provenance {
    let contained = contained.then(|| TurnId::from_bytes([7; 16]));
    Provenance { door: Door::Cli, assurance, contained }
}

fn answer(verb: Verb, actor: &Actor, from: &Provenance, strict: bool) -> char {
    match authorize(verb, actor, from, strict).map_err(|error| error.code().as_str()) {
        Ok(()) => '.',
        Err("unauthenticated") => 'P',
        Err("user_only") => 'U',
        Err("actor_not_allowed") => 'A',
        Err(other) => panic!("{verb:?}: {other}"),
    }
}

#[test]
fn every_verb_meets_every_actor_as_the_table_says() {
    let listed: BTreeMap<Verb, &str> = TABLE.into_iter().collect();
    let (stated, proven) = (provenance(Assurance::Stated, false), provenance(Assurance::Proven, false));
    let contained = provenance(Assurance::Stated, true);
    let (host, system): (Actor, Actor) = (text("host:mac"), Actor::System);
    for verb in Verb::ALL.iter().copied() {
        let expected = *listed.get(&verb).unwrap_or_else(|| panic!("{verb:?} is not in the table of actors"));
        let found: String = [
            answer(verb, &user(), &stated, false),
            answer(verb, &user(), &proven, false),
            answer(verb, &agent("a"), &stated, false),
            answer(verb, &agent("a"), &contained, false),
            answer(verb, &host, &proven, false),
            answer(verb, &system, &proven, false),
        ]
        .into_iter()
        .collect();
        assert_eq!(found, expected, "{verb:?}");
        // An agent's or LoopX's word is not proof, and needs none.
        assert_eq!(answer(verb, &agent("a"), &proven, true), expected.chars().nth(2).unwrap(), "{verb:?}");
    }
    assert_eq!(listed.len(), Verb::ALL.len());
}

#[test]
fn a_strict_profile_wants_proof_for_every_verb_of_a_person() {
    for (verb, row) in TABLE {
        let stated = if row.starts_with('A') { 'A' } else { 'P' };
        let proven = if row.starts_with('A') { 'A' } else { '.' };
        assert_eq!(answer(verb, &user(), &provenance(Assurance::Stated, false), true), stated, "{verb:?}");
        assert_eq!(answer(verb, &user(), &provenance(Assurance::Proven, false), true), proven, "{verb:?}");
    }
}

#[test]
fn a_contained_person_or_system_is_no_more_than_the_agent_around_it() {
    for (verb, row) in TABLE {
        let a_persons = !row.starts_with('A');
        let expected = if a_persons { 'U' } else { 'A' };
        for actor in [user(), Actor::System, text("host:mac")] {
            let found = answer(verb, &actor, &provenance(Assurance::Proven, true), false);
            assert_eq!(found, expected, "{verb:?} by a contained {actor}");
        }
    }
}

#[test]
fn a_contained_agent_is_the_agent_of_that_turn_and_touches_its_todo_alone() {
    let mut world = World::new();
    let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
    let owned = world.running("a", &todo);
    let inside = Provenance { door: Door::Cli, assurance: Assurance::Stated, contained: owned.turn_id };
    let gate = |todo: &TodoId| {
        let blocks = Blocks::Todos([todo.clone()].into());
        let (options, scope) = (Vec::new(), None);
        let new = NewGate {
            kind: GateKind::Decision,
            question: text("?"),
            options,
            blocks,
            scope,
            standing_until: None,
        };
        Command::Gate(GateCommand::Open(Box::new(new)))
    };
    let evidence = |todo: &TodoId| Command::Evidence(evidence(Some(todo)));
    let rows = [
        ("a", gate(&todo), "ok"),
        ("a", gate(&other), "actor_not_allowed"),
        ("a", evidence(&todo), "ok"),
        ("a", evidence(&other), "actor_not_allowed"),
        (
            "a",
            Command::Todo(TodoCommand::Add(Box::new(NewTodo::titled(text("more"), TodoKind::Advance)))),
            "actor_not_allowed",
        ),
        ("a", Command::Claim(ClaimCommand::Claim(Box::new(attached(&other)))), "actor_not_allowed"),
        ("b", evidence(&todo), "actor_not_allowed"),
    ];
    for (name, command, expected) in rows {
        let mut operation = world.operation(agent(name), command.clone());
        operation.provenance = inside;
        assert_eq!(super::play::code(&world.submit(operation)), expected, "{name}: {command:?}");
    }
}

fn evidence(todo_id: Option<&TodoId>) -> EvidenceCommand {
    EvidenceCommand::Add {
        todo_id: todo_id.cloned(),
        criterion: None,
        kind: EvidenceKind::Note,
        pointer: text("seen"),
        digest: None,
        privacy: Privacy::Public,
        verdict: None,
    }
}

fn proposal_commands() -> [(ProposalCommand, Verb); 6] {
    let proposal_id = ProposalId::from_bytes([4; 16]);
    let command = || Box::new(Command::Goal(GoalCommand::Stop));
    let expected = Expected::default;
    let until = Timestamp::from_ms(2_000_000_000_000);
    let add = ProposalCommand::Add {
        kind: ProposalKind::Change,
        command: command(),
        expected: expected(),
        reason: text("x"),
    };
    [
        (add, Verb::ProposalAdd),
        (
            ProposalCommand::Confirm { proposal_id, command: command(), expected: expected() },
            Verb::ProposalConfirm,
        ),
        (ProposalCommand::Lapse { proposal_id }, Verb::ProposalLapse),
        (ProposalCommand::Reject { proposal_id, reason: None }, Verb::ProposalReject),
        (ProposalCommand::Defer { proposal_id, until }, Verb::ProposalDefer),
        (ProposalCommand::Withdraw { proposal_id }, Verb::ProposalWithdraw),
    ]
}

/// One of every command and step. A variant that is not here fails the count below.
fn everything() -> Vec<(Input, Verb)> {
    let (todo_id, turn_id, own_id): (TodoId, _, _) =
        (text("g.1"), TurnId::from_bytes([1; 16]), OwnId::from_bytes([2; 16]));
    let gate_id = GateId::from_bytes([3; 16]);
    let agents = [
        (AgentCommand::Add { agent_id: text("a"), capabilities: [].into() }, Verb::AgentAdd),
        (AgentCommand::Retire { agent_id: text("a") }, Verb::AgentRetire),
    ];
    let turns = [
        (TurnCommand::Stop { turn_id, own_id: None, reason: None }, Verb::TurnStop),
        (TurnCommand::Accept { turn_id }, Verb::TurnAccept),
        (TurnCommand::Abandon { turn_id, reason: text("x") }, Verb::TurnAbandon),
    ];
    let mut all: Vec<(Input, Verb)> = todo_commands(gate_id).into();
    all.extend(goal_commands().map(|(command, verb)| (Input::Command(Command::Goal(command)), verb)));
    all.extend(agents.map(|(command, verb)| (Input::Command(Command::Agent(command)), verb)));
    all.extend(
        claim_commands(&todo_id).map(|(command, verb)| (Input::Command(Command::Claim(command)), verb)),
    );
    all.extend(turns.map(|(command, verb)| (Input::Command(Command::Turn(command)), verb)));
    all.extend(steps(turn_id, own_id).map(|(step, verb)| (Input::Step(step), verb)));
    let new = NewGate {
        kind: GateKind::Decision,
        question: text("?"),
        options: Vec::new(),
        blocks: Blocks::Goal,
        scope: None,
        standing_until: None,
    };
    let gates = [
        (GateCommand::Open(Box::new(new)), Verb::GateOpen),
        (GateCommand::Resolve { gate_id, answer: Answer::Approve }, Verb::GateResolve),
        (GateCommand::Withdraw { gate_id }, Verb::GateWithdraw),
        (GateCommand::Reopen { gate_id }, Verb::GateResolve),
    ];
    all.extend(gates.map(|(command, verb)| (Input::Command(Command::Gate(command)), verb)));
    let item = BatchItem::Evidence(evidence(None));
    all.push((
        Input::Command(Command::Quota(QuotaCommand::Set { agent_id: None, limit: None })),
        Verb::QuotaSet,
    ));
    all.push((Input::Command(Command::Evidence(evidence(None))), Verb::EvidenceAdd));
    let usage =
        Usage { seq: 0, tokens_in: None, tokens_out: None, cost_micros: None, currency: None, wall_ms: None };
    let turn_id = TurnId::from_bytes([7; 16]);
    for (command, verb) in [
        (QuotaCommand::Cap { agent_id: None, todo_id: None, ceiling: Caps::default() }, Verb::QuotaSet),
        (
            QuotaCommand::Usage {
                turn_id,
                own_id: None,
                attempt: None,
                meter: Meter::Host,
                usage: Box::new(usage),
            },
            Verb::QuotaUsage,
        ),
        (QuotaCommand::Void { turn_id, reason: text("x") }, Verb::QuotaVoid),
    ] {
        all.push((Input::Command(Command::Quota(command)), verb));
    }
    let reward = RewardCommand::Add {
        todo_id: None,
        turn_id: None,
        route: Some(text("x")),
        polarity: Polarity::Good,
        reason: text("x"),
        lesson: None,
    };
    all.extend(
        effect_commands(&todo_id).map(|(command, verb)| (Input::Command(Command::Effect(command)), verb)),
    );
    all.push((Input::Command(Command::Reward(reward)), Verb::RewardAdd));
    all.extend(proposal_commands().map(|(command, verb)| (Input::Command(Command::Proposal(command)), verb)));
    let rows = vec![SeenRow { about: About::Goal(text("g")), version: None }];
    all.push((Input::Command(Command::Attention(AttentionCommand::Seen { rows })), Verb::AttentionSeen));
    all.extend(peer_commands(&todo_id).map(|(command, verb)| (Input::Command(Command::Peer(command)), verb)));
    let accept = HandoffCommand::Accept { todo_id, revision: Digest::ZERO };
    all.push((Input::Command(Command::Handoff(accept)), Verb::HandoffAccept));
    all.push((Input::Command(Command::Batch(vec![item])), Verb::Batch));
    all
}

fn peer_commands(todo_id: &TodoId) -> [(PeerCommand, Verb); 3] {
    let (return_id, id) = (ReturnId::from_bytes([7; 16]), || todo_id.clone());
    let reason = text("x");
    [
        (PeerCommand::Return(Box::new(given(todo_id, []))), Verb::PeerReturn),
        (PeerCommand::Adopt { return_id, todo_id: id(), own_id: None, reason: None }, Verb::PeerAdopt),
        (
            PeerCommand::Reject { return_id, todo_id: id(), own_id: None, reason, superseded_by: None },
            Verb::PeerReject,
        ),
    ]
}

fn claim_commands(todo_id: &TodoId) -> [(ClaimCommand, Verb); 7] {
    let id = || todo_id.clone();
    let hosted = Claim { executor: Executor::Hosted, ..attached(todo_id) };
    let managed = Claim { executor: Executor::Managed, ..attached(todo_id) };
    [
        (ClaimCommand::Claim(Box::new(attached(todo_id))), Verb::TodoClaim),
        (ClaimCommand::Claim(Box::new(hosted)), Verb::TurnRun),
        (ClaimCommand::Claim(Box::new(managed)), Verb::TurnRun),
        (ClaimCommand::Renew { todo_id: id(), own_id: None }, Verb::TodoRenew),
        (ClaimCommand::Release { todo_id: id(), own_id: None }, Verb::TodoRelease),
        (ClaimCommand::ForceRelease { todo_id: id(), reason: text("x") }, Verb::TodoForceRelease),
        (ClaimCommand::Transfer { todo_id: id(), own_id: None, to: text("b") }, Verb::TodoTransfer),
    ]
}

fn effect_commands(todo_id: &TodoId) -> [(EffectCommand, Verb); 6] {
    let effect_id = EffectId::from_bytes([7; 16]);
    let evidence = Vec::new;
    [
        (EffectCommand::Intend(Box::new(intent(todo_id, "k"))), Verb::EffectIntend),
        (EffectCommand::Dispatch { effect_id }, Verb::EffectConfirm),
        (EffectCommand::Confirm { effect_id, failed: false, evidence: evidence() }, Verb::EffectConfirm),
        (
            EffectCommand::Reconcile { effect_id, told: Told::Unknown, evidence: evidence() },
            Verb::EffectReconcile,
        ),
        (EffectCommand::Stop { effect_id, confirmed: false, evidence: evidence() }, Verb::EffectStop),
        (
            EffectCommand::WriteOff { effect_id, reason: text("x"), evidence: evidence() },
            Verb::EffectWriteOff,
        ),
    ]
}

fn goal_commands() -> [(GoalCommand, Verb); 7] {
    let new_goal = NewGoal::wanting(text("x"));
    [
        (GoalCommand::Start(Box::new(new_goal)), Verb::GoalStart),
        (GoalCommand::Update(Box::default()), Verb::GoalUpdate),
        (GoalCommand::Stop, Verb::GoalStop),
        (GoalCommand::Resume, Verb::GoalResume),
        (
            GoalCommand::Close {
                kind: CloseKind::Achieved,
                reason: None,
                waive: Vec::new(),
                waive_effects: Vec::new(),
            },
            Verb::GoalClose,
        ),
        (GoalCommand::Reopen, Verb::GoalReopen),
        (GoalCommand::Incarnate, Verb::GoalIncarnate),
    ]
}

fn todo_commands(gate_id: GateId) -> [(Input, Verb); 14] {
    let todo_id: TodoId = text("g.1");
    let todo = |command: TodoCommand, verb| (Input::Command(Command::Todo(command)), verb);
    let id = || todo_id.clone();
    [
        todo(TodoCommand::Add(Box::new(NewTodo::titled(text("x"), TodoKind::Advance))), Verb::TodoAdd),
        todo(TodoCommand::Update { todo_id: id(), change: Box::new(Change::default()) }, Verb::TodoUpdate),
        todo(TodoCommand::Link { todo_id: id(), depends_on: text("g.2") }, Verb::TodoLink),
        todo(TodoCommand::Unlink { todo_id: id(), depends_on: text("g.2") }, Verb::TodoUnlink),
        todo(TodoCommand::Defer { todo_id: id(), own_id: None, wake: Wake::Gate(gate_id) }, Verb::TodoDefer),
        todo(TodoCommand::Block { todo_id: id(), own_id: None, reason: text("x") }, Verb::TodoBlock),
        todo(TodoCommand::Unblock { todo_id: id() }, Verb::TodoUnblock),
        todo(TodoCommand::Hold { todo_id: id() }, Verb::TodoHold),
        todo(TodoCommand::Unhold { todo_id: id() }, Verb::TodoUnhold),
        todo(TodoCommand::Resolve { todo_id: id(), evidence: Vec::new() }, Verb::TodoResolve),
        todo(TodoCommand::Cancel { todo_id: id(), reason: text("x"), superseded_by: None }, Verb::TodoCancel),
        todo(TodoCommand::Reopen { todo_id: id() }, Verb::TodoReopen),
        todo(
            TodoCommand::Complete { todo_id: id(), continuation: Continuation::ActiveGoal, waive: None },
            Verb::TodoComplete,
        ),
        todo(
            TodoCommand::Complete {
                todo_id: id(),
                continuation: Continuation::ActiveGoal,
                waive: Some(text("x")),
            },
            Verb::TodoWaive,
        ),
    ]
}

fn steps(turn_id: TurnId, own_id: OwnId) -> [(Step, Verb); 7] {
    let candidate = Box::new(result(ResultKind::ValidatedProgress));
    let attempt = Attempt {
        number: 1,
        host: text("sh"),
        host_version: None,
        machine_id: None,
        boot_id: None,
        pid_namespace: None,
        containment: None,
        guarantee: None,
        dispatched_at: Timestamp::default(),
        deadline_at: None,
        tree: None,
        end: None,
    };
    let verdict = Box::new(verdict(VerdictOutcome::Passed));
    [
        (
            Step::Dispatch { turn_id, own_id, attempt: Box::new(attempt), wall_ms: Duration::from_mins(1) },
            Verb::TurnDispatch,
        ),
        (
            Step::Candidate { turn_id, own_id: None, candidate, wake: None, held_by: None, awake_ms: None },
            Verb::TurnCandidate,
        ),
        (Step::Verdict { turn_id, own_id, verdict, moved: false, goes_on: false }, Verb::TurnVerdict),
        (
            Step::End {
                turn_id,
                own_id,
                failure: None,
                retry: false,
                note: None,
                held_by: None,
                awake_ms: None,
            },
            Verb::TurnEnd,
        ),
        (Step::Prove { turn_id, executor_gone: true, tree: None }, Verb::TurnProve),
        (Step::Lose { turn_id, own_id, executor_gone: true, held_by: None, awake_ms: None }, Verb::TurnLose),
        (
            Step::Recover { turn_id, own_id, found: Found::Again, wake: None, held_by: None, awake_ms: None },
            Verb::TurnRecover,
        ),
    ]
}

#[test]
fn every_command_and_step_has_its_verb() {
    let all = everything();
    for (input, verb) in &all {
        assert_eq!(input.verb(), *verb, "{input:?}");
    }
    let used: std::collections::BTreeSet<_> = all.iter().map(|(_, verb)| *verb).collect();
    for verb in Verb::ALL {
        assert!(used.contains(verb), "{verb:?} has no command");
    }
}
