//! Owns the command line: arguments in, one command out, its answer rendered.
//!
//! Knows no rule and no SQL. A verb is a row of the flag table (`table`) and a `Handler` bound to its words
//! in a `Preset`; the frame does the rest: parsing, help, errors, formats, exit codes.

mod again;
mod builtin;
mod config;
mod context;
mod env;
mod handlers;
mod page;
mod parse;
mod project;
mod render;
mod table;

use std::{ffi::OsString, io::ErrorKind, process::ExitCode};

use self::parse::Route;
pub use self::{
    config::{Key, Settings, Source},
    context::Context,
    env::{Env, Var},
    parse::{Args, Origin, Value, Wake, When},
    project::{Bound, Project, bind, discover},
    render::{Block, Document, Format, Look, Page, Rendered, Stdio},
    table::{Access, Arg, CORE, Command, Example, Group, Kind, Place, example},
};
use crate::{
    error::{Code, Error, Result},
    process,
    registry::Composition,
    turn,
};

/// What a verb does: parsed arguments in, an answer out.
pub type Handler = fn(&mut Context<'_, '_>, &Args) -> Result<Rendered>;

/// A process of LoopX's own, started by LoopX: arguments after its name in, an exit code out.
pub type Inner = fn(&[OsString], &Env, &mut Stdio<'_>) -> u8;

/// The commands a binary offers, and what each does.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Tables of commands, one a tier.
    pub commands: &'static [&'static [Command]],
    /// Handlers by the words of their verb, such as `todo add`.
    pub handlers: &'static [&'static [(&'static str, Handler)]],
    /// Words in front of everything else that no help shows, such as `__guard`.
    pub inner: &'static [(&'static str, Inner)],
}

impl Preset {
    /// The kernel's commands: `loopx-core`, and the minimal preset of `loopx`.
    pub const CORE: Self = Self {
        commands: &[CORE],
        handlers: &[
            &[
                ("completions", builtin::completions),
                ("man", builtin::man),
                ("config get", config::get),
                ("config set", config::set),
                ("config explain", config::explain),
            ],
            handlers::NOUNS,
            handlers::TURNS,
        ],
        inner: &[
            ("__reference", reference),
            (turn::GUARD_WORD, guard),
            (process::EXEC_WORD, exec),
            (process::KEEP_WORD, keep),
        ],
    };

    fn handler(&self, path: &str) -> Option<Handler> {
        self.handlers.iter().copied().flatten().find(|(words, _)| *words == path).map(|(_, handler)| *handler)
    }
}

/// Runs a command with the streams and the environment of this process; a binary's whole `main`.
pub fn run(program: &'static str, preset: &Preset) -> ExitCode {
    let argv: Vec<_> = std::env::args_os().skip(1).collect();
    let env = Env::read();
    ExitCode::from(Stdio::with_process(|stdio| main(program, preset, &argv, &env, stdio)))
}

/// Runs a command and gives its exit code. `argv` does not hold the program's name, which is `program`.
pub fn main(
    program: &'static str,
    preset: &Preset,
    argv: &[OsString],
    env: &Env,
    stdio: &mut Stdio<'_>,
) -> u8 {
    if let Some((name, rest)) = argv.split_first()
        && let Some((_, inner)) = preset.inner.iter().find(|(word, _)| name == word)
    {
        return inner(rest, env, stdio);
    }
    let look = Look::of(argv, env, stdio);
    let call = render::Call { program, argv };
    let answer = answer(call, preset, env, look, stdio);
    match answer {
        Ok(rendered) => render::print(&rendered, call, look, stdio),
        Err(error) => render::print_error(&error, call, look, stdio),
    }
}

fn answer(
    call: render::Call<'_>,
    preset: &Preset,
    env: &Env,
    look: Look,
    stdio: &mut Stdio<'_>,
) -> Result<Rendered> {
    let render::Call { program, argv } = call;
    match parse::route(preset.commands, argv.to_vec())? {
        Route::Version => {
            let line = page::version(program);
            let body = Version { program, version: env!("CARGO_PKG_VERSION") };
            Rendered::new("loopx_version_v1", &body, Document::new().line(line))
        }
        Route::Help(chain) => helped(page::help(program, preset.commands, &chain), look),
        Route::Group(group) => helped(page::group(program, preset.commands, group), look),
        Route::Verb(chain, rest) => {
            let args = parse::parse(&chain, rest, env)?;
            let handler = preset.handler(args.path()).ok_or_else(|| {
                Error::new(Code::NotInstalled, format!("`{}` is not part of this build", args.path()))
                    .hint("--help")
            })?;
            let mut context = Context { program, argv, preset, env, look, stdio, noting: None };
            handler(&mut context, &args).map_err(|error| handlers::explained(&context, &args, error))
        }
    }
}

fn helped(page: Document, look: Look) -> Result<Rendered> {
    let text = render::text(&page, Look { colour: false, ..look });
    Rendered::new("loopx_help_v1", &Help { help: text }, page)
}

#[derive(serde::Serialize)]
struct Version {
    program: &'static str,
    version: &'static str,
}

#[derive(serde::Serialize)]
struct Help {
    help: String,
}

/// `__guard`: the guardian of one attempt of a host.
fn guard(_: &[OsString], _: &Env, _: &mut Stdio<'_>) -> u8 {
    Composition::linked().map_or(1, |hosts| turn::guardian(&hosts))
}

/// `__exec GUARDIAN`: the last step before a guarded program.
fn exec(argv: &[OsString], _: &Env, _: &mut Stdio<'_>) -> u8 {
    process::exec(argv)
}

/// `__keep`: runs that end with whoever asked for them.
fn keep(_: &[OsString], _: &Env, _: &mut Stdio<'_>) -> u8 {
    process::keep()
}

/// `__reference [errors]`: a reference page.
fn reference(argv: &[OsString], _: &Env, stdio: &mut Stdio<'_>) -> u8 {
    let page = match argv.first().and_then(|page| page.to_str()) {
        Some("errors") => page::errors(),
        Some(_) | None => page::reference("loopx", Preset::CORE.commands),
    };
    let written = stdio.out.write_all(page.as_bytes()).and_then(|()| stdio.out.flush());
    u8::from(written.is_err_and(|error| error.kind() != ErrorKind::BrokenPipe))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::takes;
