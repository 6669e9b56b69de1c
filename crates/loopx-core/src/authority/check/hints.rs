//! Owns that every command LoopX names, in a refusal or in an answer, is one that its own command line takes.

use std::collections::BTreeSet;

use super::{
    play::attached,
    world::{World, text, validator},
};
use crate::{
    cli,
    kernel::{Action, NewTodo},
    model::*,
};

/// A command as it is named, with what a person would put where a word stands for it.
pub(super) fn check(named: &str) {
    assert!(cli::takes(named), "the command line does not take `{named}`");
}

#[test]
fn a_command_that_does_not_exist_is_noticed() {
    for (line, taken) in [
        ("todo show g.1", true),
        ("todo shows g.1", false),
        ("turn recover 0v7k3", false),
        ("turn recover 0v7k3 --prove", true),
        ("gate resolve 0v7k3", false),
    ] {
        assert_eq!(cli::takes(line), taken, "{line}");
    }
}

#[test]
fn every_ask_of_next_is_a_command() {
    let mut world = World::empty();
    world.start(|goal| {
        goal.validators = vec![validator()];
        goal.boundary.needs_approval = [Key::Publish].into();
        goal.acceptance = vec![Criterion { text: text("works"), check: None, state: CriterionState::Open }];
    });
    let asks: [&dyn Fn(&mut NewTodo); 9] = [
        &|new| new.kind = TodoKind::Action,
        &|new| {
            (new.kind, new.wake) =
                (TodoKind::Action, Some(Wake::After(Timestamp::from_ms(1_900_000_000_000))));
        },
        &|new| new.kind = TodoKind::Blocker,
        &|new| new.blocked = Some(text("no key")),
        &|new| new.hold = true,
        &|new| new.excluded_agents = [text("a")].into(),
        &|new| new.requires.capabilities = [text("a b"), text("deploy")].into(),
        &|new| new.requires.write_scopes = [text("src")].into(),
        &|new| new.requires.publish = true,
    ];
    for change in asks {
        world.todo("it", |new| change(new));
    }
    let (gated, asked) = (world.todo("gated", |_| {}), world.todo("asked", |_| {}));
    world.gate(GateKind::Approval, &gated);
    world.gate(GateKind::Decision, &asked);
    let Action::AskUser { asks } = world.next("a", None).unwrap().action else { panic!() };
    let verbs: BTreeSet<_> =
        asks.iter().map(|ask| ask.command.splitn(3, ' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    let expected = [
        "agent add",
        "gate resolve",
        "todo claim",
        "todo done",
        "todo resolve",
        "todo unblock",
        "todo unhold",
        "todo update",
    ];
    assert_eq!(verbs, expected.map(str::to_owned).into());
    // The World parses each of them, and every hint of every refusal in all of these tests.
}

#[test]
fn a_refusal_without_an_owner_names_how_to_get_on() {
    let mut world = World::new();
    let todo = world.todo("it", |new| new.hold = true);
    let refused = world.claim_as("a", attached(&todo)).unwrap_err();
    assert_eq!(refused.hint_args(), Some("todo show g.1"));
    let stranger = world.claim_as("z", attached(&todo)).unwrap_err();
    assert_eq!(stranger.hint_args(), Some("agent add z --goal g"));
}
