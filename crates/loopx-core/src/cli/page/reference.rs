//! Owns the reference page of the command line, `docs/reference/cli.md`.
//!
//! Written by `loopx-core __reference`; a test compares the page in the repository with it.

use super::parts;
use crate::cli::{
    config,
    env::Var,
    render::{Block, Document, markdown},
    table::{Command, GLOBAL, Group},
};

/// The page as Markdown.
pub(in crate::cli) fn reference(program: &str, commands: &[&'static [Command]]) -> String {
    let mut page = Document::new()
        .heading("Command line reference")
        .para("Generated from the flag table by `cargo xtask docs`; do not edit.")
        .para(
            "A command among the arguments is split into words as a shell would split it, and no shell is run; what \
             needs one names it, as in `sh -c '…'`.",
        )
        .para(
            "With `--json` ids are given whole. Times are milliseconds since 1970 (UTC) and lengths of time are \
             milliseconds, in fields whose names end with `_ms`; only `wake.after` is a time under its own word. \
             `goal export` prints rows and events as they are stored: there a time stands in a field that ends with \
             `at`, `until` or `after`, in the same unit.",
        )
        .with(Block::Heading(2, "Options of every command".to_owned()))
        .terms(GLOBAL.iter().map(parts::described));
    for group in Group::ALL {
        for command in commands.iter().copied().flatten().filter(|command| command.group == *group) {
            page = noun(page, program, command);
        }
    }
    let codes = parts::CLASSES.iter().map(|(class, means)| {
        let codes = crate::error::Code::ALL.iter().filter(|code| code.class() == *class);
        let codes: Vec<_> = codes.map(|code| code.as_str()).collect();
        vec![class.exit().to_string(), (*means).to_owned(), codes.join(", ")]
    });
    page = page
        .with(Block::Heading(2, "Exit codes".to_owned()))
        .table(&["Exit", "Meaning", "Codes"], codes.collect())
        .para(parts::answers())
        .with(Block::Heading(2, "Environment".to_owned()))
        .terms(Var::ALL.iter().map(|var| (var.name(), var.about())))
        .with(Block::Heading(2, "Settings".to_owned()))
        .table(&["Key", "Default", "Bounds", "What it bounds"], config::rows());
    markdown(&page)
}

fn noun(page: Document, program: &str, command: &'static Command) -> Document {
    let page = page.with(Block::Heading(2, command.name.to_owned())).para(command.about);
    if command.verbs.is_empty() {
        return verb(page, program, &[command], command);
    }
    let page = command.long.iter().fold(page, |page, para| page.para(*para));
    command.verbs.iter().fold(page, |page, row| {
        let page = page.with(Block::Heading(3, format!("{} {}", command.name, row.name))).para(row.about);
        verb(page, program, &[command, row], row)
    })
}

fn verb(page: Document, program: &str, chain: &[&Command], command: &'static Command) -> Document {
    let called = parts::called(program, chain);
    let usage = parts::usage(command).iter().map(|way| format!("{called} {way}")).collect();
    let page = command.long.iter().fold(page.code(usage), |page, para| page.para(*para));
    let page = page.para(parts::access(command));
    let arguments: Vec<_> =
        parts::positionals(command).chain(parts::options(command)).map(parts::described).collect();
    let page = if arguments.is_empty() { page } else { page.terms(arguments) };
    page.code(parts::examples(program, command)).para("Exit codes:").terms(parts::exits(command))
}
