//! What must hold of every row of the flag table.

use std::{collections::BTreeSet, ffi::OsString};

use super::{super::table::GLOBAL, call};
use crate::cli::{
    Access, Arg, CORE, Command, Env, Kind, Place,
    parse::{self, Route},
};

/// Every verb with the words that name it.
pub(super) fn verbs() -> Vec<(String, &'static Command)> {
    let deep = |command: &'static Command| {
        let lone = command.verbs.is_empty().then(|| (command.name.to_owned(), command));
        lone.into_iter()
            .chain(command.verbs.iter().map(|verb| (format!("{} {}", command.name, verb.name), verb)))
    };
    CORE.iter().flat_map(deep).collect()
}

/// Parses a line, as a shell would hand it over.
pub(super) fn parsed(line: &str) -> crate::error::Result<parse::Args> {
    let words = shlex::split(line).unwrap().into_iter().map(OsString::from).collect();
    match parse::route(&[CORE], words)? {
        Route::Verb(chain, rest) => parse::parse(&chain, rest, &Env::default()),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn the_commands_of_step_one_are_there() {
    let names: Vec<_> = CORE.iter().map(|command| command.name).collect();
    for name in
        "try init status find goal todo gate agent evidence proposal turn loop doctor log audit verify config token completions man"
            .split_whitespace()
    {
        assert!(names.contains(&name), "{name} is gone from {names:?}");
    }
    let todo = CORE.iter().find(|command| command.name == "todo").unwrap();
    for verb in
        "add list show claim renew progress done release transfer update link unlink defer block unblock \
                 hold unhold resolve look cancel reopen"
            .split_whitespace()
    {
        assert!(todo.verbs.iter().any(|row| row.name == verb), "todo {verb}");
    }
}

#[test]
fn every_verb_has_an_example_that_its_own_parser_takes() {
    for (path, verb) in verbs() {
        assert!(!verb.examples.is_empty(), "{path} has no example");
        for example in verb.examples {
            let args = parsed(example.line).unwrap_or_else(|e| panic!("{}: {e}", example.line));
            assert_eq!(args.path(), path, "{}", example.line);
            assert!(!example.does.is_empty() && !example.does.ends_with('.'), "{path}: {}", example.does);
        }
    }
}

#[test]
fn no_word_and_no_flag_stands_twice() {
    fn words(commands: &[Command], path: &str) {
        let mut seen = BTreeSet::new();
        for command in commands {
            for word in std::iter::once(&command.name).chain(command.aliases) {
                assert!(seen.insert(*word), "{path} {word} twice");
            }
            words(command.verbs, command.name);
        }
    }
    words(CORE, "");
    for (path, verb) in verbs() {
        let mut flags = BTreeSet::new();
        let globals = GLOBAL.iter().filter(|global| verb.args.iter().all(|arg| arg.id != global.id));
        for arg in verb.args.iter().chain(globals) {
            assert!(flags.insert(arg.id), "{path} --{}", arg.id);
        }
    }
}

#[test]
fn every_row_is_whole() {
    for (path, verb) in verbs() {
        assert!(verb.about.ends_with('.'), "{path}: {}", verb.about);
        let ids: Vec<_> = verb.args.iter().map(|arg| arg.id).collect();
        for arg in verb.args {
            whole(&path, arg);
            for other in arg.conflicts.iter().chain(arg.needs) {
                assert!(ids.contains(other), "{path} --{} names --{other}", arg.id);
            }
        }
        assert!(verb.one_of.is_empty() || verb.one_of.len() > 1, "{path}");
        assert!(verb.one_of.iter().all(|id| ids.contains(id)), "{path}");
        let codes: BTreeSet<_> = verb.codes.iter().collect();
        assert_eq!(codes.len(), verb.codes.len(), "{path} names a code twice");
    }
    for arg in GLOBAL {
        whole("global", arg);
    }
}

fn whole(path: &str, arg: &Arg) {
    let name = format!("{path} {}", arg.id);
    assert!(arg.help.starts_with(char::is_uppercase) && !arg.help.ends_with('.'), "{name}: {}", arg.help);
    assert!(arg.id.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{name}");
    assert_eq!(arg.value.is_empty(), arg.place == Place::Switch, "{name}");
    assert!(!(arg.required && arg.default.is_some()), "{name}");
    if let Some(key) = arg.setting {
        assert!(crate::cli::Key::named(key).is_ok(), "{name} names the setting {key}");
    }
    if let (Kind::Choice(words), Some(default)) = (arg.kind, arg.default) {
        assert!(words.contains(&default), "{name}");
    }
}

#[test]
fn a_setting_that_names_a_flag_is_named_by_it() {
    for key in crate::cli::config::KEYS {
        let Some(flag) = key.flag else { continue };
        let all = verbs();
        let args = all.iter().flat_map(|(_, verb)| verb.args).chain(GLOBAL);
        assert!(args.into_iter().any(|arg| arg.id == flag && arg.setting == Some(key.name)), "{}", key.name);
        assert!(key.default.is_none_or(|value| key.check(value).is_ok()), "{}", key.name);
    }
}

#[test]
fn what_lists_or_shows_reads_and_what_moves_writes() {
    for (path, verb) in verbs() {
        let reads = ["list", "show", "plan", "get", "explain", "export", "diff", "verify"];
        match verb.name {
            name if reads.contains(&name) => assert_eq!(verb.access, Access::Reads, "{path}"),
            "status" | "find" | "log" | "doctor" | "next" | "why" | "should-run" | "heartbeat-prompt"
            | "check" | "metrics" => assert_eq!(verb.access, Access::Reads, "{path}"),
            "completions" | "man" => assert_eq!(verb.access, Access::Pure, "{path}"),
            _ => assert_eq!(verb.access, Access::Writes, "{path}"),
        }
    }
    assert!(!parsed("doctor").unwrap().writes());
    assert!(parsed("doctor --accept-clock").unwrap().writes());
}

#[test]
fn every_choice_and_every_flag_is_refused_with_a_typed_error() {
    for (path, verb) in verbs() {
        let mut line: Vec<&str> = path.split(' ').collect();
        line.push("--no-such-flag");
        let ended = call(&line);
        assert_eq!(ended.exit, 2, "{path}");
        assert!(ended.err.starts_with("error: ") && ended.err.contains("\nhint: loopx "), "{}", ended.err);
        for arg in
            verb.args.iter().filter(|arg| matches!(arg.kind, Kind::Choice(_)) && arg.place == Place::Option)
        {
            let given = format!("--{}=no-such-word", arg.id);
            let example =
                verb.examples.iter().find(|example| !example.line.contains(&format!("--{}", arg.id)));
            let Some(example) = example else { continue };
            let error = parsed(&format!("{} {given}", example.line)).unwrap_err();
            assert!(error.message().contains(arg.id), "{path}: {error}");
        }
    }
}
