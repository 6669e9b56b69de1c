//! Owns the manual pages.

use super::parts;
use crate::cli::{
    env::Var,
    render::{Document, roff},
    table::{Command, GLOBAL},
};

/// The manual page of a command in roff; of everything for an empty chain.
pub(in crate::cli) fn man(
    program: &str,
    commands: &[&'static [Command]],
    chain: &[&'static Command],
) -> String {
    let name = parts::called(program, chain).replace(' ', "-");
    let page = match chain.last() {
        None => top(program, commands),
        Some(command) => self::command(program, chain, command),
    };
    let title = name.to_uppercase();
    let version = env!("CARGO_PKG_VERSION");
    format!(".TH \"{title}\" 1 \"\" \"LoopX {version}\" \"LoopX\"\n{}", roff(&page))
}

fn top(program: &str, commands: &[&'static [Command]]) -> Document {
    let rows = commands.iter().copied().flatten().flat_map(|command| {
        let verbs = command
            .verbs
            .iter()
            .map(|verb| (format!("{program} {} {}", command.name, verb.name), verb.about));
        let lone = command.verbs.is_empty().then(|| (format!("{program} {}", command.name), command.about));
        lone.into_iter().chain(verbs)
    });
    let files = [
        ("$LOOPX_HOME/profiles/NAME/", "A profile: its ledger, private store, locks and `profile.toml`."),
        (".loopx/project.toml", "The profile and the Goal a folder is bound to."),
    ];
    let classes = parts::CLASSES.iter().map(|(class, means)| (class.exit().to_string(), *means));
    Document::new()
        .heading("Name")
        .para(format!("{program} - what is true about the work of AI agents"))
        .heading("Synopsis")
        .para(format!("`{program}` [OPTIONS] COMMAND"))
        .heading("Description")
        .para(
            "Agents execute; LoopX owns what is true about the work: Goals, Todos, who owns them, which gate waits \
             for a person, what was proven, what was accepted. An agent's words are a proposal; only a validated \
             commit in the authority is a fact.",
        )
        .para(format!("`{program} man COMMAND` prints the page of one command."))
        .heading("Commands")
        .terms(rows)
        .heading("Options")
        .terms(GLOBAL.iter().map(parts::described))
        .heading("Exit status")
        .terms(std::iter::once(("0".to_owned(), "done")).chain(classes))
        .heading("Environment")
        .terms(Var::ALL.iter().map(|var| (var.name(), var.about())))
        .heading("Files")
        .terms(files)
}

fn command(program: &str, chain: &[&'static Command], command: &'static Command) -> Document {
    let called = parts::called(program, chain);
    let mut page = Document::new()
        .heading("Name")
        .para(format!("{} - {}", called.replace(' ', "-"), command.about.trim_end_matches('.')))
        .heading("Synopsis")
        .lines(parts::usage(command).iter().map(|way| format!("`{called}` {way}")))
        .heading("Description")
        .para(command.about);
    for para in command.long {
        page = page.para(*para);
    }
    if !command.verbs.is_empty() {
        return page.heading("Verbs").terms(command.verbs.iter().map(|verb| (verb.name, verb.about)));
    }
    page = page.para(parts::access(command));
    let arguments = parts::positionals(command).chain(parts::options(command)).map(parts::described);
    page.heading("Options")
        .terms(arguments)
        .para(format!("The options of every command stand in `{program} man`."))
        .heading("Examples")
        .code(parts::examples(program, command))
        .heading("Exit status")
        .terms(parts::exits(command))
}
