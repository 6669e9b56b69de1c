//! Owns what is said first over several Goals: each pair of answers, whichever Goal is looked at first.

use super::world::text;
use crate::{
    kernel::{Action, Ask, Decided, UnresolvedBy, across},
    model::*,
};

fn wait(rule: u8, until: Option<i64>) -> Decided {
    Decided::of(rule, Action::Wait { why: "time", until: until.map(Timestamp::from_ms), turn_id: None })
}

fn work(priority: Priority) -> Decided {
    let action = Action::Run { todo_id: TodoId::new(text("g"), 1), turn_id: None };
    Decided { priority: Some(priority), ..Decided::of(7, action) }
}

fn reconcile(rule: u8) -> Decided {
    let turn_id = TurnId::from_bytes([7; 16]);
    Decided::of(rule, Action::Reconcile { of: UnresolvedBy::Turn(turn_id), command: String::new() })
}

fn ask(rule: u8) -> Decided {
    let ask = Ask { why: "user", about: "it".to_owned(), command: "goal list".to_owned(), question: None };
    Decided::of(rule, Action::AskUser { asks: vec![ask] })
}

/// The answers, the first one first, as the design orders them.
fn in_order() -> Vec<Decided> {
    let presented =
        Action::Run { todo_id: TodoId::new(text("g"), 1), turn_id: Some(TurnId::from_bytes([7; 16])) };
    vec![
        Decided::of(2, presented),
        wait(2, Some(5)),
        wait(2, None),
        reconcile(3),
        work(Priority::P0),
        Decided { rule: 7, ..work(Priority::P1) },
        work(Priority::P4),
        ask(9),
        ask(10),
        wait(11, Some(7)),
        wait(8, Some(9)),
        wait(4, None),
        Decided::of(1, Action::Closed),
    ]
}

#[test]
fn what_comes_first_over_several_goals_does_not_depend_on_which_is_looked_at_first() {
    let all = in_order();
    for (at, first) in all.iter().enumerate() {
        for later in &all[at + 1..] {
            for (one, other) in [("a", "b"), ("b", "a")] {
                let said = across([(text(one), first.clone()), (text(other), later.clone())]).unwrap();
                assert_eq!(
                    (said.0, said.1.action),
                    (text(one), first.action.clone()),
                    "{first:?} and {later:?}"
                );
                let said = across([(text(other), later.clone()), (text(one), first.clone())]).unwrap();
                assert_eq!(said.1.action, first.action, "{later:?} and {first:?}");
            }
        }
    }
}

#[test]
fn the_slug_settles_what_is_equal_and_reasons_are_counted_together() {
    let counted = |n| Decided { also: [("claimable", n)].into(), ..work(Priority::P2) };
    let (goal, said) = across([(text("b"), counted(2)), (text("a"), counted(3))]).unwrap();
    assert_eq!((goal, said.also.get("claimable")), (text("a"), Some(&5)));
    for rule in [5, 6, 9] {
        let (goal, _) = across([(text("b"), ask(9)), (text("a"), ask(rule))]).unwrap();
        assert_eq!(goal, text("a"), "a person is asked by rule {rule} as by rule 9");
    }
    assert!(across([]).is_none());
}
