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

#[test]
fn a_limit_of_zero_says_everywhere_that_nothing_may_run_and_which_command_raises_it() {
    for (flags, raised) in [
        (&["--turns", "0"][..], "--turns 1 --window 1d"),
        (&["--tokens", "0", "--turns", "5"], "--turns 5 --tokens 100000 --window 1d"),
        (&["--cost", "0USD"], "--cost 1.000000USD --window 1d"),
        (&["--wall", "0s", "--window", "90m"], "--wall 1h --window 90m"),
        (&["--turns", "0", "--authority"], "--turns 1 --window 1d"),
        (&["--turns", "0", "--agent", "coder"], "--turns 1 --window 1d"),
    ] {
        let desk = Desk::with_work();
        let set = [&["quota", "set"], flags].concat();
        let token = desk.token_file();
        let said = desk.call(&[&set[..], &["--token-file", &token]].concat());
        assert!(said.out.contains("so nothing may run"), "{said:?}");
        let whose = match flags.last() {
            Some(&"--authority") => "--authority",
            Some(&"coder") => "--goal ship-it --agent coder",
            _ => "--goal ship-it", // wildcard: flags of the Goal
        };
        let raise = format!("quota set {whose} {raised}");
        let coder = ["--agent", "coder"];
        for (verb, exit) in
            [(&["next"][..], 11), (&["quota", "should-run"], 11), (&["quota", "should-run", "--driven"], 11)]
        {
            let words = [verb, &coder].concat();
            let told = desk.json(&words);
            assert_eq!(told.exit, exit, "{words:?}: {told:?}");
            assert!(told.out.contains("limit_zero") && told.out.contains(&raise), "{words:?}: {told:?}");
            let told = desk.call(&words);
            assert!(
                told.out.contains("lets nothing run") && told.out.contains(&raise),
                "{words:?}: {told:?}"
            );
        }
        for words in [
            &["status"][..],
            &["why", "ship-it"],
            &["why", "ship-it.1"],
            &["quota", "show"],
            &["attention", "list"],
        ] {
            for told in [desk.call(words), desk.json(words)] {
                assert_eq!(told.exit, 0, "{words:?}: {told:?}");
                assert!(told.out.contains(&raise), "{words:?}: {told:?}");
                assert!(!told.out.contains("frees_at_ms"), "{words:?}: {told:?}");
            }
        }
        let claim = ["todo", "claim", "ship-it.1", "--as", "agent:coder"];
        let refused = desk.refused(&claim, "quota_exhausted", 6);
        assert_eq!(refused["hint"].as_str().unwrap(), format!("loopx-core {raise}"), "{refused}");
        // and that command, as it stands, lets it run
        desk.proven(&raise.split(' ').collect::<Vec<_>>());
        assert_eq!(desk.json(&["next", "--agent", "coder"]).exit, 0);
        desk.ok(&claim);
    }
}

#[test]
fn a_ceiling_in_another_currency_than_its_goal_counts_in_is_refused() {
    let desk = Desk::with_work();
    let token = desk.token_file();
    let cap = |cost: &str| {
        let words = ["quota", "set", "--ceiling-cost", cost, "--token-file", &token];
        words.map(str::to_owned)
    };
    let refused = |cost: &str| {
        let words = cap(cost);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        desk.refused(&words, "currency_mismatch", 2)
    };
    refused("0.50EUR");
    desk.proven(&["quota", "set", "--cost", "5USD"]);
    assert_eq!(refused("0.50EUR")["hint"], "loopx-core quota show --goal ship-it");
    desk.proven(&["quota", "set", "--ceiling-cost", "0.50USD"]);
    desk.proven(&["quota", "set", "--ceiling-cost", "0.50"]);
    // nor may a limit of all Goals be in another
    desk.refused(
        &["quota", "set", "--authority", "--cost", "9EUR", "--token-file", &token],
        "currency_mismatch",
        2,
    );
    desk.proven(&["quota", "set", "--authority", "--cost", "9USD"]);
}

#[test]
fn a_budget_that_is_spent_waits_for_the_time_that_frees_it_and_for_nobody() {
    let desk = Desk::with_work();
    desk.proven(&["quota", "set", "--turns", "1"]);
    desk.ok(&["todo", "update", "ship-it.1", "--validator", "true"]);
    let (_, own) = claimed(&desk, "ship-it.1");
    desk.ok(&["todo", "done", "ship-it.1", "--own", &own, "--as", "agent:coder"]);
    let goal = desk.ok(&["status"])["goals"][0].clone();
    assert_eq!(goal["waiting_on"], "quota", "{goal}");
    let told = desk.json(&["next", "--agent", "coder"]);
    assert_eq!((told.exit, &told.json()["why"]), (10, &"quota".into()), "{told:?}");
}
