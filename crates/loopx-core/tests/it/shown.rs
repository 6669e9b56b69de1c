//! What a page, a list or a refusal says to whoever has to act on it: what is true, which row, and the command.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use serde_json::Value;

use crate::desk::Desk;

/// What a call says to a person.
fn told(desk: &Desk, words: &[&str]) -> String {
    let ended = desk.call(words);
    format!("{}{}", ended.out, ended.err)
}

/// The same where the terminal has so many columns.
fn told_in(desk: &Desk, columns: &str, words: &[&str]) -> String {
    let mut command = desk.command(env!("CARGO_BIN_EXE_loopx-core"));
    let output = command.env("COLUMNS", columns).args(words).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned()
}

/// What lists show of a minted id.
fn short(id: &str) -> String {
    id.rsplit('_').next().unwrap().get(10..18).unwrap().to_owned()
}

#[test]
fn a_stopped_turn_of_an_agent_that_works_by_itself_is_not_said_to_have_ended_what_it_runs() {
    let desk = Desk::with_work();
    let claimed = desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    let said = told(&desk, &["turn", "stop", &text(&claimed["turn_id"])]);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("nothing was started for it from here"), "{said}");
    assert!(!said.contains("is ended"), "{said}");
}

#[test]
fn an_agent_that_works_elsewhere_is_told_where_and_how_to_look() {
    let desk = Desk::with_work();
    let claimed = desk.ok(&["todo", "claim", "ship-it.2", "--as", "agent:coder@shell"]);
    let turn = text(&claimed["turn_id"]);
    let next = desk.json(&["next", "--agent", "coder"]);
    assert_eq!(next.exit, 10);
    let next = next.json();
    assert_eq!((&next["turn_id"], &next["turn"]["turn_id"]), (&Value::from(&*turn), &Value::from(&*turn)));
    assert_eq!((&next["turn"]["todo_id"], &next["turn"]["endpoint"]), (&"ship-it.2".into(), &"shell".into()));
    assert_eq!(next["command"], format!("turn show {turn}"));
    assert!(next["until_ms"].is_i64(), "{next}");
    let said = told(&desk, &["next", "--agent", "coder"]);
    for part in [
        "this agent works already on ship-it.2, in the Turn ",
        " by shell",
        "until",
        &format!("next: loopx-core turn show {}", short(&turn)),
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for words in [&["why", "--agent", "coder"][..], &["quota", "should-run", "--agent", "coder"]] {
        let said = told(&desk, words);
        assert!(said.contains("ship-it.2") && said.contains("by shell"), "{said}");
    }
    let prompt = told(&desk, &["heartbeat-prompt", "--agent", "coder"]);
    assert!(prompt.contains(&format!("turn show {turn}")), "{prompt}");
}

/// A desk whose second Todo has returned something to the first, and the return.
fn returned() -> (Desk, String) {
    let desk = Desk::with_work();
    desk.ok(&["agent", "add", "peer"]);
    desk.ok(&["todo", "update", "ship-it.2", "--coordinates", "ship-it.1"]);
    desk.ok(&["todo", "update", "ship-it.1", "--priority", "P0"]);
    let own = text(&desk.ok(&["todo", "claim", "ship-it.2", "--as", "agent:peer"])["own_id"]);
    let added = desk.ok(&["evidence", "add", "measured", "--kind", "note", "--as", "agent:peer"]);
    let evidence = text(&added["evidence"]["evidence_id"]);
    let words = ["peer", "return", "ship-it.2", "two of three hold", "--evidence", &evidence, "--own", &own];
    let given = desk.ok(&[&words[..], &["--as", "agent:peer"]].concat());
    (desk, text(&given["return"]["return_id"]))
}

#[test]
fn what_a_peer_returned_is_shown_to_whoever_has_to_decide_on_it() {
    let (desk, id) = returned();
    let shown = short(&id);
    let row = |listed: &Value| -> Value {
        let rows = listed.as_array().unwrap_or_else(|| panic!("{listed}"));
        rows.iter().find(|row| row["kind"] == "return").cloned().unwrap_or_else(|| panic!("{listed}"))
    };
    let listed = row(&desk.ok(&["attention", "list"])["items"]);
    assert_eq!((&listed["about"], &listed["rank"]), (&Value::from(&*id), &"work".into()));
    assert_eq!(row(&desk.ok(&["status"])["goals"][0]["attention"]), {
        let mut row = listed.clone();
        row.as_object_mut().unwrap().remove("goal_id");
        row
    });
    let said = told(&desk, &["attention", "list"]);
    assert!(
        said.contains("ship-it.2 returned to ship-it.1, whoever takes it decides: two of three hold"),
        "{said}"
    );
    assert!(said.contains(&format!("to say no: loopx-core peer reject {shown} --reason <TEXT>")), "{said}");
    let page = told(&desk, &["todo", "show", "1"]);
    for part in [
        format!("a person takes it in: loopx-core peer adopt {shown}"),
        format!("to say no: loopx-core peer reject {shown} --reason <TEXT>"),
    ] {
        assert!(page.contains(&part), "{page}");
    }
    // Whoever may take the coordinator, and whoever has it, by its own words.
    let next = desk.ok(&["next", "--agent", "coder"]);
    assert_eq!(
        (&next["returns"][0]["return_id"], &next["returns"][0]["from"]),
        (&Value::from(&*id), &"ship-it.2".into())
    );
    let claimed = desk.ok(&["next", "--claim", "--as", "agent:coder"]);
    let own = text(&claimed["own_id"]);
    let mine = desk.ok(&["next", "--agent", "coder", "--own", &own]);
    let adopt = text(&mine["returns"][0]["commands"][0]);
    assert_eq!(adopt, format!("peer adopt {id} --as agent:coder --own {own}"));
    let said = told(&desk, &["next", "--agent", "coder", "--own", &own]);
    assert!(said.contains("returned to it") && said.contains(&format!("peer adopt {shown}")), "{said}");
    let prompt = told(&desk, &["heartbeat-prompt", "--agent", "coder", "--own", &own]);
    assert!(
        prompt.contains(&format!("returned to it, and not decided on yet: {id} of ship-it.2")),
        "{prompt}"
    );
    desk.ok(&adopt.split(' ').collect::<Vec<_>>());
    assert!(!desk.ok(&["attention", "list"]).to_string().contains(&id));
    assert!(desk.ok(&["next", "--agent", "coder", "--own", &own])["returns"].is_null());
    assert!(!told(&desk, &["heartbeat-prompt", "--agent", "coder", "--own", &own]).contains(&id));
}

#[test]
fn a_return_to_what_has_ended_is_a_persons() {
    let (desk, id) = returned();
    desk.ok(&["todo", "cancel", "ship-it.1", "--reason", "no"]);
    let listed = desk.ok(&["attention", "list"]);
    let row = listed["items"].as_array().unwrap().iter().find(|row| row["kind"] == "return").unwrap().clone();
    assert_eq!((&row["rank"], &row["command"]), (&"person".into(), &format!("peer adopt {id}").into()));
    desk.ok(&["peer", "adopt", &id]);
}

#[test]
fn fault_a14_init_refuses_a_criterion_that_the_goal_which_is_there_does_not_have() {
    let desk = Desk::empty();
    let same = ["init", "--goal", "Ship it", "--acceptance", "it is shipped"];
    for round in 0..5 {
        assert_eq!(desk.ok(&same)["created"], round == 0);
    }
    let before = desk.events();
    let error = desk.refused(&[&same[..], &["--acceptance", "and it's fast"]].concat(), "goal_exists", 4);
    assert!(error["message"].as_str().unwrap().contains("\u{ab}and it's fast\u{bb}"), "{error}");
    assert_eq!(
        error["hint"],
        "loopx-core goal update ship-it --acceptance 'it is shipped' --acceptance \"and it's fast\""
    );
    assert_eq!(desk.events(), before);
    desk.proven(&[
        "goal",
        "update",
        "ship-it",
        "--acceptance",
        "it is shipped",
        "--acceptance",
        "and it's fast",
    ]);
    assert_eq!(desk.ok(&[&same[..], &["--acceptance", "and it's fast"]].concat())["created"], false);
    assert_eq!(
        desk.ok(&["init", "--goal", "Ship it"])["created"],
        false,
        "what is not given is not compared"
    );
    desk.proven(&["goal", "close", "ship-it", "--abandoned", "--reason", "no"]);
    let error = desk.refused(&[&same[..], &["--acceptance", "new"]].concat(), "goal_exists", 4);
    assert_eq!(error["hint"], "loopx-core goal reopen ship-it");
}

#[test]
fn a_proposal_is_shown_name_by_name_with_its_answers() {
    let desk = Desk::with_work();
    let add = ["proposal", "add", "--reason", "it is too big", "--as", "agent:coder", "--"];
    let command = ["todo", "add", "Measure it", "--detail", "first", "--depends-on", "ship-it.1"];
    let id = text(&desk.ok(&[&add[..], &command].concat())["proposal"]["proposal_id"]);
    let shown = short(&id);
    let said = told(&desk, &["proposal", "show", &id]);
    for part in ["`todo add` with", "depends on  ship-it.1", "detail      first", "title       Measure it"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for part in ["confirm", "reject", "defer"] {
        assert!(said.contains(&format!("loopx-core proposal {part} {shown}")), "{part}: {said}");
    }
    assert!(!said.contains('{'), "{said}");
    desk.proven(&["proposal", "confirm", &id]);
    let said = told(&desk, &["proposal", "show", &id]);
    assert!(!said.contains("loopx-core proposal"), "it is answered: {said}");
}

#[test]
fn attention_names_its_rows_as_seen_takes_them_and_fits_its_terminal() {
    let desk = Desk::with_work();
    let question = "May we write to the data base of production over the weekend, and who says so?";
    let gate = text(
        &desk.ok(&["gate", "open", question, "--kind", "access", "--blocks", "ship-it.1"])["gate"]["gate_id"],
    );
    let said = told_in(&desk, "60", &["attention", "list"]);
    let name = format!("{}@1", short(&gate));
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("({name}, since ")), "{said}");
    assert!(words.contains("attention seen <ID@VERSION>"), "{said}");
    let texts = said.lines().filter(|line| !line.contains("loopx-core"));
    assert!(texts.clone().all(|line| line.chars().count() <= 60), "{said}");
    assert!(words.contains(question), "nothing is cut: {said}");
    assert_eq!(desk.call(&["attention", "seen", &name]).exit, 0);
}

#[test]
fn a_gate_that_holds_a_result_shows_it_and_its_answers() {
    let desk = Desk::with_work();
    let own = text(&desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"])["own_id"]);
    let done = desk.json(&[
        "todo",
        "done",
        "ship-it.1",
        "--summary",
        "all is well",
        "--as",
        "agent:coder",
        "--own",
        &own,
    ]);
    assert_eq!(done.code(), "held");
    let listed = desk.ok(&["gate", "list"]);
    let (gate, turn) = (text(&listed["items"][0]["gate_id"]), text(&listed["items"][0]["accepts"]));
    let page = desk.ok(&["gate", "show", &gate]);
    assert_eq!(
        (&page["holds"][0]["turn_id"], &page["holds"][0]["summary"]),
        (&Value::from(&*turn), &"all is well".into())
    );
    let (shown, said) = (short(&gate), told(&desk, &["gate", "show", &gate]));
    for part in [
        format!("the result on ship-it.1, Turn {} of coder: \u{ab}all is well\u{bb}", short(&turn)),
        format!("loopx-core turn show {}", short(&turn)),
        format!("loopx-core gate resolve {shown} --approve"),
        format!("to say no: loopx-core gate resolve {shown} --deny"),
        format!("loopx-core gate resolve {shown} --defer 1d"),
    ] {
        assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(&part), "{part}: {said}");
    }
    desk.proven(&["gate", "resolve", &gate, "--approve"]);
    let said = told(&desk, &["gate", "show", &gate]);
    assert!(!said.contains("gate resolve"), "it is answered: {said}");
    let options = ["gate", "open", "Which?", "--blocks", "ship-it.2", "--option", "v1", "--option", "v two"];
    let gate = text(&desk.ok(&options)["gate"]["gate_id"]);
    let said = told(&desk, &["gate", "show", &gate]);
    assert!(said.contains("--answer v1") && said.contains("--answer 'v two'"), "{said}");
}

#[test]
fn every_list_fits_its_terminal_and_keeps_the_id_of_each_row() {
    let desk = Desk::empty();
    desk.ok(&["init", "--goal", "Ship the importer to production", "--acceptance", "it is shipped"]);
    let todo = "ship-the-importer-to-production.1";
    let other = "ship-the-importer-to-production.2";
    desk.ok(&["agent", "add", "coder", "--capability", "rust", "--capability", "the-network-of-the-office"]);
    let title = "Make the importer read what the old one wrote, and all that came before it";
    desk.ok(&["todo", "add", title]);
    desk.ok(&["todo", "add", title, "--coordinates", todo]);
    let question = "May we write to the data base of production over the weekend, and who says so?";
    desk.ok(&["gate", "open", question, "--kind", "access", "--blocks", todo]);
    let reason = "the first of them is too big for one Turn, and nobody would see where it stands";
    let add = ["proposal", "add", "--reason", reason, "--as", "agent:coder", "--"];
    desk.ok(&[&add[..], &["todo", "hold", todo]].concat());
    let own = text(&desk.ok(&["todo", "claim", other, "--as", "agent:coder"])["own_id"]);
    let agent = ["--as", "agent:coder"];
    let pointer = "https://ci.example.org/builds/importer/2026/11/30/17";
    let added = desk.ok(&[&["evidence", "add", pointer, "--kind", "url"][..], &agent].concat());
    let evidence = text(&added["evidence"]["evidence_id"]);
    let found = "two of the three formats are read, and the third is a matter of taste";
    desk.ok(&[&["peer", "return", other, found, "--evidence", &evidence, "--own", &own][..], &agent].concat());
    let digest = "0".repeat(64);
    let intend = ["effect", "intend", other, question, "--key", "k", "--digest", &digest, "--own", &own];
    desk.ok(&[&intend[..], &agent].concat());
    desk.ok(&["reward", "add", reason, "--good", "--todo", todo, "--lesson", title]);
    desk.proven(&["quota", "set", "--turns", "20"]);
    desk.proven(&["quota", "set", "--turns", "20", "--agent", "coder"]);
    // What a list is read for, which is wrapped and not cut; and of each row what the next command takes.
    let whole: [(&[&str], &str); 6] = [
        (&["gate", "list"], question),
        (&["proposal", "list"], reason),
        (&["peer", "list"], found),
        (&["effect", "list"], question),
        (&["reward", "list"], reason),
        (&["evidence", "list"], pointer),
    ];
    for columns in ["60", "80"] {
        let width: usize = columns.parse().unwrap();
        for words in [
            &["todo", "list"][..],
            &["turn", "list"],
            &["agent", "list"],
            &["quota", "show"],
            &["metrics"],
            &["log"],
            &["find", "importer"],
        ]
        .into_iter()
        .chain(whole.map(|(words, _)| words))
        {
            let said = told_in(&desk, columns, words);
            let fits = |line: &str| line.chars().count() <= width;
            assert!(said.lines().all(fits), "{columns} {words:?}:\n{said}");
        }
        for (words, text) in whole {
            let said = told_in(&desk, columns, words).split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains(text), "{columns} {words:?}: {said}");
        }
        for words in [&["todo", "list"][..], &["log"]] {
            let said = told_in(&desk, columns, words);
            assert!(said.contains(todo) && said.contains(other), "{columns} {words:?}: {said}");
        }
    }
}

#[test]
fn exit_codes_that_are_answers_are_listed_where_exit_codes_are() {
    let desk = Desk::empty();
    let own = "10 the agent waits; 11 a person has to act; 12 the Goal is closed";
    for words in [&["--help"][..], &["next", "--help"], &["quota", "should-run", "--help"]] {
        let said = told(&desk, words).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(own), "{words:?}: {said}");
    }
    for page in ["cli", "errors"] {
        let said = told(&desk, &["__reference", page]);
        assert!(said.contains(own) && said.contains("never errors"), "{page}");
    }
    let said = told(&desk, &["loop", "run", "--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("10 the agent waits; 11 a person has to act."), "{said}");
}

#[test]
fn a_program_is_told_a_persons_command_with_the_proof_it_needs() {
    let desk = Desk::with_work();
    desk.ok(&["gate", "open", "May we?", "--kind", "access", "--blocks", "ship-it.1"]);
    let one = |value: &Value| text(value);
    let status = desk.ok(&["status"]);
    let of_status = one(&status["goals"][0]["attention"][0]["command"]);
    let listed = one(&desk.ok(&["attention", "list"])["items"][0]["command"]);
    let why = one(&desk.ok(&["why", "ship-it.1", "--agent", "coder"])["items"][0]["command"]);
    for id in ["ship-it.2", "ship-it.3"] {
        desk.ok(&["todo", "cancel", id, "--reason", "no"]);
    }
    let asked = one(&desk.json(&["next", "--agent", "coder"]).json()["asks"][0]["command"]);
    let should = one(
        &desk.json(&["quota", "should-run", "--agent", "coder"]).json()["decision"]["asks"][0]["command"]
    );
    for command in [of_status, listed, why, asked, should] {
        assert!(
            command.starts_with("gate resolve ") && command.ends_with(&desk.by_token("--approve")),
            "{command}"
        );
    }
    // It runs as it stands, without a shell.
    let command = text(&desk.ok(&["attention", "list"])["items"][0]["command"]);
    desk.ok(&command.split(' ').collect::<Vec<_>>());
    desk.ok(&["gate", "open", "May we?", "--kind", "access", "--blocks", "ship-it.1"]);
    // An agent is shown no way to a person's proof.
    let desk = desk.var("LOOPX_ACTOR", "agent:coder");
    let asked = one(&desk.json(&["next"]).json()["asks"][0]["command"]);
    assert!(asked.ends_with("--approve"), "{asked}");
}

#[test]
fn a_window_of_what_shows_none_is_refused() {
    let desk = Desk::with_work();
    let error = desk.refused(&["quota", "show", "--window", "7d"], "invalid_argument", 2);
    assert!(error["message"].as_str().unwrap().contains("--csv"), "{error}");
    desk.ok(&["quota", "show"]);
    desk.ok(&["quota", "show", "--csv", "day"]);
    desk.ok(&["quota", "show", "--csv", "day", "--window", "1d"]);
}

#[test]
fn an_empty_list_says_what_is_empty_and_what_would_fill_it() {
    let desk = Desk::with_work();
    for (words, says) in [
        (&["peer", "list", "--open"][..], "No return waits for a word in ship-it; "),
        (&["peer", "list"], "Nothing was returned yet in ship-it; "),
        (&["peer", "list", "--todo", "ship-it.1"], "Nothing was returned yet in ship-it.1; "),
        (&["effect", "list", "--open"], "No outside effect is unresolved in ship-it; "),
        (&["effect", "list"], "No outside effect was meant yet in ship-it; "),
        (&["proposal", "list"], "No proposal waits for a person in ship-it; "),
        (&["reward", "list"], "Nobody judged work of ship-it yet; "),
        (&["evidence", "list"], "ship-it has no evidence yet; "),
        (&["gate", "list"], "No gate blocks anything; "),
    ] {
        let said = told(&desk, words).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.starts_with(says), "{words:?}: {said}");
        assert!(said.contains("`loopx-core "), "what would fill it: {said}");
    }
    let (desk, _) = returned();
    desk.ok(&["peer", "adopt", &text(&desk.ok(&["peer", "list"])["items"][0]["return_id"])]);
    let said = told(&desk, &["peer", "list", "--open"]);
    assert!(said.starts_with("No return waits for a word"), "{said}");
}

#[test]
fn a_handoff_of_what_somebody_owns_says_who_and_offers_no_command_that_is_refused() {
    let desk = Desk::with_work();
    desk.ok(&["agent", "add", "other"]);
    assert!(told(&desk, &["handoff", "show", "1"]).contains("handoff accept ship-it.1"));
    desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    let page = desk.ok(&["handoff", "show", "ship-it.1"]);
    assert_eq!(page["handoff"]["owner"]["agent_id"], "coder");
    let said = told(&desk, &["handoff", "show", "1"]);
    assert!(!said.contains("handoff accept"), "{said}");
    for part in
        ["coder owns it until 20", "loopx-core turn show ", "todo release ship-it.1 --force --reason <TEXT>"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    desk.ok(&["todo", "cancel", "ship-it.2", "--reason", "no"]);
    assert!(!told(&desk, &["handoff", "show", "2"]).contains("handoff accept"), "it is over");
}
