//! Owns what is true of gates: the table of their moves, what they stop, what an approval covers.

use super::{
    play::{attached, code, refused, result, verdict},
    world::{World, agent, text, user, validator},
};
use crate::{
    error::Result,
    kernel::{Action, Command, GateCommand, NewGate, NewTodo, Outcome, Reason, TodoCommand},
    model::*,
};

const KINDS: [GateKind; 6] = [
    GateKind::Decision,
    GateKind::Direction,
    GateKind::Approval,
    GateKind::Credential,
    GateKind::Access,
    GateKind::Publication,
];
const STATES: [&str; 6] = ["open", "deferred", "approved", "denied", "answered", "withdrawn"];
const NO: &str = "invalid_transition";

fn answer(verb: &str, now: Timestamp) -> Answer {
    match verb {
        "approve" => Answer::Approve,
        "deny" => Answer::Deny { reason: None },
        "answer" => Answer::Answer { text: text("left") },
        _ => Answer::Defer { until: now.plus(Duration::from_mins(5)) },
    }
}

fn play(world: &mut World, gate_id: GateId, verb: &str) -> Result<Receipt> {
    let now = world.now();
    match verb {
        "withdraw" => world.user(Command::Gate(GateCommand::Withdraw { gate_id })),
        "reopen" => world.user(Command::Gate(GateCommand::Reopen { gate_id })),
        verb => world.resolve(gate_id, answer(verb, now)),
    }
}

/// One row an answer, for an approval kind and for a question, from each of [`STATES`].
#[rustfmt::skip]
const MOVES: [(&str, [&str; 6], [&str; 6]); 6] = [
    //           open         deferred     approved denied       answered withdrawn
    ("approve",  ["approved",  "approved",  NO,      NO,          NO,      NO], [NO,         NO,          NO, NO, NO, NO]),
    ("deny",     ["denied",    "denied",    NO,      NO,          NO,      NO], [NO,         NO,          NO, NO, NO, NO]),
    ("answer",   [NO,          NO,          NO,      NO,          NO,      NO], ["answered", "answered",  NO, NO, NO, NO]),
    ("defer",    ["deferred",  "deferred",  NO,      NO,          NO,      NO], ["deferred", "deferred",  NO, NO, NO, NO]),
    ("withdraw", ["withdrawn", "withdrawn", NO,      "withdrawn", NO,      NO], ["withdrawn","withdrawn", NO, NO, NO, NO]),
    ("reopen",   [NO,          NO,          NO,      "open",      NO,      NO], [NO,         NO,          NO, NO, NO, NO]),
];

#[test]
fn every_state_of_a_gate_meets_every_answer() {
    for kind in KINDS {
        let approves = !matches!(kind, GateKind::Decision | GateKind::Direction);
        for (verb, approval, question) in MOVES {
            for (place, state) in STATES.into_iter().enumerate() {
                let leads = match state {
                    "open" => None,
                    "approved" | "denied" if !approves => continue,
                    "answered" if approves => continue,
                    "deferred" => Some("defer"),
                    "approved" => Some("approve"),
                    "denied" => Some("deny"),
                    "answered" => Some("answer"),
                    _ => Some("withdraw"),
                };
                let mut world = World::new();
                let todo = world.todo("it", |_| {});
                let gate = world.gate(kind, &todo);
                if let Some(leads) = leads {
                    play(&mut world, gate, leads).unwrap();
                }
                let found = match play(&mut world, gate, verb) {
                    Ok(_) => world.ledger.rows().gates[&gate].state.as_str(),
                    Err(error) => error.code().as_str(),
                };
                let expected = if approves { approval[place] } else { question[place] };
                assert_eq!(found, expected, "{verb} of {kind:?} from {state}");
                let expected = match world.ledger.rows().gates[&gate].state.as_str() {
                    "open" | "deferred" => "gate_blocked",
                    // What was denied first has its plan changed.
                    "denied" => "not_claimable",
                    _ => "ok", // no other state blocks
                };
                assert_eq!(
                    code(&world.claim_as("a", attached(&todo))),
                    expected,
                    "{verb} of {kind:?} from {state}"
                );
            }
        }
    }
}

#[test]
fn an_unknown_gate_a_past_deferral_and_an_unlisted_answer_are_refused() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    assert_eq!(code(&world.resolve(GateId::from_bytes([1; 16]), Answer::Approve)), "not_found");
    let gate = world.gate(GateKind::Decision, &todo);
    let past = Answer::Defer { until: world.now() };
    assert_eq!(code(&world.resolve(gate, past)), "invalid_argument");
    let new = NewGate {
        kind: GateKind::Decision,
        question: text("which?"),
        options: vec![text("left"), text("right")],
        blocks: Blocks::Todos([todo].into()),
        scope: None,
        standing_until: None,
    };
    let opened = world.user(Command::Gate(GateCommand::Open(Box::new(new)))).unwrap();
    let gate = opened.outcome::<Outcome>().unwrap().gate_id.unwrap();
    assert_eq!(code(&world.resolve(gate, Answer::Answer { text: text("up") })), "invalid_argument");
    world.resolve(gate, Answer::Answer { text: text("left") }).unwrap();
}

#[test]
fn a_gate_on_the_whole_goal_is_a_persons_and_stops_every_claim() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    assert_eq!(refused(world.gate_as(agent("a"), GateKind::Decision, Blocks::Goal)), "user_only");
    let gate = world.gate_as(user(), GateKind::Decision, Blocks::Goal).unwrap();
    assert_eq!(refused(world.claim("a", &todo)), "gate_blocked");
    let next = world.next("a", None).unwrap();
    let Action::AskUser { asks } = next.action else { panic!() };
    assert_eq!(
        (next.rule, asks[0].command.as_str()),
        (5, format!("gate resolve {gate} --answer TEXT").as_str())
    );
    assert_eq!(code(&world.close(CloseKind::Achieved, None)), "invalid_transition");
    world.resolve(gate, Answer::Answer { text: text("on") }).unwrap();
    world.claim("a", &todo).unwrap();
}

#[test]
fn who_may_open_and_withdraw() {
    let mut world = World::new();
    let (owned, foreign) = (world.todo("owned", |_| {}), world.todo("foreign", |_| {}));
    world.claim("a", &owned).unwrap();
    let on = |todo: &TodoId| Blocks::Todos([todo.clone()].into());
    assert_eq!(refused(world.gate_as(agent("a"), GateKind::Decision, on(&foreign))), "actor_not_allowed");
    assert_eq!(refused(world.gate_as(agent("b"), GateKind::Decision, on(&owned))), "actor_not_allowed");
    let mine = world.gate_as(agent("a"), GateKind::Direction, on(&owned)).unwrap();
    let approval = world.gate_as(agent("a"), GateKind::Approval, on(&owned)).unwrap();
    let theirs = world.gate(GateKind::Decision, &owned);
    let withdraw = |gate_id| Command::Gate(GateCommand::Withdraw { gate_id });
    assert_eq!(code(&world.agent("b", withdraw(mine))), "actor_not_allowed");
    assert_eq!(code(&world.agent("a", withdraw(approval))), "actor_not_allowed");
    assert_eq!(code(&world.agent("a", withdraw(theirs))), "actor_not_allowed");
    assert_eq!(code(&world.agent("a", withdraw(mine))), "ok");
    let mut stated = world.operation(user(), withdraw(theirs));
    stated.provenance.assurance = Assurance::Stated;
    assert_eq!(code(&world.submit(stated)), "unauthenticated", "withdrawing lets go on like an answer");
    assert_eq!(code(&world.user(withdraw(theirs))), "ok");
}

fn needing(keys: &[&str]) -> World {
    let mut world = World::empty();
    world.start(|goal| {
        goal.boundary.needs_approval = keys.iter().map(|key| text(key)).collect();
        goal.validators = vec![validator()];
        goal.workspace = Some(text("0123456789abcdef"));
    });
    world.register("a", &["deploy"]);
    world
}

fn uses(key: &'static str) -> impl Fn(&mut NewTodo) {
    move |new| match text::<Key>(key) {
        Key::Capability(name) => new.requires.capabilities = [name].into(),
        Key::Path(path) => new.requires.write_scopes = [path].into(),
        Key::Effect(class) => new.requires.effects = [class].into(),
        Key::Publish => new.requires.publish = true,
    }
}

#[test]
fn a_missing_approval_opens_its_gate_once() {
    for key in ["capability:deploy", "path:src/x", "effect:mail", "publish"] {
        let mut world = needing(&["capability:deploy", "path:src", "effect:mail", "publish"]);
        let todo = world.todo("it", uses(key));
        let Action::AskUser { asks } = world.next("a", None).unwrap().action else { panic!("{key}") };
        assert_eq!(asks[0].command, format!("todo claim {todo} --as agent:a"));
        let receipt = world.claim_as("a", attached(&todo)).unwrap();
        assert_eq!(receipt.negative().map(crate::error::Code::as_str), Some("gate_opened"), "{key}");
        let gate = receipt.outcome::<Outcome>().unwrap().gate_id.unwrap();
        assert_eq!(world.ledger.rows().gates[&gate].scope, Some(text(key)));
        assert_eq!(refused(world.claim("a", &todo)), "gate_blocked", "{key}: once");
        assert_eq!(world.ledger.rows().gates.len(), 1);
        world.resolve(gate, Answer::Approve).unwrap();
        world.claim("a", &todo).unwrap();
        // It named this Todo, and covers no other.
        let other = world.todo("other", uses(key));
        assert_eq!(
            world.reason("b", &other).name(),
            if key == "path:src/x" { "peer" } else { "gate" },
            "{key}"
        );
    }
}

#[test]
fn a_capability_it_lacks_comes_before_the_approval_it_would_need() {
    let mut world = needing(&["capability:deploy"]);
    let todo = world.todo("it", uses("capability:deploy"));
    assert_eq!(refused(world.claim("b", &todo)), "not_claimable");
    assert!(world.ledger.rows().gates.is_empty());
    let Action::AskUser { asks } = world.next("b", None).unwrap().action else { panic!() };
    assert_eq!(asks[0].command, "agent add b --capability deploy --goal g");
}

#[test]
fn an_approval_covers_exactly_its_scope_and_a_standing_one_until_it_expires() {
    for (approved, needed, covers) in [
        ("path:src", "path:src/x", true),
        ("path:src/x", "path:src/x", true),
        ("path:src/x", "path:src", false),
        ("path:srcs", "path:src", false),
        ("effect:mail", "effect:mail", true),
        ("effect:mail", "effect:call", false),
        ("publish", "publish", true),
    ] {
        let mut world = needing(&["path:.", "effect:mail", "effect:call", "publish"]);
        let (first, todo) = (world.todo("first", |_| {}), world.todo("it", uses(needed)));
        let until = world.now().plus(Duration::from_mins(60));
        let new = NewGate {
            kind: GateKind::Approval,
            question: text("may it?"),
            options: Vec::new(),
            blocks: Blocks::Todos([first, todo.clone()].into()),
            scope: Some(text(approved)),
            standing_until: Some(until),
        };
        let opened = world.user(Command::Gate(GateCommand::Open(Box::new(new)))).unwrap();
        world.resolve(opened.outcome::<Outcome>().unwrap().gate_id.unwrap(), Answer::Approve).unwrap();
        let later = world.todo("later", uses(needed));
        for id in [&todo, &later] {
            assert_eq!(world.reason("a", id) == Reason::Claimable, covers, "{approved} for {needed}");
        }
        world.pass(Duration::from_mins(60));
        for id in [&todo, &later] {
            assert_ne!(world.reason("a", id), Reason::Claimable, "{approved} has expired");
        }
    }
}

#[test]
fn a_denial_stops_what_it_holds_in_the_same_commit() {
    for (on, expected) in [("todo", "stopped"), ("goal", "stopped"), ("another", "held")] {
        let mut world = World::new();
        let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
        let owned = world.claim("a", &todo).unwrap();
        let blocks = match on {
            "todo" => Blocks::Todos([todo.clone()].into()),
            "goal" => Blocks::Goal,
            _ => Blocks::Todos([other.clone()].into()),
        };
        let gate = world.gate_as(user(), GateKind::Approval, blocks).unwrap();
        if on == "another" {
            world.hold(&todo).unwrap();
        }
        world.done("a", &owned).unwrap();
        assert_eq!(world.turn_state(&owned), "held");
        world.resolve(gate, Answer::Deny { reason: Some(text("no")) }).unwrap();
        assert_eq!(world.turn_state(&owned), expected, "{on}");
        assert!(world.turn(owned.turn_id.unwrap()).candidate.is_some());
    }
}

#[test]
fn a_denied_acceptance_is_repaired_and_stops_nothing_further() {
    let mut world = World::empty();
    world.start(|_| {});
    let todo = world.todo("it", |_| {});
    let owned = world.ask_acceptance("a", &todo);
    world.resolve(owned.gate_id.unwrap(), Answer::Deny { reason: Some(text("too slow")) }).unwrap();
    let Action::Repair { failure: Some(failure), .. } = world.next("b", None).unwrap().action else {
        panic!()
    };
    assert_eq!(failure.as_str(), "too slow");
    assert!(!world.ledger.rows().gates[&owned.gate_id.unwrap()].is_blocking());
    world.claim("b", &todo).unwrap();
}

#[test]
fn a_result_that_is_denied_while_it_comes_again_ends_as_denied() {
    let mut world = World::empty();
    world.start(|_| {});
    let todo = world.todo("it", |_| {});
    let owned = world.ask_acceptance("a", &todo);
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    assert_eq!(world.turn_state(&owned), "candidate");
    world.resolve(owned.gate_id.unwrap(), Answer::Deny { reason: Some(text("too slow")) }).unwrap();
    world.judged("a", &owned, verdict(VerdictOutcome::Unchecked), false).unwrap();
    assert_eq!(world.turn_state(&owned), "stopped");
    assert!(!world.row(&todo).is_done());
    let Action::Repair { failure: Some(failure), .. } = world.next("b", None).unwrap().action else {
        panic!()
    };
    assert_eq!(failure.as_str(), "too slow");
}

#[test]
fn an_approved_result_settles_and_another_result_is_asked_about_anew() {
    let mut world = World::empty();
    world.start(|_| {});
    let todo = world.todo("it", |_| {});
    let owned = world.ask_acceptance("a", &todo);
    // The same result again keeps its gate; another takes it back.
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    let same = world.verdict("a", &owned, VerdictOutcome::Unchecked).unwrap();
    assert_eq!(same.gate_id, owned.gate_id);
    world.resolve(owned.gate_id.unwrap(), Answer::Approve).unwrap();
    let better = Candidate { digest: Digest::of(b"another"), ..result(ResultKind::ValidatedCompletion) };
    world.result_of("a", &owned, better).unwrap();
    let asked: Outcome =
        world.judged("a", &owned, verdict(VerdictOutcome::Unchecked), false).unwrap().outcome().unwrap();
    assert_ne!(asked.gate_id, owned.gate_id, "an approval covers what it was asked for");
    assert_eq!(world.turn_state(&owned), "held");
    world.result_of("a", &owned, result(ResultKind::ValidatedProgress)).unwrap();
    assert_eq!(world.ledger.rows().gates[&asked.gate_id.unwrap()].state.as_str(), "withdrawn");
    world.verdict("a", &owned, VerdictOutcome::Unchecked).unwrap();
    assert_eq!(world.turn_state(&owned), "settled");
}

#[test]
fn a_question_about_a_result_goes_with_it() {
    for ends in ["stop", "cancel", "defer", "block", "force", "retire", "close", "abandon"] {
        let mut world = World::empty();
        world.start(|_| {});
        let todo = world.todo("it", |_| {});
        let owned = world.ask_acceptance("a", &todo);
        let (todo_id, turn_id) = (todo.clone(), owned.turn_id.unwrap());
        let later = Wake::After(Timestamp::from_ms(1_900_000_000_000));
        match ends {
            "stop" => world.stop(turn_id),
            "cancel" => {
                world.todo_cmd(TodoCommand::Cancel { todo_id, reason: text("x"), superseded_by: None })
            }
            "defer" => world.todo_cmd(TodoCommand::Defer { todo_id, own_id: None, wake: later }),
            "block" => world.todo_cmd(TodoCommand::Block { todo_id, own_id: None, reason: text("x") }),
            "force" => world.user(Command::Claim(crate::kernel::ClaimCommand::ForceRelease {
                todo_id,
                reason: text("x"),
            })),
            "retire" => {
                world.user(Command::Agent(crate::kernel::AgentCommand::Retire { agent_id: text("a") }))
            }
            "close" => world.close(CloseKind::Abandoned, Some("x")),
            _ => world.turn_cmd(crate::kernel::TurnCommand::Abandon { turn_id, reason: text("x") }),
        }
        .unwrap();
        assert_eq!(world.ledger.rows().gates[&owned.gate_id.unwrap()].state.as_str(), "withdrawn", "{ends}");
        assert_eq!(world.turn_state(&owned), "stopped", "{ends}");
    }
}

#[test]
fn a_gate_on_what_has_ended_blocks_nothing() {
    let mut world = World::new();
    let (action, todo) = (world.todo("by hand", |new| new.kind = TodoKind::Action), world.todo("it", |_| {}));
    let gate = world.gate(GateKind::Approval, &action);
    let owned = world.claim("a", &todo).unwrap();
    world.done("a", &owned).unwrap();
    assert_eq!(code(&world.close(CloseKind::Achieved, None)), "gate_blocked");
    let done = TodoCommand::Complete { todo_id: action, continuation: Continuation::ActiveGoal, waive: None };
    world.todo_cmd(done).unwrap();
    assert!(world.ledger.rows().gates[&gate].is_blocking());
    world.close(CloseKind::Achieved, None).unwrap();
}
