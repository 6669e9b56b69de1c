//! Owns the handlers of the commands that need nothing but the table: `completions` and `man`.

use serde::Serialize;

use super::{Context, page, parse::Args, parse::walk, render::Document, render::Rendered};
use crate::error::{Code, Error, Result};

#[derive(Serialize)]
struct Script<'a> {
    shell: &'a str,
    script: &'a str,
}

/// `completions SHELL`.
pub(super) fn completions(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let shell = args.needed("shell")?;
    let script = page::completions(context.program, context.preset.commands, shell)
        .ok_or_else(|| Error::new(Code::Internal, format!("no completions for {shell}")))?;
    Rendered::new(
        "loopx_completions_v1",
        &Script { shell, script: &script },
        Document::new().verbatim(&script),
    )
}

#[derive(Serialize)]
struct Page<'a> {
    command: &'a str,
    roff: &'a str,
}

/// `man [COMMAND]`.
pub(super) fn man(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    // `man 'todo add'` is as good as `man todo add`.
    let words: Vec<&str> = args.texts("command").flat_map(str::split_whitespace).collect();
    let chain = walk(context.preset.commands, &words)?;
    let roff = page::man(context.program, context.preset.commands, &chain);
    let command = words.join(" ");
    Rendered::new("loopx_man_v1", &Page { command: &command, roff: &roff }, Document::new().verbatim(&roff))
}
