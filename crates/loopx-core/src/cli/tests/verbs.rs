//! What must hold between the flag table, the handlers and the nouns: nothing offered that nobody knows.

use std::collections::BTreeSet;

use super::{
    call_in,
    table::{parsed, verbs},
};
use crate::{
    cli::{Access, Env, Kind, Preset},
    model::{EvidenceKind, EvidenceVerdict, GateKind, Priority, Privacy, TodoKind, Unvalidated},
    projection::word,
};

#[test]
fn every_verb_has_one_handler_and_every_handler_a_verb() {
    let bound: Vec<_> = Preset::CORE.handlers.iter().copied().flatten().map(|(words, _)| *words).collect();
    let unique: BTreeSet<_> = bound.iter().collect();
    assert_eq!(unique.len(), bound.len(), "a verb is bound twice");
    let paths: Vec<_> = verbs().into_iter().map(|(path, _)| path).collect();
    for path in &paths {
        assert!(bound.contains(&path.as_str()), "`{path}` has no handler");
    }
    for words in bound {
        assert!(paths.iter().any(|path| path == words), "`{words}` is no verb");
    }
}

/// The words that an argument of a verb offers.
fn choices(path: &str, id: &str) -> BTreeSet<&'static str> {
    let (_, verb) = verbs().into_iter().find(|(found, _)| found == path).unwrap();
    match verb.args.iter().find(|arg| arg.id == id).map(|arg| arg.kind) {
        Some(Kind::Choice(words)) => words.iter().copied().collect(),
        other => panic!("{path} --{id}: {other:?}"),
    }
}

#[test]
fn the_words_of_the_table_are_those_of_the_nouns() {
    let set = |words: &[&'static str]| words.iter().copied().collect::<BTreeSet<_>>();
    let kinds = [TodoKind::Advance, TodoKind::Monitor, TodoKind::Replan, TodoKind::Blocker, TodoKind::Action];
    let kinds = set(&kinds.map(TodoKind::as_str));
    assert_eq!(choices("todo list", "kind"), kinds);
    let made: BTreeSet<_> = kinds.iter().copied().filter(|kind| *kind != "replan").collect();
    assert_eq!(choices("todo add", "kind"), made, "only the system makes a replan");
    assert_eq!(choices("todo add", "priority"), set(&Priority::ALL.map(Priority::as_str)));
    assert_eq!(choices("todo list", "state"), set(&["open", "deferred", "blocked", "done", "cancelled"]));
    let gates = [
        GateKind::Decision,
        GateKind::Approval,
        GateKind::Credential,
        GateKind::Access,
        GateKind::Publication,
        GateKind::Direction,
    ];
    assert_eq!(choices("gate open", "kind"), set(&gates.map(GateKind::as_str)));
    assert_eq!(choices("gate list", "kind"), set(&gates.map(GateKind::as_str)));
    let spelled = |words: Vec<String>| words.into_iter().collect::<BTreeSet<String>>();
    let offered = |path, id| choices(path, id).into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    let evidence = [
        EvidenceKind::File,
        EvidenceKind::Commit,
        EvidenceKind::Url,
        EvidenceKind::Check,
        EvidenceKind::Note,
    ];
    assert_eq!(offered("evidence add", "kind"), spelled(evidence.iter().map(word).collect()));
    let verdicts = [EvidenceVerdict::Accepted, EvidenceVerdict::Rejected, EvidenceVerdict::Unchecked];
    assert_eq!(offered("evidence add", "verdict"), spelled(verdicts.iter().map(word).collect()));
    assert_eq!(offered("evidence list", "verdict"), spelled(verdicts.iter().map(word).collect()));
    assert_eq!(
        offered("evidence add", "privacy"),
        spelled([Privacy::Public, Privacy::Owner].iter().map(word).collect())
    );
    let policies = [Unvalidated::Ask, Unvalidated::Trust];
    assert_eq!(offered("goal start", "unvalidated"), spelled(policies.iter().map(word).collect()));
}

/// Every reading verb, by the examples of the table, in a place that has what they name.
#[test]
fn every_reading_verb_of_the_table_changes_no_byte() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    let home = dir.path().join("home");
    let run = dir.path().join("run");
    let pairs = [
        ("LOOPX_HOME", home.as_path()),
        ("XDG_RUNTIME_DIR", run.as_path()),
        ("LOOPX_ACTOR", std::path::Path::new("user:ana")),
    ];
    let env = Env::from_pairs(pairs).in_folder(&folder);
    let mut made = vec!["init --goal importer".to_owned(), "agent add coder".to_owned()];
    made.extend((1..9).map(|n| format!("todo add 'login {n}'")));
    for line in made {
        let words = shlex::split(&line).unwrap();
        let ended = call_in(&env, &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ended.exit, 0, "{line}: {ended:?}");
    }
    let before = bytes(&home);
    let mut called = 0;
    for (_, verb) in verbs() {
        if verb.access != Access::Reads {
            continue;
        }
        // One that stays is called as a process, by the tests of the binary.
        let ends = |line: &str| !parsed(line).unwrap().writes() && !line.contains("--watch");
        for example in verb.examples.iter().filter(|example| ends(example.line)) {
            let words = shlex::split(example.line).unwrap();
            let ended = call_in(&env, &words.iter().map(String::as_str).collect::<Vec<_>>());
            // A decision that is no work has an exit code of its own.
            let is_answered = matches!(ended.exit, 0 | 10..=12);
            let missing = ["there is no", "has no event", "no Turn on"];
            let is_missing =
                missing.iter().any(|what| [&ended.err, &ended.out].iter().any(|said| said.contains(what)));
            assert!(is_answered || is_missing, "{}: {ended:?}", example.line);
            assert!(bytes(&home) == before, "`{}` changes something", example.line);
            called += 1;
        }
    }
    assert!(called > 20, "{called}");
}

/// All files below a folder but the shared memory of readers.
fn bytes(below: &std::path::Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    let mut open = vec![below.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if !path.to_string_lossy().ends_with("-shm") {
                found.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}
