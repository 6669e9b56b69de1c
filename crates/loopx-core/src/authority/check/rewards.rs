//! Owns what a judgement may be of, and that nothing is decided by one.

use super::{
    play::code,
    world::{World, text},
};
use crate::{
    kernel::{Command, Outcome, RewardCommand},
    model::*,
};

fn judge(todo_id: Option<&TodoId>, turn_id: Option<TurnId>, route: Option<&str>) -> Command {
    Command::Reward(RewardCommand::Add {
        todo_id: todo_id.cloned(),
        turn_id,
        route: route.map(text),
        polarity: Polarity::Bad,
        reason: text("too much at once"),
        lesson: Some(text("one at a time")),
    })
}

fn kept(world: &World, receipt: &Receipt) -> Reward {
    let id = receipt.outcome::<Outcome>().unwrap().reward_id.unwrap();
    let key = NounKey { kind: NounKind::Reward, id: *id.as_bytes() };
    Reward::of(&world.ledger.rows().nouns[&key]).unwrap().clone()
}

#[test]
fn a_judgement_is_of_a_todo_a_turn_or_a_way_of_working() {
    let mut world = World::new();
    let (one, two) = (world.todo("one", |_| {}), world.todo("two", |_| {}));
    let turn_id = world.claim("a", &one).unwrap().turn_id.unwrap();
    assert_eq!(code(&world.user(judge(None, None, None))), "invalid_argument");
    assert_eq!(code(&world.user(judge(Some(&two), Some(turn_id), None))), "invalid_argument");
    assert_eq!(code(&world.user(judge(Some(&text("g.9")), None, None))), "not_found");
    assert_eq!(code(&world.user(judge(None, Some(TurnId::from_bytes([9; 16])), None))), "not_found");
    assert_eq!(code(&world.agent("a", judge(Some(&one), None, None))), "user_only");
    let of_turn = world.user(judge(None, Some(turn_id), None)).unwrap();
    let reward = kept(&world, &of_turn);
    assert_eq!((reward.todo_id, reward.turn_id, reward.polarity), (Some(one), Some(turn_id), Polarity::Bad));
    let of_route = world.user(judge(None, None, Some("big-bang"))).unwrap();
    assert_eq!(kept(&world, &of_route).route.unwrap().as_str(), "big-bang");
}

#[test]
fn no_decision_reads_a_judgement() {
    let mut world = World::new();
    let todo = world.todo("one", |_| {});
    let before = world.next("a", None).unwrap();
    for _ in 0..3 {
        world.user(judge(Some(&todo), None, Some("alone"))).unwrap();
    }
    assert_eq!(world.next("a", None).unwrap(), before);
}
