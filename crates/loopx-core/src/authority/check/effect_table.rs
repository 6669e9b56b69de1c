//! Owns the table of an effect's moves: every state against everything that can be told of one.

use super::{
    play::code,
    world::{World, agent, text, user},
};
use crate::{
    error::Result,
    kernel::{EffectCommand, Told},
    model::*,
};

const STATES: [&str; 8] =
    ["intended", "dispatched", "unknown", "unknown, tried", "confirmed", "absent", "failed", "written_off"];

fn told(world: &mut World, effect_id: EffectId, told: Told) -> Result<Receipt> {
    let evidence = vec![world.evidence(user(), None, None)];
    world.effect(agent("a"), EffectCommand::Reconcile { effect_id, told, evidence })
}

/// An effect of the work of the agent `a` in a state.
fn stage(state: &str) -> (World, EffectId) {
    let mut world = World::new();
    let todo = world.todo("it", |_| {});
    let owned = world.claim("a", &todo).unwrap();
    let id = world.intended("a", &owned, "k");
    if state == "intended" {
        return (world, id);
    }
    world.effect(agent("a"), EffectCommand::Dispatch { effect_id: id }).unwrap();
    match state {
        "unknown" => {
            told(&mut world, id, Told::Unknown).unwrap();
            let evidence = vec![world.evidence(user(), None, None)];
            // What moves the row makes another readback worth a try.
            world
                .effect(agent("a"), EffectCommand::Stop { effect_id: id, confirmed: false, evidence })
                .unwrap();
        }
        "unknown, tried" => drop(told(&mut world, id, Told::Unknown).unwrap()),
        "confirmed" => drop(told(&mut world, id, Told::Confirmed).unwrap()),
        "absent" => drop(told(&mut world, id, Told::Absent).unwrap()),
        "failed" => drop(told(&mut world, id, Told::Failed).unwrap()),
        "written_off" => {
            told(&mut world, id, Told::Unknown).unwrap();
            play(&mut world, "write off", id).unwrap();
        }
        _ => {}
    }
    (world, id)
}

fn play(world: &mut World, step: &str, effect_id: EffectId) -> Result<Receipt> {
    let evidence = vec![world.evidence(user(), None, None)];
    match step {
        "dispatch" => world.effect(agent("a"), EffectCommand::Dispatch { effect_id }),
        "answered" => world.effect(agent("a"), EffectCommand::Confirm { effect_id, failed: false, evidence }),
        "refused" => world.effect(agent("a"), EffectCommand::Confirm { effect_id, failed: true, evidence }),
        "is there" => told(world, effect_id, Told::Confirmed),
        "is not" => told(world, effect_id, Told::Absent),
        "broke off" => told(world, effect_id, Told::Failed),
        "nothing" => told(world, effect_id, Told::Unknown),
        "stop" => world.effect(agent("a"), EffectCommand::Stop { effect_id, confirmed: false, evidence }),
        "stopped" => world.effect(agent("a"), EffectCommand::Stop { effect_id, confirmed: true, evidence }),
        "write off" => world
            .effect(user(), EffectCommand::WriteOff { effect_id, reason: text("nobody knows"), evidence }),
        "waive" => world.goal_cmd(crate::kernel::GoalCommand::Close {
            kind: CloseKind::Abandoned,
            reason: Some(text("enough")),
            waive: Vec::new(),
            waive_effects: vec![(effect_id, text("we live with it"))],
        }),
        _ => panic!("{step}"),
    }
}

/// Short for the code of a move that the table does not know.
const NO: &str = "invalid_transition";

/// One row a step: the state it leads to from each of [`STATES`], or the code it is refused with.
#[rustfmt::skip]
const MOVES: [(&str, [&str; 8]); 11] = [
    //             intended      dispatched    unknown        tried          confirmed    absent  failed  written off
    ("dispatch",  ["dispatched", NO,           NO,            NO,            NO,          NO,     NO,     NO]),
    ("answered",  [NO,           "confirmed",  NO,            NO,            NO,          NO,     NO,     NO]),
    ("refused",   [NO,           "failed",     NO,            NO,            NO,          NO,     NO,     NO]),
    ("is there",  [NO,           "confirmed",  "confirmed",   "confirmed",   NO,          NO,     NO,     NO]),
    ("is not",    ["absent",     "absent",     "absent",      "absent",      NO,          NO,     NO,     NO]),
    ("broke off", [NO,           "failed",     NO,            NO,            NO,          NO,     NO,     NO]),
    ("nothing",   [NO,           "unknown",    "unknown",     "unknown",     NO,          NO,     NO,     NO]),
    ("stop",      [NO,           "dispatched", NO,            "unknown",     "confirmed", NO,     NO,     "written_off"]),
    ("stopped",   [NO,           NO,           "unknown",     NO,            NO,          NO,     NO,     NO]),
    ("write off", [NO,           NO,           "written_off", "written_off", NO,          NO,     NO,     NO]),
    ("waive",     [NO,           NO,           NO,            NO,            NO,          NO,     NO,     "written_off"]),
];

#[test]
fn every_state_of_an_effect_meets_everything_that_can_be_told_of_it() {
    for (step, row) in MOVES {
        for (state, expected) in STATES.into_iter().zip(row) {
            let (mut world, id) = stage(state);
            let before = world.effect_row(id);
            let answer = play(&mut world, step, id);
            let after = world.effect_row(id);
            let found = if answer.is_ok() { after.state.as_str() } else { code(&answer) };
            assert_eq!(found, expected, "{step} of what is {state}");
            // A try that told nothing does not move the row; everything else does.
            let tried = state.starts_with("unknown") && step == "nothing";
            let moved = u64::from(answer.is_ok() && !tried);
            assert_eq!(after.revision, before.revision + moved, "{step} of what is {state}");
        }
    }
}
