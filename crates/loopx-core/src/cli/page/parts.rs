//! Owns the pieces that help, manual and reference share: usage, arguments, examples, exit codes.

use unicode_width::UnicodeWidthStr as _;

use crate::{
    cli::table::{Access, Arg, Command, DECISIONS, Kind, Place},
    error::Class,
};

/// The words of a command, the program's name first.
pub(super) fn called(program: &str, chain: &[&Command]) -> String {
    let mut words = vec![program];
    words.extend(chain.iter().map(|command| command.name));
    words.join(" ")
}

/// The usage of a verb after its words; one line for each way where several are.
pub(super) fn usage(command: &Command) -> Vec<String> {
    if !command.verbs.is_empty() {
        return vec!["<VERB>".to_owned()];
    }
    let one = |way: Option<String>| {
        let mut parts = vec!["[OPTIONS]".to_owned()];
        parts.extend(options(command).filter(|arg| arg.required).map(spelled));
        parts.extend(way);
        parts.extend(positionals(command).map(|arg| {
            let dots = if arg.many { "..." } else { "" };
            if arg.required { format!("<{}>{dots}", arg.value) } else { format!("[{}]{dots}", arg.value) }
        }));
        parts.join(" ")
    };
    if command.one_of.is_empty() {
        return vec![one(None)];
    }
    command
        .args
        .iter()
        .filter(|arg| command.one_of.contains(&arg.id))
        .map(|arg| one(Some(spelled(arg))))
        .collect()
}

/// The positional arguments in order.
pub(super) fn positionals(command: &Command) -> impl Iterator<Item = &'static Arg> {
    command.args.iter().filter(|arg| arg.place == Place::Positional)
}

/// The flags in order.
pub(super) fn options(command: &Command) -> impl Iterator<Item = &'static Arg> {
    command.args.iter().filter(|arg| arg.place != Place::Positional)
}

/// An argument as it is typed, with the name of its value.
pub(super) fn spelled(arg: &Arg) -> String {
    match arg.place {
        Place::Positional => format!("<{}>", arg.value),
        Place::Switch => format!("--{}", arg.id),
        Place::Option => format!("--{} <{}>", arg.id, arg.value),
    }
}

/// An argument and all that is to be known of it.
pub(super) fn described(arg: &Arg) -> (String, String) {
    let repeated = arg.many.then(|| "can be repeated".to_owned());
    (spelled(arg), format!("{}{}", arg.help, notes(arg, repeated, "default from ")))
}

/// As [`described`], for a screen: dots say that it can be repeated.
pub(super) fn brief(arg: &Arg) -> (String, String) {
    let dots = if arg.many { "..." } else { "" };
    (format!("{}{dots}", spelled(arg)), format!("{}{}", arg.help, notes(arg, None, "else ")))
}

fn notes(arg: &Arg, repeated: Option<String>, from_setting: &str) -> String {
    let mut notes = Vec::new();
    if let Kind::Choice(words) = arg.kind
        && arg.place != Place::Switch
        && !words.join("|").eq_ignore_ascii_case(arg.value)
    {
        notes.push(words.join(", "));
    }
    if arg.required && arg.place != Place::Positional {
        notes.push("required".to_owned());
    }
    notes.extend(repeated);
    if let Some(default) = arg.default {
        notes.push(format!("default {default}"));
    }
    if let Some(var) = arg.env {
        notes.push(format!("or {}", var.name()));
    }
    if let Some(key) = arg.setting
        && key != arg.id
    {
        notes.push(format!("{from_setting}{key}"));
    }
    if arg.writes {
        notes.push("writes".to_owned());
    }
    if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) }
}

/// Lines that work, each with what it does.
pub(super) fn examples(program: &str, command: &Command) -> Vec<String> {
    let lines = command.examples.iter();
    lines
        .flat_map(|example| [format!("{program} {}", example.line), format!("    {}", example.does)])
        .collect()
}

/// As [`examples`], for a screen: what a line does stands behind it, where it fits.
pub(super) fn brief_examples(program: &str, command: &Command) -> Vec<String> {
    const ROOM: usize = 78;
    let lines = command.examples.iter().flat_map(|example| {
        let line = format!("{program} {}", example.line);
        let both = format!("{line}  # {}", example.does);
        if both.width() <= ROOM { vec![both] } else { vec![line, format!("    # {}", example.does)] }
    });
    lines.collect()
}

/// The exit codes that a command has beside those of every command, with the codes of their errors; none where it
/// has none.
pub(super) fn own_exits(command: &Command) -> Option<String> {
    let own = |class: Class| {
        let codes = command.codes.iter().filter(|code| code.class() == class);
        let codes: Vec<_> = codes.map(|code| code.as_str()).collect();
        (!codes.is_empty()).then(|| format!("{} {}", class.exit(), codes.join(", ")))
    };
    let answers = command.answers.iter().map(|(exit, means)| format!("{exit} {means}"));
    let rows: Vec<_> = CLASSES.iter().filter_map(|(class, _)| own(*class)).chain(answers).collect();
    (!rows.is_empty()).then(|| format!("Exit codes: {}.", rows.join("; ")))
}

/// The exit codes of a command: its own ones, and those of every command.
pub(super) fn exits(command: &Command) -> Vec<(String, String)> {
    let mut rows = vec![("0".to_owned(), "done".to_owned())];
    for (class, means) in CLASSES {
        let codes = command.codes.iter().filter(|code| code.class() == *class);
        let codes: Vec<_> = codes.map(|code| code.as_str()).collect();
        let is_general = match class {
            Class::Usage => true,
            Class::Store => command.access != Access::Pure,
            _ => false,
        };
        if !codes.is_empty() {
            rows.push((class.exit().to_string(), format!("{means}: {}", codes.join(", "))));
        } else if is_general {
            rows.push((class.exit().to_string(), (*means).to_owned()));
        }
    }
    rows.extend(command.answers.iter().map(|(exit, means)| (exit.to_string(), (*means).to_owned())));
    rows
}

/// The exit codes that are answers and no errors, and which commands have them, in one sentence.
pub(super) fn answers() -> String {
    let all: Vec<_> = DECISIONS.iter().map(|(exit, means)| format!("{exit} {means}")).collect();
    format!(
        "Answers and never errors, of `next` and `quota should-run` (10 and 11 of `loop run` too): {}.",
        all.join("; ")
    )
}

/// The classes of errors, in the order of their exit codes.
pub(super) const CLASSES: &[(Class, &str)] = &[
    (Class::Negative, "the answer is no"),
    (Class::Usage, "the input cannot be taken"),
    (Class::Unavailable, "something needed is not there"),
    (Class::Conflict, "somebody else, or another state, is in the way"),
    (Class::Uncertain, "what happened is not known yet"),
    (Class::Refused, "a rule forbids it"),
    (Class::Store, "the ledger cannot serve"),
];

/// What a command does to state, as a sentence.
pub(super) fn access(command: &Command) -> &'static str {
    match command.access {
        Access::Pure => "It looks at nothing but its arguments.",
        Access::Writes => "It writes.",
        Access::Reads if command.args.iter().any(|arg| arg.writes) => {
            "It reads, unless a flag below says that it writes."
        }
        Access::Reads => "It reads and changes nothing.",
    }
}
