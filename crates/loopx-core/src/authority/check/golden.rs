//! Owns the golden vectors: the digest of one operation of each domain and of each step.
//!
//! A digest tells a replay from another operation for ever, so a vector is never edited: a field that comes later
//! may only be optional, and absent it changes none of these.

use super::world::{agent, text, user};
use crate::{
    kernel::{
        AgentCommand, AttentionCommand, BatchItem, BatchRef, Change, ClaimCommand, Command, EffectCommand,
        EvidenceCommand, Found, GateCommand, Given, GoalCommand, HandoffCommand, Input, Intent, NewGate,
        NewGoal, NewTodo, PeerCommand, ProposalCommand, QuotaCommand, RewardCommand, SeenRow, Step,
        TodoCommand, Told, TurnCommand, claim::Claim,
    },
    model::*,
};

fn goal() -> GoalId {
    text("g")
}

fn todo(number: u32) -> TodoId {
    TodoId::new(goal(), number)
}

fn turn() -> TurnId {
    TurnId::from_bytes([7; 16])
}

fn own() -> OwnId {
    OwnId::from_bytes([9; 16])
}

fn at() -> Timestamp {
    Timestamp::from_ms(1_800_000_000_000)
}

/// Its own, for the one that other tests use may change.
fn validator() -> Validator {
    Validator {
        argv: vec!["/bin/true".into()],
        progress_exit: Some(3),
        timeout_ms: Duration::from_secs(60),
        env: Vec::new(),
    }
}

fn candidate() -> Candidate {
    Candidate {
        kind: ResultKind::ValidatedCompletion,
        digest: Digest::of(b"result"),
        requirement_revision: 3,
        at: at(),
        summary: Some(text("done")),
        classification: Some(text("fix")),
        next_action: Some(text("review it")),
        continuation: Continuation::ActiveGoal,
        evidence: vec![Pointer {
            kind: EvidenceKind::Commit,
            pointer: text("abc123"),
            digest: None,
            privacy: Privacy::Public,
        }],
        usage: Vec::new(),
        goes_on: true,
        tree: Some(Digest::of(b"tree")),
        outside: [text("elsewhere/x")].into(),
        shared: false,
    }
}

fn new_goal() -> NewGoal {
    NewGoal {
        objective: text("ship it"),
        acceptance: vec![Criterion {
            text: text("it runs"),
            check: Some(validator()),
            state: CriterionState::Open,
        }],
        non_goals: vec![text("rewrite it")],
        boundary: Boundary {
            write_scopes: vec![text("src")],
            needs_approval: [Key::Publish, Key::Path(text("docs"))].into(),
            exclusive_workspace: true,
        },
        stop_conditions: vec![text("a secret is found")],
        validators: vec![validator()],
        authority_sources: vec![text("docs/rules.md")],
        origin: Some(Origin { transport: text("chat"), channel: text("ops"), message: None }),
        workspace: Some(text("00112233445566778899")),
        unvalidated: Unvalidated::Trust,
    }
}

fn new_todo() -> NewTodo {
    let mut new = NewTodo::titled(text("first \u{4e2d}"), TodoKind::Advance);
    new.detail = Some(text("at length"));
    new.priority = Priority::P0;
    new.depends_on = [todo(3), todo(2)].into();
    new.wake = Some(Wake::TodoDone(todo(1)));
    new.requires.capabilities = [text("gpu")].into();
    new.excluded_agents = [text("b")].into();
    new.validators = vec![validator()];
    new
}

fn claim() -> Claim {
    Claim {
        todo_id: todo(1),
        replan: None,
        executor_of: Some((text("a"), text("a.cli"))),
        executor: Executor::Hosted,
        machine_id: Some(text("abc123")),
        ttl_ms: Some(Duration::from_mins(5)),
        workspace: Some(text("00112233445566778899")),
    }
}

fn gap() -> Claim {
    Claim::replanning(ReplanRef::of_goal(&todo(4)))
}

fn awaits() -> TodoCommand {
    let continuation = Continuation::Awaits { monitor: todo(2) };
    TodoCommand::Complete { todo_id: todo(4), continuation, waive: None }
}

fn replan() -> Claim {
    Claim::replanning(ReplanRef::of_todo(ReplanCause::GateDenied, todo(1), 3))
}

fn gate() -> NewGate {
    NewGate {
        kind: GateKind::Approval,
        question: text("may we?"),
        options: vec![text("yes"), text("no")],
        blocks: Blocks::Todos([todo(1)].into()),
        scope: Some(Key::Capability(text("gpu"))),
        standing_until: Some(at()),
    }
}

fn evidence() -> EvidenceCommand {
    EvidenceCommand::Add {
        todo_id: Some(todo(1)),
        criterion: Some(1),
        kind: EvidenceKind::Url,
        pointer: text("https://example.org/x"),
        digest: Some(Digest::of(b"x")),
        privacy: Privacy::Public,
        verdict: None,
    }
}

fn batch() -> Vec<BatchItem> {
    let change = Change { title: Some(text("second")), ..Change::default() };
    vec![
        BatchItem::Add { new: Box::new(new_todo()), after_items: [].into() },
        BatchItem::Add {
            new: Box::new(NewTodo::titled(text("x"), TodoKind::Action)),
            after_items: [0].into(),
        },
        BatchItem::Update { todo: BatchRef::Item(0), change: Box::new(change) },
        BatchItem::Link { todo: BatchRef::Item(1), depends_on: BatchRef::Todo(todo(2)) },
        BatchItem::Unlink { todo: BatchRef::Todo(todo(2)), depends_on: BatchRef::Todo(todo(1)) },
        BatchItem::Complete { todo: BatchRef::Todo(todo(3)) },
        BatchItem::Cancel { todo: BatchRef::Todo(todo(4)), reason: text("no") },
        BatchItem::Evidence(evidence()),
        BatchItem::Gate(Box::new(gate())),
    ]
}

fn reward() -> RewardCommand {
    RewardCommand::Add {
        todo_id: Some(todo(1)),
        turn_id: Some(turn()),
        route: Some(text("alone")),
        polarity: Polarity::Bad,
        reason: text("too much at once"),
        lesson: Some(text("one at a time")),
    }
}

fn seen() -> AttentionCommand {
    let gate = About::Gate(GateId::from_bytes([5; 16]));
    AttentionCommand::Seen {
        rows: vec![
            SeenRow { about: gate, version: Some(text("3")) },
            SeenRow { about: About::Todo(todo(1)), version: None },
        ],
    }
}

fn effect() -> EffectCommand {
    EffectCommand::Intend(Box::new(Intent {
        todo_id: todo(1),
        own_id: Some(own()),
        key: text("release-1.4"),
        digest: Digest::of(b"x"),
        what: text("publish it"),
        todos: [todo(2)].into(),
        keys: [text("registry")].into(),
    }))
}

fn readback() -> EffectCommand {
    EffectCommand::Reconcile {
        effect_id: EffectId::from_bytes([5; 16]),
        told: Told::Confirmed,
        evidence: vec![EvidenceId::from_bytes([6; 16])],
    }
}

fn proposal() -> ProposalCommand {
    let command =
        TodoCommand::Cancel { todo_id: todo(1), reason: text("done by 2"), superseded_by: Some(todo(2)) };
    let expected = Expected { todos: [(todo(1), 4)].into(), ..Expected::default() };
    let command = Box::new(Command::Todo(command));
    ProposalCommand::Add { kind: ProposalKind::Dream, command, expected, reason: text("it is done") }
}

fn confirmed() -> ProposalCommand {
    let ProposalCommand::Add { command, expected, .. } = proposal() else { panic!() };
    ProposalCommand::Confirm { proposal_id: ProposalId::from_bytes([6; 16]), command, expected }
}

fn returned() -> PeerCommand {
    PeerCommand::Return(Box::new(Given {
        todo_id: todo(2),
        own_id: Some(own()),
        turn_id: Some(turn()),
        evidence: vec![EvidenceId::from_bytes([6; 16])],
        summary: text("two of three hold"),
    }))
}

fn instead() -> PeerCommand {
    PeerCommand::Reject {
        return_id: ReturnId::from_bytes([5; 16]),
        todo_id: todo(1),
        own_id: Some(own()),
        reason: text("measured since"),
        superseded_by: Some(ReturnId::from_bytes([6; 16])),
    }
}

fn commands() -> Vec<(&'static str, Actor, Command)> {
    let limit = Limit::of_turns(9, Duration::from_mins(60));
    let registered =
        AgentCommand::Add { agent_id: text("a"), capabilities: [text("gpu"), text("net")].into() };
    vec![
        ("goal", user(), Command::Goal(GoalCommand::Start(Box::new(new_goal())))),
        ("agent", user(), Command::Agent(registered)),
        (
            "quota",
            user(),
            Command::Quota(QuotaCommand::Set { agent_id: Some(text("a")), limit: Some(limit) }),
        ),
        ("todo", user(), Command::Todo(TodoCommand::Add(Box::new(new_todo())))),
        ("claim", agent("a"), Command::Claim(ClaimCommand::Claim(Box::new(claim())))),
        ("replan", agent("a"), Command::Claim(ClaimCommand::Claim(Box::new(replan())))),
        ("gap", agent("a"), Command::Claim(ClaimCommand::Claim(Box::new(gap())))),
        ("awaits", user(), Command::Todo(awaits())),
        (
            "turn",
            agent("a"),
            Command::Turn(TurnCommand::Stop { turn_id: turn(), own_id: Some(own()), reason: None }),
        ),
        ("gate", user(), Command::Gate(GateCommand::Open(Box::new(gate())))),
        ("evidence", agent("a"), Command::Evidence(evidence())),
        ("reward", user(), Command::Reward(reward())),
        ("seen", user(), Command::Attention(seen())),
        ("effect", agent("a"), Command::Effect(effect())),
        ("readback", agent("a"), Command::Effect(readback())),
        ("proposal", agent("a"), Command::Proposal(proposal())),
        ("confirm", user(), Command::Proposal(confirmed())),
        ("returned", agent("b"), Command::Peer(returned())),
        ("instead", agent("a"), Command::Peer(instead())),
        (
            "handoff",
            agent("b"),
            Command::Handoff(HandoffCommand::Accept { todo_id: todo(1), revision: Digest::of(b"x") }),
        ),
        ("batch", user(), Command::Batch(batch())),
    ]
}

fn steps() -> Vec<(&'static str, Actor, Step)> {
    let attempt = Attempt {
        number: 1,
        host: text("command"),
        host_version: Some(text("1.2")),
        machine_id: Some(text("abc123")),
        boot_id: Some(text("boot")),
        pid_namespace: Some(text("4026531836")),
        containment: Some(text("token")),
        guarantee: None,
        dispatched_at: at(),
        deadline_at: Some(at()),
        tree: Some(Digest::of(b"tree")),
        end: None,
    };
    let verdict = Verdict {
        outcome: VerdictOutcome::Passed,
        validator: Some(text("true")),
        exit: Some(0),
        note: Some(text("all of them")),
        took_ms: Duration::from_ms(3),
        tree: Some(Digest::of(b"tree")),
        at: at(),
    };
    let (turn_id, own_id) = (turn(), own());
    let wake = Some(Wake::After(at()));
    let failure = Some(HostFailure::Crashed);
    let tree = Some(Digest::of(b"tree"));
    let steps = vec![
        (
            "dispatch",
            Step::Dispatch { turn_id, own_id, attempt: Box::new(attempt), wall_ms: Duration::from_mins(10) },
        ),
        (
            "candidate",
            Step::Candidate {
                turn_id,
                own_id: Some(own_id),
                candidate: Box::new(candidate()),
                wake,
                held_by: None,
                awake_ms: None,
            },
        ),
        (
            "verdict",
            Step::Verdict { turn_id, own_id, verdict: Box::new(verdict), moved: true, goes_on: false },
        ),
        (
            "end",
            Step::End {
                turn_id,
                own_id,
                failure,
                retry: true,
                note: Some(text("it fell")),
                held_by: None,
                awake_ms: None,
            },
        ),
        ("prove", Step::Prove { turn_id, executor_gone: true, tree }),
        ("lose", Step::Lose { turn_id, own_id, executor_gone: true, held_by: None, awake_ms: None }),
        (
            "recover",
            Step::Recover {
                turn_id,
                own_id,
                found: Found::Result(Box::new(candidate())),
                wake: None,
                held_by: None,
                awake_ms: None,
            },
        ),
    ];
    steps.into_iter().map(|(name, step)| (name, agent("a"), step)).collect()
}

fn operation<C>(actor: Actor, command: C) -> Operation<C> {
    Operation {
        operation_id: text("op-1"),
        actor,
        provenance: Provenance { door: Door::Cli, assurance: Assurance::Proven, contained: Some(turn()) },
        goal_id: goal(),
        command,
        expected: Expected {
            goal: Some(4),
            todos: [(todo(1), 2)].into(),
            gate: Some((GateId::from_bytes([3; 16]), 5)),
        },
    }
}

/// Golden vectors: written once, never edited.
const VECTORS: &[(&str, &str)] = &[
    ("goal", "ec9543347b8141650b1add27b3b9e753f5ae83b1f355d2dba8e70428e469579d"),
    ("agent", "54c14aceeed18f48299663d7503929504d6ab36be8d836bd5953c20d0476835a"),
    ("quota", "8ef4247200a52ed789540ce9a4b54cbc73da7dc6ca1effc99bbabae685a4f300"),
    ("todo", "83ef6c22e0c3fdd7e5fb9934c337b5385788c2b4e22a4010a690c5313f86b4bd"),
    ("claim", "2ae5768a72251b311f09e597222606092d21634c9c636c0fa72372e3f0a9c528"),
    ("replan", "61cd98e16abe8a2a15de4a089089f2b17ced20d33a05625c231c67d8c3278fd1"),
    ("gap", "77bf27047b03ce6c1b99cf8753ce488c9dd91b4e1042284a27cc662690e95996"),
    ("awaits", "d9531abf40eba763091282c613ab5836b46f5d37f9eaf20522409dd5587dbb31"),
    ("turn", "ab591a8bc9a2f50f0dfa12439e0097c61619635b6551d017ddd07cef18b90435"),
    ("gate", "da94779e8ec9228f7c0c188444318f8c8010a1fab444e5918cb7e18638c343a5"),
    ("evidence", "73a5219b6a310c9fc7ef2033c86d414da41ea711bb882c341b66ce14612a64f3"),
    ("reward", "e506c01b25baba8abb07825c9e1716aca50388c56e16c5ec70ec833cea226fce"),
    ("seen", "d25bf3ca89eb55569497cbc4b4c365f5904afcec9e95dae47247b3e8a5f81c85"),
    ("effect", "d2eab1c568b84178b443b2ba6f9e9ff18964cf09234abeb1f3aae3b7f51df163"),
    ("readback", "00bba695c0e0cca277fbad280ffd589e0bec6affdbf458ca4e4856cc5f6912cf"),
    ("proposal", "5ce2432abd68e2fad7fc4c2d8d7dbfa4f7de4f921e72d662a77c2970cceeb37d"),
    ("confirm", "7a9ca543b8aa6b773a1f6090ba509298540b1dcfff8ac12794f889a9540c945c"),
    ("returned", "7891536687acac2b2c5378025e3c9b98332a4094f19e75a42e3a6f821beb1006"),
    ("instead", "481dbb500e13e5786663c5545798a05fc30c032491ee37032f1fb52ff7e37cd9"),
    ("handoff", "7e60bf08b2c1f3034c2d32714f3c0e90d84b4f0d3b7802f6fe7fb31c88be9081"),
    ("batch", "020ca2a420938789d7c2ae06de99fd76cc2389298c5966969c2828a852c798dd"),
    ("dispatch", "ccc2e9567f0e81695e4f9d6c264d0de219ea5946d2dbb9b14dbf4b005a10c8fb"),
    ("candidate", "0983daeccb1f6fdb359759fb9f974a006d523b36ecf6ee423dcc85069a14bfc0"),
    ("verdict", "ae2f6f427d73de5372612a46aa7bce66dd628a83982f17b6928f92904cc9ac31"),
    ("end", "16fe1dc8851d4b48dee653d1b81efe61d512ca177140af04b734556a6a1663e3"),
    ("prove", "06533471efe710486b9853cd03a7cae750b530e48f6632a48e814ad0e92dbb2e"),
    ("lose", "4244192b57d698b14a2e1c98e438324096c4b4f790bbfbaa21b81ff6f7d4a310"),
    ("recover", "0d1b48791beefc4da8fb5238d91d85c2ef60b0db7efd38325372b8abd5fbc702"),
];

#[test]
fn fault_h06_the_digest_of_an_operation_of_each_domain_and_step_is_pinned() {
    let commands =
        commands().into_iter().map(|(name, actor, command)| (name, actor, Input::Command(command)));
    let steps = steps().into_iter().map(|(name, actor, step)| (name, actor, Input::Step(step)));
    let found: Vec<(&str, String)> = commands
        .chain(steps)
        .map(|(name, actor, input)| (name, operation(actor, input).digest().unwrap().to_string()))
        .collect();
    let pinned: Vec<(&str, String)> =
        VECTORS.iter().map(|(name, digest)| (*name, (*digest).to_owned())).collect();
    assert_eq!(found, pinned);
}

#[test]
fn a_digest_covers_who_what_and_what_was_expected_and_not_the_door() {
    let stop = || Command::Goal(GoalCommand::Stop);
    let first = operation(user(), stop());
    let digest = first.digest().unwrap();
    let mut door = first.clone();
    door.provenance = Provenance { door: Door::Mcp, assurance: Assurance::Stated, contained: None };
    door.operation_id = text("op-2");
    assert_eq!(door.digest().unwrap(), digest);
    assert_ne!(operation(agent("a"), stop()).digest().unwrap(), digest);
    assert_ne!(operation(user(), Command::Goal(GoalCommand::Resume)).digest().unwrap(), digest);
    let mut goal = first.clone();
    goal.goal_id = text("h");
    assert_ne!(goal.digest().unwrap(), digest);
    let mut expected = first;
    expected.expected.goal = None;
    assert_ne!(expected.digest().unwrap(), digest);
}
