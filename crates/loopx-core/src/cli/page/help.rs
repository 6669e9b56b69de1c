//! Owns the help screens and the version line.

use super::parts;
use crate::cli::{
    render::Document,
    table::{Command, GLOBAL, Group},
};

/// The version line.
pub(in crate::cli) fn version(program: &str) -> String {
    format!("{program} {}", env!("CARGO_PKG_VERSION"))
}

/// The help of a command; of everything for an empty chain.
pub(in crate::cli) fn help(
    program: &str,
    commands: &[&'static [Command]],
    chain: &[&'static Command],
) -> Document {
    match chain.last() {
        None => top(program, commands),
        Some(noun) if !noun.verbs.is_empty() => self::noun(program, chain, noun),
        Some(verb) => self::verb(program, chain, verb),
    }
}

fn top(program: &str, commands: &[&'static [Command]]) -> Document {
    let mut rows = Vec::new();
    for group in Group::ALL {
        let title = group.title();
        if *group == Group::Start {
            // What the first minutes need is described here; the rest is a word away.
            rows.extend(members(commands, *group).enumerate().map(|(at, command)| {
                let title = if at == 0 { title } else { "" };
                (format!("{title:8} {}", command.name), command.about.to_owned())
            }));
        } else {
            let names: Vec<_> = members(commands, *group).map(|command| command.name).collect();
            rows.push((title.to_owned(), names.join(", ")));
        }
    }
    let mut globals: Vec<_> = GLOBAL.iter().map(parts::described).collect();
    let of = format!("Help; `{program} COMMAND --help`, `{program} help GROUP`");
    globals.push(("-h, --help".to_owned(), of));
    globals.push(("-V, --version".to_owned(), "The version".to_owned()));
    let classes = parts::CLASSES.iter().map(|(class, means)| format!("{} {means}", class.exit()));
    let exits: Vec<_> = std::iter::once("0 done".to_owned()).chain(classes).collect();
    Document::new()
        .line("LoopX: what is true about the work of AI agents.")
        .line(format!("Usage: {program} [OPTIONS] <COMMAND>"))
        .terms(rows)
        .heading("Options of every command")
        .terms(globals)
        .para(format!("Exit codes: {}.", exits.join("; ")))
        .para(parts::answers())
        .heading("Examples")
        .code(vec![format!("{program} try")])
}

fn members(commands: &[&'static [Command]], group: Group) -> impl Iterator<Item = &'static Command> {
    commands.iter().copied().flatten().filter(move |command| command.group == group)
}

/// The help of the commands below one heading of the top screen.
pub(in crate::cli) fn group(program: &str, commands: &[&'static [Command]], group: Group) -> Document {
    let first = members(commands, group).flat_map(|command| {
        let verbs = command.verbs.iter().flat_map(|verb| verb.examples);
        command.examples.iter().chain(verbs).take(1)
    });
    let examples = first.take(3).map(|example| format!("{program} {}", example.line)).collect();
    Document::new()
        .para(group.about())
        .heading(group.title())
        .terms(members(commands, group).map(|command| (command.name, command.about)))
        .heading("Examples")
        .code(examples)
        .line(format!("Help of a command: {program} <COMMAND> --help"))
}

fn noun(program: &str, chain: &[&'static Command], noun: &'static Command) -> Document {
    let called = parts::called(program, chain);
    let mut page = Document::new().para(noun.about).para(format!("Usage: {called} <VERB>"));
    for para in noun.long {
        page = page.para(*para);
    }
    let firsts = noun.verbs.iter().filter_map(|verb| verb.examples.first());
    let examples = firsts.take(3).map(|example| format!("{program} {}", example.line)).collect();
    page.heading("Verbs")
        .terms(noun.verbs.iter().map(|verb| (verb.name, verb.about)))
        .heading("Examples")
        .code(examples)
        .line(format!("Help of a verb: {called} <VERB> --help"))
}

fn verb(program: &str, chain: &[&'static Command], verb: &'static Command) -> Document {
    let called = parts::called(program, chain);
    let page = Document::new().para(verb.about);
    let ways = parts::usage(verb);
    let mut page = match ways.as_slice() {
        [only] => page.para(format!("Usage: {called} {only}")),
        several => several.iter().enumerate().fold(page, |page, (at, way)| {
            page.line(format!("{} {called} {way}", if at == 0 { "Usage:" } else { "      " }))
        }),
    };
    for para in verb.long {
        page = page.para(*para);
    }
    let has_positionals = parts::positionals(verb).next().is_some();
    let mut args: Vec<_> = parts::positionals(verb).chain(parts::options(verb)).map(parts::brief).collect();
    args.push(("-h, --help".to_owned(), format!("Help; options of all commands: {program} --help")));
    let page = page
        .heading(if has_positionals { "Arguments and options" } else { "Options" })
        .terms(args)
        .heading("Examples")
        .code(parts::brief_examples(program, verb));
    match parts::own_exits(verb) {
        Some(own) => page.para(own),
        None => page,
    }
}
