//! Owns the handlers of `effect`.

use serde_json::json;

use super::{
    desk::Desk,
    evidence_file, given, names,
    nouns::{self, List},
    reader::Reader,
    schema,
    show::{self, Facts},
    submit::{Wish, Written, submit, written},
};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result, echo},
    kernel::{Command, EffectCommand, Intent, Told, effect_command},
    model::{Digest, Effect, EffectFact, EffectId, EvidenceId, NounKey, NounKind, Timestamp, gathered},
    projection::{self, plain},
};

/// `effect intend`.
pub(in crate::cli) fn intend(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let todo_id = names::todo(&mut desk, args.needed("id")?)?;
    let goal = todo_id.goal().clone();
    let intent = Intent {
        todo_id,
        own_id: given::parsed(args, "own")?,
        key: given::needed(args, "key")?,
        digest: digest(context, args)?,
        what: given::needed(args, "what")?,
        todos: gathered(names::todos(&mut desk, args, "blocks-todo")?),
        keys: given::set(args, "blocks-key")?,
    };
    let command = Command::Effect(EffectCommand::Intend(Box::new(intent)));
    let done = submit(context, args, &mut desk, Wish::new(goal, command))?;
    let id = done.outcome.effect_id.ok_or_else(|| Error::from(Code::Internal))?;
    let reader = Reader::of(context, args, &desk);
    let document = if done.outcome.created == Some(false) {
        Document::new().line(format!("this effect is there already; effect {id}")).line(format!(
            "where it stands: {}",
            reader.command(&format!("effect show {}", names::short(&id)))
        ))
    } else {
        let command = format!("effect confirm {} --dispatched", names::short(&id));
        Document::new()
            .line(format!("intended; effect {id}"))
            .line(format!("before it is sent: {}", reader.command(&command)))
    };
    answer(id, &done, document)
}

/// The digest of what the provider is asked: as it is given, or of the file that holds it.
///
/// Errors: `invalid_argument` for what cannot be read, or is too large.
fn digest(context: &Context<'_, '_>, args: &Args) -> Result<Digest> {
    let Some(path) = args.file("request") else { return given::needed(args, "digest") };
    let refused = |why: &str| {
        Error::new(Code::InvalidArgument, format!("the request `{}` {why}", echo(&path.to_string_lossy())))
            .hint("effect intend --help")
            .detail("argument", "--request")
    };
    let found = evidence_file::digest(&context.folder()?.join(path));
    found.map_err(|e| refused("cannot be read").internal(e))?.ok_or_else(|| refused("is too large"))
}

/// `effect confirm`.
pub(in crate::cli) fn confirm(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    told(context, args, |args, effect_id, evidence| {
        Ok(if args.switch("dispatched") {
            EffectCommand::Dispatch { effect_id }
        } else {
            EffectCommand::Confirm { effect_id, failed: args.switch("failed"), evidence }
        })
    })
}

/// `effect reconcile`.
pub(in crate::cli) fn reconcile(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    told(context, args, |args, effect_id, evidence| {
        let told = if args.switch("confirmed") {
            Told::Confirmed
        } else if args.switch("absent") {
            Told::Absent
        } else if args.switch("failed") {
            Told::Failed
        } else {
            Told::Unknown
        };
        Ok(EffectCommand::Reconcile { effect_id, told, evidence })
    })
}

/// `effect stop`.
pub(in crate::cli) fn stop(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    told(context, args, |args, effect_id, evidence| {
        Ok(EffectCommand::Stop { effect_id, confirmed: args.switch("confirmed"), evidence })
    })
}

/// `effect write-off`.
pub(in crate::cli) fn write_off(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    told(context, args, |args, effect_id, evidence| {
        Ok(EffectCommand::WriteOff { effect_id, reason: given::needed(args, "reason")?, evidence })
    })
}

/// Something is told of an effect.
fn told(
    context: &mut Context<'_, '_>,
    args: &Args,
    command: impl FnOnce(&Args, EffectId, Vec<EvidenceId>) -> Result<EffectCommand>,
) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::effect(&mut desk, args.needed("id")?)?;
    let effect = one(&mut desk, id)?;
    let evidence: Result<Vec<_>> =
        args.texts("evidence").map(|word| names::evidence_for(&mut desk, word, &effect.todo_id)).collect();
    let command = Command::Effect(command(args, id, evidence?)?);
    let done = submit(context, args, &mut desk, Wish::new(effect.goal_id, command))?;
    let state = done.outcome.effect_state.as_deref().unwrap_or_default();
    let document = Document::new().line(format!("recorded; effect {id} is {}", plain(state)));
    answer(id, &done, document)
}

fn one(desk: &mut Desk, id: EffectId) -> Result<Effect> {
    let key = NounKey { kind: NounKind::Effect, id: *id.as_bytes() };
    desk.look(|view, terms| projection::noun(view, terms, key)?.for_owner().get::<Effect>().cloned())
}

fn answer(id: EffectId, done: &Written, document: Document) -> Result<Rendered> {
    let outcome = &done.outcome;
    let object = json!({
        "effect_id": id,
        "goal_id": done.receipt.goal_id(),
        "todo_id": outcome.todo_ids.first(),
        "state": outcome.effect_state,
        "created": outcome.created,
    });
    written(schema::EFFECT, "effect", &object, done, &[], document)
}

/// `effect list`.
pub(in crate::cli) fn list(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let list = List {
        schema: schema::EFFECT_LIST,
        head: show::EFFECT_HEAD,
        row: show::effect,
        nothing: |of, open, program| {
            let first =
                if open { "No outside effect is unresolved" } else { "No outside effect was meant yet" };
            format!(
                "{first} in {of}; `{program} effect intend --help` says how one is recorded before it is sent."
            )
        },
    };
    nouns::listed(context, args, args.switch("open"), &list)
}

/// `effect show`.
pub(in crate::cli) fn show(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::effect(&mut desk, args.needed("id")?)?;
    let key = NounKey { kind: NounKind::Effect, id: *id.as_bytes() };
    let (row, now) = desk.look(|view, terms| Ok((projection::noun(view, terms, key)?, terms.now)))?;
    let effect: &Effect = row.for_owner().get()?;
    let onward = effect.is_unresolved().then(|| effect_command(effect));
    let reader = Reader::of(context, args, &desk);
    let shown = onward.as_deref().map(|command| reader.command(&names::commanded(command)));
    let document = page(effect, shown, now);
    Rendered::new(schema::EFFECT, &json!({"effect": row, "onward": onward}), document)
}

fn page(effect: &Effect, onward: Option<String>, now: Timestamp) -> Document {
    let fact = |fact: Option<&EffectFact>| {
        fact.map(|fact| {
            let shown: Vec<_> = fact.evidence.iter().map(names::short).collect();
            let by = format!("{} by {}", show::when(fact.at, now), fact.by);
            if shown.is_empty() { by } else { format!("{by}, shown by {}", shown.join(", ")) }
        })
    };
    let (reason, waived) = match &effect.state {
        crate::model::EffectState::WrittenOff { reason, waived } => (Some(reason), waived.as_ref()),
        _ => (None, None), // wildcard: no other state has words
    };
    let facts = Facts::default()
        .add("effect", effect.effect_id)
        .add("state", plain(effect.state.as_str()))
        .maybe("because", reason)
        .maybe("let go", waived)
        .maybe("told", fact(effect.told.as_ref()))
        .maybe("asked to stop", fact(effect.stop_requested.as_ref()))
        .maybe("stopped", fact(effect.stop_confirmed.as_ref()))
        .add("Todo", &effect.todo_id)
        .list("blocks", &effect.blocks.todos)
        .list("blocks keys", &effect.blocks.keys)
        .add("key", &effect.key)
        .add("digest", effect.digest)
        .add("intended", format!("{} by {}", show::when(effect.at, now), effect.by))
        .add("revision", effect.revision)
        .maybe("onward", onward);
    Document::new().heading(effect.what.as_str()).with(facts.block())
}
