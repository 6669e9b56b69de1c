//! The budget through the binary: what is reported, and that no report, however large, is a failure.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test whose place cannot be made fails")]

use crate::desk::Desk;

/// A Turn that an attached agent has, and its ownership.
fn claimed(desk: &Desk, todo: &str) -> (String, String) {
    let own = desk.ok(&["todo", "claim", todo, "--as", "agent:coder"]);
    let text = |name: &str| own[name].as_str().unwrap().to_owned();
    (text("turn_id"), text("own_id"))
}

#[test]
fn a_report_through_the_command_line_is_counted_once_and_its_replay_is_the_same_receipt() {
    let desk = Desk::with_work();
    let (turn, own) = claimed(&desk, "ship-it.1");
    let report =
        ["quota", "usage", &turn, "--seq", "0", "--tokens-in", "1200", "--wall", "3s", "--op-id", "u"];
    let report = [&report[..], &["--own", &own, "--as", "agent:coder"]].concat();
    let first = desk.ok(&report);
    assert_eq!(
        (&first["created"], &first["receipt"]["operation_id"]),
        (&true.into(), &"u".into()),
        "{first}"
    );
    let again = desk.ok(&report);
    assert_eq!(again["receipt"]["replayed"], true, "{again}");
    assert_eq!(again["receipt"]["accepted_revision"], first["receipt"]["accepted_revision"]);
    // the same number once more counts nothing, and says so to people too
    let number =
        ["quota", "usage", &turn, "--seq", "0", "--tokens-in", "9", "--own", &own, "--as", "agent:coder"];
    assert_eq!(desk.ok(&number)["created"], false);
    let told = desk.call(&number);
    assert_eq!((told.exit, told.out.contains("report 0 was counted before")), (0, true), "{told:?}");
}

#[test]
fn a_huge_report_is_no_failure_and_neither_is_the_next_one() {
    let desk = Desk::with_work();
    let (turn, own) = claimed(&desk, "ship-it.1");
    let most = (1_u64 << 50).to_string();
    for (seq, wall) in [("0", "100000000d"), ("1", "100000000d"), ("2", "1s")] {
        let report = ["quota", "usage", &turn, "--seq", seq, "--tokens-in", &most, "--tokens-out", &most];
        desk.ok(&[&report[..], &["--wall", wall, "--own", &own, "--as", "agent:coder"]].concat());
    }
    let shown = desk.ok(&["quota", "show"]);
    let tokens = shown["quota"]["rows"].as_array().unwrap().iter().find(|row| row["dimension"] == "tokens");
    assert_eq!(tokens.unwrap()["reserved"], 6_u64 << 50, "each amount counts as the bound: {shown}");
    assert!(desk.ok(&["audit", "verify"])["items"].is_array());
    // it is an overrun like any other
    desk.proven(&["quota", "set", "--tokens", "1000"]);
    desk.ok(&["agent", "add", "other"]);
    desk.refused(&["todo", "claim", "ship-it.2", "--as", "agent:other"], "quota_exhausted", 6);
}
