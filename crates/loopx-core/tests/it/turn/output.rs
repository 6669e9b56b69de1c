//! What a host and a validator printed: kept on this machine, shown to whoever asks for it, and nowhere else.

use std::{fs, process::Output};

use super::place::{Answer, Place, answer, until};

/// A word that only a host or a validator says.
const WORD: &str = "mimosa";

fn run_once(place: &Place, work: &str) -> Answer {
    place.host(work);
    let run: Vec<&str> = place.run("r1").into_iter().chain(["--attempts", "1"]).collect();
    place.call("user:ana", &run)
}

fn output(place: &Place) -> Answer {
    place.call("user:ana", &["turn", "show", &place.turn_id(), "--output"]).ok()
}

/// The same for a person.
fn read(place: &Place) -> Output {
    let turn_id = place.turn_id();
    let words = ["turn", "show", turn_id.as_str(), "--output", "--goal", "g"];
    place.plain("user:ana", &words).output().unwrap()
}

fn hint(place: &Place) -> String {
    format!("loopx-core turn show {} --output", place.turn_id())
}

/// Whether some file of the profile whose name begins so holds the word.
fn holds(place: &Place, name: &str) -> bool {
    let profile = place.root().join("home/profiles/default");
    let files = fs::read_dir(profile).unwrap().flatten();
    let ours = files.filter(|file| file.file_name().to_string_lossy().starts_with(name));
    ours.map(|file| fs::read(file.path()).unwrap())
        .any(|bytes| bytes.windows(WORD.len()).any(|part| part == WORD.as_bytes()))
}

#[test]
fn a_crash_shows_its_status_and_its_stderr_to_the_owner_alone() {
    let place = Place::new("exit 0");
    let ended = run_once(&place, &format!("printf 'first\\n\\033[31m{WORD}\\033]0;x\\a\\n' >&2; exit 3"));
    assert_eq!(ended.code(), "host_unavailable");
    assert_eq!(ended.text("/error/hint"), hint(&place));
    let shown = output(&place);
    assert_eq!(shown.text("/schema_version"), "loopx_turn_output_v1");
    assert_eq!(shown.text("/output/0/ending/ended"), "exit 3");
    assert!(shown.text("/output/0/diagnostics").contains(WORD), "{}", shown.json);
    // a terminal is not steered by it
    let told = read(&place);
    let text = String::from_utf8(told.stdout).unwrap();
    assert!(text.contains("exit 3") && text.contains(WORD) && text.contains("first\n"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
    // and it is nowhere else
    let turn_id = place.turn_id();
    let others: [&[&str]; 5] = [
        &["turn", "show", &turn_id],
        &["turn", "list", "--todo", "g.1"],
        &["log", "--limit", "1000"],
        &["goal", "export", "g"],
        &["status"],
    ];
    assert!(!ended.json.to_string().contains(WORD));
    for words in others {
        let said = place.call("user:ana", words).ok();
        assert!(!said.json.to_string().contains(WORD), "{words:?}");
    }
    assert!(holds(&place, "private.db") && !holds(&place, "authority.db"));
}

#[test]
fn a_signal_a_deadline_and_a_bad_result_say_what_they_were() {
    let place = Place::new("exit 0");
    run_once(&place, "kill -9 $$");
    assert_eq!(output(&place).text("/output/0/ending/ended"), "killed by signal 9");

    let place = Place::new("exit 0");
    place.host("echo going to sleep >&2; sleep 300");
    let run: Vec<&str> = place.run("r1").into_iter().chain(["--deadline", "1s"]).collect();
    place.call("user:ana", &run);
    let shown = output(&place);
    assert_eq!(shown.text("/output/0/ending/ended"), "ended by LoopX at its deadline");
    assert_eq!(shown.text("/output/0/diagnostics"), "going to sleep\n");

    // what the host printed as its result can be read when it is none, and the refusal names the key
    let place = Place::new("exit 0");
    place.script("host.sh", "cat > /dev/null; printf '{\"summary\": 7, \"colour\": \"mimosa\"}'");
    let ended = place.call("user:ana", &place.run("r1"));
    assert_eq!(ended.text("/error/details/failure"), "result_invalid");
    assert!(
        ended
            .text("/error/message")
            .contains(": the result has a key nobody reads: colour; mend what it prints"),
        "{}",
        ended.json
    );
    assert!(!ended.json.to_string().contains(WORD));
    assert!(output(&place).text("/output/0/stdout").contains(WORD));
}

#[test]
fn where_nothing_was_kept_it_says_so() {
    let place = Place::new("exit 0");
    let ended = {
        place.script("host.sh", "exit 0");
        place.call("user:ana", &place.run("r1"))
    };
    assert_eq!(ended.text("/error/details/failure"), "result_missing");
    let shown = output(&place);
    assert_eq!(shown.json.pointer("/output/0/kept"), Some(&true.into()));
    let text = String::from_utf8(read(&place).stdout).unwrap();
    assert!(text.contains("it printed nothing"), "{text}");
    // an attached Turn that nothing ran for
    let place = Place::new("exit 0");
    place.own("agent:a");
    let text = String::from_utf8(read(&place).stdout).unwrap();
    assert!(text.contains("no host and no validator ran"), "{text}");
}

#[test]
fn a_validator_is_heard_and_what_it_said_before_never_passes_for_now() {
    let place = Place::new(&format!("echo {WORD}; echo worse >&2; exit 1"));
    let own = place.own("agent:a");
    let refused = place.call("agent:a", &["todo", "done", "g.1", "--own", &own]);
    assert_eq!(refused.text("/error/hint"), hint(&place));
    let shown = output(&place);
    assert_eq!(shown.text("/output/0/diagnostics"), format!("[sh check.sh: exit 1]\n{WORD}\nworse\n"));
    // the log says who said it
    let said = place.events("turn.validated");
    assert_eq!(said[0]["said_by"], "validator");
    assert_eq!(said[0]["text"], "`sh check.sh` failed: exit 1: worse");
    let log = place.plain("user:ana", &["log", "--goal", "g"]).output().unwrap();
    let log = String::from_utf8(log.stdout).unwrap();
    let line = log.lines().find(|line| line.contains("worse")).unwrap();
    assert!(line.contains(" validator ") && !line.contains("agent:a"), "{line}");
    // a second examination that is silent leaves nothing of the first to read
    let place = Place::new(&format!("echo {WORD}; exit 127"));
    run_once(&place, "true");
    assert!(output(&place).json.to_string().contains(WORD));
    place.script("check.sh", "exit 0");
    place.call("user:ana", &["turn", "recover", &place.turn_id(), "--resume"]).ok();
    let shown = output(&place);
    assert!(!shown.json.to_string().contains(WORD), "{}", shown.json);
}

#[test]
fn what_lasts_is_told_on_stderr_and_stdout_stays_one_object() {
    let place = Place::new("exit 0");
    place.host("while [ ! -f ../go ]; do sleep 0.02; done");
    let mut command = place.command("user:ana", &place.run("r1"), &[]);
    let told = place.root().join("told");
    command.stdout(std::process::Stdio::piped()).stderr(fs::File::create(&told).unwrap());
    let run = command.spawn().unwrap();
    let seen = || fs::read_to_string(&told).unwrap();
    until("a line is told", || {
        let told = seen();
        told.contains("attempt 1, the host works: ") && told.ends_with(" of at most 30m\n")
    });
    fs::write(place.root().join("go"), "").unwrap();
    let ended = answer(&run.wait_with_output().unwrap());
    assert_eq!((ended.exit, ended.text("/turn/state")), (Some(0), "settled"));
    assert!(seen().starts_with("the Turn trn_") && seen().ends_with("the Turn is settled\n"), "{}", seen());
}
