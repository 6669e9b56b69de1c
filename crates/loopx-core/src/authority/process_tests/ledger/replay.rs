//! An operation that is sent again: from another process, after other history, by somebody else.

use super::*;

/// What a receipt says, but for whether it is a replay.
pub(super) fn said(receipt: &Receipt) -> String {
    let mut value = serde_json::to_value(receipt).unwrap();
    value.as_object_mut().unwrap().remove("replayed");
    value.to_string()
}

#[test]
fn a_replay_from_another_process_after_later_history_gives_the_first_receipt() {
    let home = tempfile::tempdir().unwrap();
    let mut first = founded(home.path());
    add_agent(&mut first, "a");
    add_todos(&mut first, "todos", 2);
    let receipt = first.submit(claim("claim", "agent:a", 1)).unwrap();
    // What was claimed is let go, done by a person, and the Goal is closed.
    let own_id = receipt.outcome::<Outcome>().unwrap().own_id;
    let todo_id = TodoId::new(goal(), 1);
    let release = ClaimCommand::Release { todo_id: todo_id.clone(), own_id };
    first.submit(operation("release", "agent:a", Wish::Claim(release))).unwrap();
    let complete = TodoCommand::Complete { todo_id, continuation: Continuation::ActiveGoal, waive: None };
    first.submit(operation("complete", "user:ana", Wish::Todo(complete))).unwrap();
    let close = GoalCommand::Close {
        kind: CloseKind::Abandoned,
        reason: Some("x".parse().unwrap()),
        waive: vec![],
        waive_effects: vec![],
    };
    first.submit(operation("close", "user:ana", Wish::Goal(close))).unwrap();
    drop(first);
    let before = faults::bytes(home.path());
    for _ in 0..2 {
        let mut again = start("claim agent:a 1", home.path(), &Start::default());
        again.said(&said(&receipt));
        again.said("ok");
    }
    // Another wish and another actor under the same id are told so, and nothing at all is written.
    let mut other = start("claim agent:a 2", home.path(), &Start::default());
    other.said("operation_conflict");
    let mut foreign = start("claim agent:a@elsewhere 1", home.path(), &Start::default());
    foreign.said("operation_conflict");
    assert!(faults::bytes(home.path()) == before, "a replay wrote");
    let replayed = authority(home.path()).unwrap().submit(claim("claim", "agent:a", 1)).unwrap();
    assert!(replayed.is_replayed());
    assert_eq!(said(&replayed), said(&receipt));
}

#[test]
fn eight_processes_send_one_operation_and_all_get_one_receipt() {
    let home = tempfile::tempdir().unwrap();
    let mut first = founded(home.path());
    add_agent(&mut first, "a");
    add_todos(&mut first, "todos", 1);
    let senders: Vec<Role> =
        (0..8).map(|_| start("claim agent:a 1", home.path(), &Start::default())).collect();
    let mut receipts = std::collections::BTreeSet::new();
    for mut sender in senders {
        receipts.insert(sender.next().unwrap());
        sender.said("ok");
    }
    assert_eq!(receipts.len(), 1, "{receipts:?}");
    first.read(faults::check_chain).unwrap();
}
