//! Owns what is true of write scopes: overlap, exclusive trees, other Goals, trees nobody named.

use super::{
    play::{attached, code, refused},
    world::{World, text},
};
use crate::{
    kernel::{Action, NewTodo, TodoCommand, claim::Claim},
    model::*,
};

const TREE: &str = "0123456789abcdef";
const OTHER_TREE: &str = "fedcba9876543210";

fn writes(scope: &'static str) -> impl Fn(&mut NewTodo) {
    move |new| new.requires.write_scopes = [text(scope)].into()
}

fn world(exclusive: bool) -> World {
    let mut world = World::empty();
    world.start(|goal| {
        goal.workspace = Some(text(TREE));
        goal.unvalidated = Unvalidated::Trust;
        goal.boundary.exclusive_workspace = exclusive;
    });
    world
}

#[test]
fn two_owners_never_write_below_one_prefix() {
    for (mine, theirs, conflict) in [
        ("src", "src", true),
        ("src", "src/a", true),
        ("src/a", "src", true),
        (".", "docs", true),
        ("docs", "./", true),
        ("src", "srcs", false),
        ("src/a", "src/b", false),
    ] {
        let mut world = world(false);
        let (todo, other) = (world.todo("it", writes(mine)), world.todo("other", writes(theirs)));
        let free = world.todo("free", |_| {});
        world.claim("a", &todo).unwrap();
        let answer = world.claim("b", &other);
        assert_eq!(answer.is_err(), conflict, "{mine} and {theirs}");
        if let Err(error) = answer {
            assert_eq!(error.code().as_str(), "write_scope_conflict");
            assert_eq!(error.details()["other"], "g.1");
            // What declares nothing conflicts with nothing; in another tree nothing conflicts either.
            assert!(
                matches!(world.next("b", None).unwrap().action, Action::Run { todo_id, .. } if todo_id == free)
            );
            let elsewhere = Claim { workspace: Some(text(OTHER_TREE)), ..attached(&other) };
            assert_eq!(code(&world.claim_as("b", elsewhere)), "ok");
        }
    }
}

#[test]
fn two_folders_of_one_tree_meet_where_their_paths_do() {
    let sub = format!("{TREE}/sub");
    let deep = format!("{TREE}/sub/deep");
    for ((mine, here), (theirs, there), conflict) in [
        (("a", sub.as_str()), ("sub/a", TREE), true),
        (("sub", TREE), ("a", &sub), true),
        ((".", &sub), ("sub/b", TREE), true),
        (("deep/a", &sub), ("a", &deep), true),
        (("a", &sub), ("a", TREE), false),
        (("a", &sub), ("a", &deep), false),
        (("a", &sub), ("sub/a", OTHER_TREE), false),
    ] {
        let mut world = world(false);
        let (todo, other) = (world.todo("it", writes(mine)), world.todo("other", writes(theirs)));
        let at =
            |todo: &TodoId, workspace: &str| Claim { workspace: Some(text(workspace)), ..attached(todo) };
        world.claim_as("a", at(&todo, here)).unwrap();
        let expected = if conflict { "write_scope_conflict" } else { "ok" };
        let answer = world.claim_as("b", at(&other, there));
        assert_eq!(code(&answer), expected, "{mine} in {here}, {theirs} in {there}");
    }
    // the Goal's own folder means its paths from there too
    let mut world = World::empty();
    world.start(|goal| goal.workspace = Some(text(&sub)));
    let todo = world.todo("it", writes("a"));
    world.claim("a", &todo).unwrap();
    let own = world.row(&todo).ownership.unwrap();
    assert_eq!(own.scopes, [text("sub/a")].into());
    assert_eq!(own.workspace, Some(text(&sub)));
}

#[test]
fn an_exclusive_tree_has_one_owner_whatever_it_declares() {
    let mut world = world(true);
    let (todo, other) = (world.todo("it", |_| {}), world.todo("other", |_| {}));
    let owned = world.claim("a", &todo).unwrap();
    assert_eq!(refused(world.claim("b", &other)), "write_scope_conflict");
    let Action::Wait { why, until, .. } = world.next("b", None).unwrap().action else { panic!() };
    assert_eq!((why, until), ("owned_by_peers", world.row(&todo).ownership.map(|own| own.expires_at)));
    world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
    world.verdict("a", &owned, VerdictOutcome::Unchecked).unwrap();
    world.claim("b", &other).unwrap();
}

#[test]
fn overlap_with_what_is_held_or_unresolved_takes_its_reason() {
    for (ends, expected) in [("held", "held"), ("lost", "turn_unresolved")] {
        let mut world = world(false);
        let (todo, other) = (world.todo("it", writes("src")), world.todo("other", writes("src/a")));
        let owned = world.running("a", &todo);
        if ends == "held" {
            world.hold(&todo).unwrap();
            world.candidate("a", &owned, ResultKind::ValidatedCompletion).unwrap();
            world.verdict("a", &owned, VerdictOutcome::Unchecked).unwrap();
        } else {
            world.lose("a", &owned, true).unwrap();
        }
        assert_eq!(refused(world.claim("b", &other)), expected);
        world.pass(Duration::from_mins(600));
        assert_eq!(refused(world.claim("b", &other)), expected, "frozen");
    }
}

#[test]
fn a_tree_is_one_for_all_goals_of_the_authority() {
    let mut world = world(false);
    let mine = world.todo("it", writes("src"));
    world.claim("a", &mine).unwrap();
    let first = std::mem::replace(&mut world.goal, text("h"));
    world.start(|goal| goal.workspace = Some(text(TREE)));
    let theirs = world.todo("other", writes("src"));
    let refused = world.claim("a", &theirs).unwrap_err();
    assert_eq!(refused.code().as_str(), "write_scope_conflict");
    assert_eq!(refused.details()["other"], mine.to_string());
    let Action::Wait { why, .. } = world.next("a", None).unwrap().action else { panic!() };
    assert_eq!(why, "owned_by_peers");
    world.goal = first;
}

#[test]
fn scopes_without_a_tree_are_refused_and_never_offered() {
    let mut world = World::empty();
    world.start(|_| {});
    let todo = world.todo("it", writes("src"));
    assert_eq!(refused(world.claim("a", &todo)), "invalid_argument");
    let Action::AskUser { asks } = world.next("a", None).unwrap().action else { panic!() };
    assert_eq!(asks[0].command, "todo claim g.1 --as agent:a --workspace .");
    let named = Claim { workspace: Some(text(TREE)), ..attached(&todo) };
    assert_eq!(code(&world.claim_as("a", named)), "ok");
}

#[test]
fn scopes_outside_the_boundary_are_a_violation() {
    let mut world = World::empty();
    world.start(|goal| goal.boundary.write_scopes = vec![text("src"), text("docs/a")]);
    let change = |scope: &str| {
        let requires = RequiresChange { write_scopes: Some([text(scope)].into()), ..Default::default() };
        Box::new(crate::kernel::Change { requires: Some(requires), ..Default::default() })
    };
    let todo = world.todo("it", writes("src/x"));
    for (scope, expected) in [
        ("src", "ok"),
        ("docs/a/b", "ok"),
        ("docs", "boundary_violation"),
        (".", "boundary_violation"),
        ("srcs", "boundary_violation"),
    ] {
        let update = TodoCommand::Update { todo_id: todo.clone(), change: change(scope) };
        assert_eq!(code(&world.todo_cmd(update)), expected, "{scope}");
        let mut new = NewTodo::titled(text("more"), TodoKind::Advance);
        new.requires.write_scopes = [text(scope)].into();
        assert_eq!(code(&world.agent_todo("a", TodoCommand::Add(Box::new(new)))), expected, "{scope}");
    }
}

#[test]
fn a_result_that_wrote_outside_its_scopes_fails_where_the_goal_lists_some() {
    for (listed, expected) in [(true, "failed"), (false, "candidate")] {
        let mut world = World::empty();
        world.start(|goal| {
            goal.validators = vec![super::world::validator()];
            goal.workspace = Some(text(TREE));
            if listed {
                goal.boundary.write_scopes = vec![text("src")];
            }
        });
        let todo = world.todo("it", writes("src/x"));
        let owned = world.running("a", &todo);
        let candidate = Candidate {
            outside: [text("docs/y")].into(),
            ..super::play::result(ResultKind::ValidatedProgress)
        };
        world.result_of("a", &owned, candidate).unwrap();
        assert_eq!(world.turn_state(&owned), expected);
        if listed {
            let end = world.row(&todo).last_end.unwrap();
            assert!(end.repair && end.note.unwrap().as_str().starts_with("boundary_violation"));
        }
    }
}
