//! A budget that is overrun while a host works: what was admitted and proved is kept, and nothing more is admitted.
//!
//! No verb of the binary sets a limit yet, so the ledger is told by the library; all else is the binary.

use std::fs;

use super::{
    loop_kills::limit,
    place::{Place, REPORT, answer, until},
};

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
