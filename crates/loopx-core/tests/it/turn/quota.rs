//! A budget that is overrun while a host works: what was admitted and proved is kept, and nothing more is admitted.
//!
//! No verb of the binary sets a limit yet, so the ledger is told by the library; all else is the binary.

use std::fs;

use super::{
    loop_kills::limit,
    place::{Answer, Place, REPORT, answer, until},
};
use crate::desk::skipped;

fn run<'w>(todo: &'w str, id: &'w str) -> [&'w str; 10] {
    ["turn", "run", "--todo", todo, "--agent", "a", "--host", "sh host.sh", "--op-id", id]
}

#[test]
fn what_is_used_beyond_the_budget_while_a_host_works_is_kept_and_nothing_more_is_admitted() {
    // given a Turn that is spent, and another whose host is at work
    let place = Place::new("test -f answer");
    let usage = REPORT.replace(
        r#""path_delta_mode":"""#,
        r#""path_delta_mode":"","usage":[{"seq":0,"tokens_in":9000000000,"tokens_out":7000000000,"cost_micros":5000000000,"currency":"USD"}]"#,
    );
    let waits = "[ -e ../second ] && { touch ../began; until [ -e ../go ]; do sleep 0.02; done; }";
    place.script("host.sh", &format!("cat > /dev/null\n{waits}\ntouch answer\n{usage}\n"));
    for title in ["the second", "the third"] {
        place.call("user:ana", &["todo", "add", title]).ok();
    }
    place.call("user:ana", &run("g.1", "one")).ok();
    fs::write(place.root().join("second"), "").unwrap();
    let second = place.start("user:ana", &run("g.2", "two"), &[]);
    until("the host began", || place.root().join("began").exists());
    // when the Goal may have one Turn in all from now on, and the host reports more than anybody granted
    limit(&place, 1);
    fs::write(place.root().join("go"), "").unwrap();
    // then what it did is proved and settled like any other, with what it used
    let settled = answer(&second.wait_with_output().unwrap()).ok();
    assert_eq!(settled.text("/turn/state"), "settled", "{}", settled.json);
    let shown = place.call("user:ana", &["turn", "show", settled.text("/turn/turn_id")]).ok();
    assert_eq!(shown.text("/turn/slot"), "spent");
    assert_eq!(shown.json.pointer("/turn/candidate/usage/0/tokens_in"), Some(&9_000_000_000_u64.into()));
    let todo = place.call("user:ana", &["todo", "show", "g.2"]).ok();
    assert_eq!(todo.text("/todo/state"), "done");
    // and nothing more is admitted, through any door, nor written
    let head = place.head();
    for (actor, words) in [("user:ana", &run("g.3", "three")[..]), ("agent:b", &["todo", "claim", "g.3"])] {
        let refused = place.call(actor, words);
        assert_eq!(
            (refused.exit, refused.code()),
            (Some(6), "quota_exhausted"),
            "{words:?} {}",
            refused.json
        );
        assert_eq!(place.head(), head, "{words:?}");
    }
    // until somebody grants more
    limit(&place, 9);
    place.call("user:ana", &run("g.3", "four")).ok();
}

/// A person, with proof, says what may be used.
fn set(place: &Place, words: &[&str]) {
    let token = place.root().join("home/profiles/default/user.token");
    let proof = ["--token-file", token.to_str().unwrap()];
    place.call("user:ana", &[&["quota", "set"], words, &proof].concat()).ok();
}

#[test]
fn two_meters_of_time_are_kept_and_shown_the_hosts_and_the_drivers() {
    let place = Place::new("test -f answer");
    let usage =
        REPORT.replace(r#""path_delta_mode":"""#, r#""path_delta_mode":"","usage":[{"seq":0,"wall_ms":7}]"#);
    let twice = "[ -e ../once ] || { touch ../once; sleep 0.2; exit 9; }";
    place.script("host.sh", &format!("cat > /dev/null\n{twice}\nsleep 0.3\ntouch answer\n{usage}\n"));
    let done = place.call("user:ana", &place.run("one")).ok();
    let shown = place.call("user:ana", &["turn", "show", done.text("/turn/turn_id")]).ok();
    let said = |meter: &str| shown.json.pointer(&format!("/turn/spend/measured/{meter}/wall_ms")).cloned();
    assert_eq!(said("host"), Some(7.into()), "{}", shown.json);
    // of both attempts, also the one that left no result
    let driver = said("driver").unwrap().as_u64().unwrap();
    assert!((500..60_000).contains(&driver), "{driver}");
    assert_eq!(place.events("quota.used").len(), 3);
    let budget = place.call("user:ana", &["quota", "show"]).ok();
    let rows = budget.json["quota"]["rows"].as_array().unwrap();
    let wall = rows.iter().find(|row| row["dimension"] == "wall" && row["scope"] == "goal").unwrap();
    assert_eq!((&wall["meters"]["host"], &wall["meters"]["driver"]), (&7.into(), &driver.into()));
    let log = place.plain("user:ana", &["turn", "show", done.text("/turn/turn_id")]).output().unwrap();
    let log = String::from_utf8(log.stdout).unwrap();
    assert!(log.contains("by the meter of the driver") && log.contains("by the meter of the host"), "{log}");
}

#[test]
fn a_recovery_tells_how_long_the_host_was_at_work_by_its_guardians_clock_and_once() {
    for point in ["turn.host_ended", "turn.candidate"] {
        let place = Place::new("test -f answer");
        place.host("sleep 0.3; touch answer");
        let killed =
            place.call_with("user:ana", &place.run("one"), &[("LOOPX_FAILPOINT", &format!("{point}=kill"))]);
        assert_eq!(killed.exit, None, "{point}: {}", killed.json);
        place.call("user:ana", &place.run("one")).ok();
        let shown = place.call("user:ana", &["turn", "show", &place.turn_id()]).ok();
        let driver =
            shown.json.pointer("/turn/spend/measured/driver/wall_ms").and_then(serde_json::Value::as_u64);
        assert!(driver.is_some_and(|ms| (300..60_000).contains(&ms)), "{point}: {}", shown.json);
        assert_eq!(place.events("quota.used").len(), 1, "{point}");
    }
}

/// A program whose time since boot is ten hours further: what a machine sees that slept so long.
fn later() -> std::process::Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test makes the namespace of time that the binary runs in"
    )]
    let mut aside = std::process::Command::new("unshare");
    aside.args(["--time", "--boottime", "36000", "--"]);
    aside
}

/// What the binary answers once the machine has slept; none where no namespace of time may be made.
fn slept(place: &Place, words: &[&str]) -> Option<Answer> {
    let command = place.command("user:ana", words, &[]);
    let mut aside = later();
    aside.arg(command.get_program()).args(command.get_args());
    aside.env_clear().stdin(std::process::Stdio::null());
    aside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        aside.current_dir(folder);
    }
    let allowed = later().arg("true").output().is_ok_and(|ended| ended.status.success());
    (allowed || skipped("no namespace of time may be made")).then(|| answer(&aside.output().unwrap()))
}

#[test]
fn fault_a17_ten_hours_of_sleep_under_a_turn_are_charged_to_no_budget_and_to_no_retry() {
    // given a driver and its guardian that ended with the machine asleep, once the host had worked for a moment
    let place = Place::new("test -f answer");
    place.host("sleep 0.3; touch answer");
    let kill = [("LOOPX_FAILPOINT", "turn.host_ended=kill")];
    let killed = place.call_with("user:ana", &place.run("one"), &kill);
    assert_eq!(killed.exit, None, "{}", killed.json);
    // when the machine wakes ten hours later, and the same command goes on
    let Some(settled) = slept(&place, &place.run("one")) else { return };
    // then the result counts, by its first attempt, and only the time awake is charged
    let settled = settled.ok();
    assert_eq!(settled.text("/turn/state"), "settled", "{}", settled.json);
    let shown = place.call("user:ana", &["turn", "show", &place.turn_id()]).ok();
    let driver =
        shown.json.pointer("/turn/spend/measured/driver/wall_ms").and_then(serde_json::Value::as_u64);
    assert!(driver.is_some_and(|ms| (300..60_000).contains(&ms)), "{}", shown.json);
    assert_eq!(place.runs(), 1, "the host was not started again");
    assert_eq!(place.events("turn.dispatched").len(), 1);
}

#[test]
fn fault_a17_a_loop_that_wakes_takes_in_what_its_host_left_before_the_sleep() {
    let place = Place::new("test -f answer");
    place.host("touch answer");
    let again = ["loop", "run", "--agent", "a", "--host", "sh host.sh", "--turns", "1"];
    let killed = place.call_with("user:ana", &again, &[("LOOPX_FAILPOINT", "turn.host_ended=kill")]);
    assert_eq!(killed.exit, None, "{}", killed.json);
    let Some(woken) = slept(&place, &again) else { return };
    assert_eq!((place.todo_state().as_str(), place.runs()), ("done", 1), "{}", woken.json);
    assert_eq!(place.turns().len(), 1, "{}", woken.json);
}

#[test]
fn fault_g02_each_admitted_turn_is_one_spend_whoever_runs_it() {
    // given an attached Turn, one of a driver, and a loop of one, each brought to its end
    let place = Place::new("true");
    place.host("true");
    for title in ["the second", "the third"] {
        place.call("user:ana", &["todo", "add", title]).ok();
    }
    let own = place.call("agent:a", &["todo", "claim", "g.1"]).ok().text("/own_id").to_owned();
    place.call("agent:a", &["todo", "done", "g.1", "--own", &own]).ok();
    place.call("user:ana", &run("g.2", "two")).ok();
    let looped = ["loop", "run", "--agent", "a", "--host", "sh host.sh", "--turns", "1"];
    place.call("user:ana", &looped);
    let listed = place.call("user:ana", &["turn", "list", "--state", "settled"]).ok();
    let turns = listed.json["items"].as_array().unwrap();
    assert_eq!(turns.len(), 3, "{turns:?}");
    // then each has one end and one slot, and the budget says three
    for turn in turns {
        let shown = place.call("user:ana", &["turn", "show", turn["turn_id"].as_str().unwrap()]).ok();
        assert_eq!((shown.text("/turn/state"), shown.text("/turn/slot")), ("settled", "spent"), "{turn}");
    }
    let shown = place.call("user:ana", &["quota", "show"]).ok();
    let rows = shown.json["quota"]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["dimension"] == "turns" && row["scope"] == "goal").unwrap();
    assert_eq!((&row["spent"], &row["reserved"]), (&3.into(), &0.into()), "{row}");
}

#[test]
fn a_driver_is_told_of_work_only_where_all_its_attempts_fit_and_whoever_comes_by_himself_before() {
    let place = Place::new("test -f answer");
    place.host("touch answer");
    let set = |words: &[&str]| set(&place, words);
    set(&["--tokens", "200"]);
    set(&["--ceiling-tokens", "100"]);
    // by himself: one attempt fits
    let next = place.call("agent:a", &["next"]);
    assert_eq!((next.exit, next.text("/action")), (Some(0), "run"), "{}", next.json);
    assert_eq!(place.call("agent:a", &["quota", "should-run"]).exit, Some(0));
    // driven: three do not, and every door that leads to a run says so, with what helps
    let should = place.call("agent:a", &["quota", "should-run", "--driven"]);
    assert_eq!((should.exit, should.text("/decision/action")), (Some(11), "ask_user"), "{}", should.json);
    let plan = place.call("user:ana", &["turn", "plan", "--agent", "a"]).ok();
    assert_eq!(plan.text("/plan/action"), "ask_user", "{}", plan.json);
    let head = place.head();
    let run = ["--agent", "a", "--host", "sh host.sh"];
    let refused = place.call("user:ana", &[&["turn", "run"], &run[..]].concat());
    assert_eq!((refused.exit, refused.code()), (Some(1), "not_ready"), "{}", refused.json);
    let hint = refused.text("/error/hint").to_owned();
    assert!(hint.contains("quota set --goal g --ceiling-tokens 66"), "{hint}");
    let looped = place.call("user:ana", &[&["loop", "run", "--no-wait"], &run[..]].concat());
    assert_eq!(looped.exit, Some(11), "{}", looped.json);
    assert_eq!(place.head(), head, "nothing was written");
    // what is asked for frees it
    set(&["--ceiling-tokens", "66"]);
    assert_eq!(place.call("agent:a", &["quota", "should-run", "--driven"]).exit, Some(0));
    place.call("user:ana", &[&["turn", "run"], &run[..]].concat()).ok();
}

#[test]
fn regress_a_ceiling_that_is_asked_for_does_not_keep_a_status_from_being_told() {
    let place = Place::new("test -f answer");
    set(&place, &["--tokens", "2"]);
    let status = place.call("user:ana", &["status"]).ok();
    let told = status.json.to_string();
    assert!(told.contains("quota set --goal g --ceiling-tokens 2"), "{told}");
}
