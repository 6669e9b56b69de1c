//! Owns the table of a Goal's moves, what closes it, and what its agents' registration allows.

use super::{
    play::{attached, code, refused},
    world::{World, text, user, validator},
};
use crate::{
    error::Result,
    kernel::{AgentCommand, ClaimCommand, Command, GoalChange, GoalCommand, NewGoal, TodoCommand},
    model::*,
};

fn new_goal() -> NewGoal {
    NewGoal::wanting(text("x"))
}

fn play(world: &mut World, verb: &str) -> Result<Receipt> {
    match verb {
        "start" => world.goal_cmd(GoalCommand::Start(Box::new(new_goal()))),
        "update" => {
            let change = GoalChange { objective: Some(text("y")), ..GoalChange::default() };
            world.goal_cmd(GoalCommand::Update(Box::new(change)))
        }
        "stop" => world.goal_cmd(GoalCommand::Stop),
        "resume" => world.goal_cmd(GoalCommand::Resume),
        "achieved" => world.close(CloseKind::Achieved, None),
        "abandoned" => world.close(CloseKind::Abandoned, Some("given up")),
        "unexplained" => world.close(CloseKind::Abandoned, None),
        "reopen" => world.goal_cmd(GoalCommand::Reopen),
        "agent add" => {
            world.user(Command::Agent(AgentCommand::Add { agent_id: text("c"), capabilities: [].into() }))
        }
        "todo add" => {
            let new = crate::kernel::NewTodo::titled(text("x"), TodoKind::Action);
            world.todo_cmd(TodoCommand::Add(Box::new(new)))
        }
        "agent todo add" => {
            let new = crate::kernel::NewTodo::titled(text("x"), TodoKind::Action);
            world.agent_todo("a", TodoCommand::Add(Box::new(new)))
        }
        "claim" => world.claim_as("a", attached(&text("g.1"))),
        "stranger claims" => world.claim_as("z", attached(&text("g.1"))),
        "limit" => world.limit(None, Some(3)),
        _ => panic!("{verb}"),
    }
}

/// One row a command: the state it leads to from active, stopped, closed, and no Goal, or its refusal.
#[rustfmt::skip]
const MOVES: [(&str, [&str; 4]); 14] = [
    ("start",           ["goal_exists", "goal_exists", "goal_exists", "active"]),
    ("update",          ["active",      "stopped",     "goal_closed", "not_found"]),
    ("stop",            ["stopped",     "stopped",     "goal_closed", "not_found"]),
    ("resume",          ["active",      "active",      "goal_closed", "not_found"]),
    ("achieved",        ["closed",      "closed",      "goal_closed", "not_found"]),
    ("abandoned",       ["closed",      "closed",      "goal_closed", "not_found"]),
    ("unexplained",     ["invalid_argument", "invalid_argument", "goal_closed", "not_found"]),
    ("reopen",          ["invalid_transition", "invalid_transition", "active", "not_found"]),
    ("agent add",       ["active",      "stopped",     "goal_closed", "not_found"]),
    ("todo add",        ["active",      "stopped",     "goal_closed", "not_found"]),
    ("agent todo add",  ["active",      "goal_stopped","goal_closed", "not_found"]),
    ("claim",           ["active",      "goal_stopped","goal_closed", "not_found"]),
    ("stranger claims", ["not_found",   "not_found",   "not_found",   "not_found"]),
    ("limit",           ["active",      "stopped",     "goal_closed", "not_found"]),
];

#[test]
fn every_state_of_a_goal_meets_every_command() {
    for (verb, expected) in MOVES {
        for (state, expected) in ["active", "stopped", "closed", "none"].into_iter().zip(expected) {
            let mut world = World::empty();
            if state != "none" {
                world.start(|_| {});
                world.todo("watch", |new| new.kind = TodoKind::Monitor);
            }
            match state {
                "stopped" => drop(play(&mut world, "stop").unwrap()),
                "closed" => drop(play(&mut world, "achieved").unwrap()),
                _ => {}
            }
            let answer = play(&mut world, verb);
            let found = match code(&answer) {
                "ok" => match world.ledger.rows().goals[&world.goal].state {
                    GoalState::Active => "active",
                    GoalState::Stopped => "stopped",
                    GoalState::Closed { .. } => "closed",
                },
                refused => refused,
            };
            assert_eq!(found, expected, "{verb} of {state}: {answer:?}");
        }
    }
}

#[test]
fn what_is_admitted_goes_on_while_stopped_and_what_lapsed_is_not_claimable() {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    play(&mut world, "stop").unwrap();
    let renew = ClaimCommand::Renew { todo_id: todo.clone(), own_id: owned.own_id };
    assert_eq!(code(&world.agent("a", Command::Claim(renew))), "ok");
    world.evidence(super::world::agent("a"), Some(&todo), None);
    world.pass(Duration::from_mins(50));
    assert_eq!(refused(world.claim("b", &todo)), "goal_stopped");
    world.done("a", &owned).unwrap();
    assert!(world.row(&todo).is_done());
}

#[test]
fn the_revision_moves_with_what_the_work_is_measured_by() {
    let mut world = World::new();
    let revision = |world: &World| world.ledger.rows().goals[&world.goal].revision;
    let first = revision(&world);
    let update = |world: &mut World, change: GoalChange| {
        world.goal_cmd(GoalCommand::Update(Box::new(change))).unwrap()
    };
    update(&mut world, GoalChange { non_goals: Some(vec![text("x")]), ..GoalChange::default() });
    update(&mut world, GoalChange { stop_conditions: Some(vec![text("x")]), ..GoalChange::default() });
    assert_eq!(revision(&world), first);
    for change in [
        GoalChange { objective: Some(text("y")), ..GoalChange::default() },
        GoalChange { acceptance: Some(vec![criterion("y")]), ..GoalChange::default() },
        GoalChange {
            boundary: Some(BoundaryChange { exclusive_workspace: Some(true), ..BoundaryChange::default() }),
            ..GoalChange::default()
        },
        GoalChange { validators: Some(vec![validator()]), ..GoalChange::default() },
    ] {
        let before = revision(&world);
        update(&mut world, change);
        assert_eq!(revision(&world), before + 1);
    }
    play(&mut world, "stop").unwrap();
    play(&mut world, "stop").unwrap();
    assert_eq!(revision(&world), first + 5);
    let nothing = GoalCommand::Update(Box::default());
    assert_eq!(code(&world.goal_cmd(nothing)), "invalid_argument");
}

fn criterion(what: &str) -> Criterion {
    Criterion { text: text(what), check: None, state: CriterionState::Open }
}

#[test]
fn an_achieved_close_names_what_is_in_its_way() {
    let mut world = World::empty();
    world.start(|goal| goal.acceptance = vec![criterion("fast"), criterion("small")]);
    for kind in [TodoKind::Advance, TodoKind::Blocker] {
        let todo = world.todo("open", |new| new.kind = kind);
        let refused = world.close(CloseKind::Achieved, None).unwrap_err();
        assert_eq!(
            (refused.code().as_str(), refused.details()["todo_id"].as_str()),
            ("invalid_transition", Some(&*todo.to_string()))
        );
        world
            .todo_cmd(TodoCommand::Cancel { todo_id: todo, reason: text("x"), superseded_by: None })
            .unwrap();
    }
    world.todo("watch", |new| new.kind = TodoKind::Monitor);
    world.todo("by hand", |new| new.kind = TodoKind::Action);
    let gate = world.gate_as(user(), GateKind::Decision, Blocks::Goal).unwrap();
    assert_eq!(code(&world.close(CloseKind::Achieved, None)), "gate_blocked");
    world.resolve(gate, Answer::Answer { text: text("on") }).unwrap();
    assert_eq!(code(&world.close(CloseKind::Achieved, None)), "not_ready");
    let show = |criterion, verdict| crate::kernel::EvidenceCommand::Add {
        todo_id: None,
        criterion: Some(criterion),
        kind: EvidenceKind::Check,
        pointer: text("bench"),
        digest: None,
        privacy: Privacy::Public,
        verdict,
    };
    for (number, verdict, expected) in [
        (0, None, "invalid_argument"),
        (3, None, "invalid_argument"),
        (1, Some(EvidenceVerdict::Unchecked), "ok"),
        (1, Some(EvidenceVerdict::Rejected), "ok"),
    ] {
        assert_eq!(code(&world.user(Command::Evidence(show(number, verdict)))), expected);
        assert_eq!(code(&world.close(CloseKind::Achieved, None)), "not_ready");
    }
    world.user(Command::Evidence(show(1, None))).unwrap();
    let waive = |n| GoalCommand::Close {
        kind: CloseKind::Achieved,
        reason: None,
        waive: vec![(n, text("by hand"))],
        waive_effects: vec![],
    };
    assert_eq!(code(&world.goal_cmd(waive(3))), "invalid_argument");
    world.goal_cmd(waive(2)).unwrap();
    let acceptance = &world.ledger.rows().goals[&world.goal].acceptance;
    assert!(matches!(acceptance[0].state, CriterionState::Shown { .. }));
    assert!(matches!(acceptance[1].state, CriterionState::Waived { .. }));
}

#[test]
fn a_criterion_keeps_what_shows_it_while_its_text_stays() {
    let mut world = World::empty();
    world.start(|goal| goal.acceptance = vec![criterion("fast"), criterion("small")]);
    world
        .goal_cmd(GoalCommand::Update(Box::new(GoalChange {
            waive: vec![(1, text("seen"))],
            ..GoalChange::default()
        })))
        .unwrap();
    let anew =
        GoalChange { acceptance: Some(vec![criterion("tidy"), criterion("fast")]), ..GoalChange::default() };
    world.goal_cmd(GoalCommand::Update(Box::new(anew))).unwrap();
    let acceptance = world.ledger.rows().goals[&world.goal].acceptance.clone();
    assert!(acceptance[0].state.is_open() && !acceptance[1].state.is_open());
    let waive = GoalChange { waive: vec![(3, text("x"))], ..GoalChange::default() };
    assert_eq!(code(&world.goal_cmd(GoalCommand::Update(Box::new(waive)))), "invalid_argument");
}

#[test]
fn registration_is_a_set_and_the_same_set_again_is_no_event() {
    let mut world = World::new();
    let events = world.envelopes().len();
    let add = |keys: &[&str]| {
        Command::Agent(AgentCommand::Add {
            agent_id: text("a"),
            capabilities: keys.iter().map(|key| text(key)).collect(),
        })
    };
    world.user(add(&[])).unwrap();
    assert_eq!(world.kinds_after(events), Vec::<String>::new());
    world.user(add(&["rust"])).unwrap();
    world.user(Command::Agent(AgentCommand::Retire { agent_id: text("a") })).unwrap();
    let todo = world.todo("it", |_| {});
    assert_eq!(refused(world.claim("a", &todo)), "not_found");
    assert_eq!(code(&world.user(Command::Agent(AgentCommand::Retire { agent_id: text("a") }))), "not_found");
    world.user(add(&["rust"])).unwrap();
    world.claim("a", &todo).unwrap();
    assert_eq!(world.kinds_after(events).len(), 5);
}
