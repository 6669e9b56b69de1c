//! Owns the handlers of `gate`.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    desk::Desk,
    given, names,
    reader::Reader,
    schema,
    show::{self, Facts},
    submit::{Wish, Written, operation_id, submit, written},
};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result},
    kernel::{Command, GateCommand, NewGate, answer_command, gate_ask},
    model::{Answer, Blocks, Gate, GateId, GateState, GoalId, Label, Timestamp, TurnId, TurnState, gathered},
    projection::{self, GateQuery, GateRow, Slice, TurnRow},
};

/// `gate open`.
pub(in crate::cli) fn open(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let (goal, blocks) = blocks(&mut desk, args)?;
    let standing_until = match args.when("expires") {
        Some(when) => Some(given::moment(&mut desk, &operation_id(args)?, when)?),
        None => None,
    };
    let options: Vec<Label> = given::all(args, "option")?;
    let new = NewGate {
        kind: given::word(args.needed("kind")?)?,
        question: given::needed(args, "question")?,
        options: options.clone(),
        blocks,
        scope: given::parsed(args, "scope")?,
        standing_until,
    };
    let kind = new.kind;
    let command = Command::Gate(GateCommand::Open(Box::new(new)));
    let done = submit(context, args, &mut desk, Wish::new(goal, command))?;
    let gate_id = done.outcome.gate_id.ok_or_else(|| Error::from(Code::Internal))?;
    let answers = answer_command(&names::short(&gate_id), kind, &options, false);
    let document = Document::new()
        .line(format!("asked; gate {gate_id}"))
        .line(format!("a person answers: {}", Reader::of(context, args, &desk).command(&answers)));
    answer(gate_id, &done, document)
}

/// What `--blocks` names, and in which Goal.
fn blocks(desk: &mut Desk, args: &Args) -> Result<(GoalId, Blocks)> {
    let words: Vec<_> = args.texts("blocks").collect();
    if words == ["goal"] {
        return Ok((names::goal(desk, None)?, Blocks::Goal));
    }
    if words.contains(&"goal") {
        return Err(Error::new(Code::InvalidArgument, "a gate blocks Todos, or `goal` alone")
            .hint("gate open --help")
            .detail("argument", "--blocks"));
    }
    let ids: BTreeSet<_> = gathered(names::todos(desk, args, "blocks")?);
    let goal = ids.first().map(|id| id.goal().clone()).ok_or_else(|| Error::from(Code::Internal))?;
    Ok((goal, Blocks::Todos(ids)))
}

fn answer(gate_id: GateId, done: &Written, document: Document) -> Result<Rendered> {
    let goal = done.receipt.goal_id();
    written(schema::GATE, "gate", &json!({"gate_id": gate_id, "goal_id": goal}), done, &[], document)
}

/// `gate resolve`.
pub(in crate::cli) fn resolve(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let gate_id = names::gate(&mut desk, args.needed("id")?)?;
    let goal = names::gate_row(&mut desk, gate_id)?.goal_id;
    let resolve = |answer| GateCommand::Resolve { gate_id, answer };
    let (command, said) = if args.switch("approve") {
        (resolve(Answer::Approve), "approved")
    } else if args.switch("deny") {
        (resolve(Answer::Deny { reason: given::parsed(args, "reason")? }), "denied")
    } else if args.switch("reopen") {
        (GateCommand::Reopen { gate_id }, "asked again")
    } else if let Some(when) = args.when("defer") {
        let until = given::moment(&mut desk, &operation_id(args)?, when)?;
        (resolve(Answer::Defer { until }), "put off")
    } else {
        (resolve(Answer::Answer { text: given::needed(args, "answer")? }), "answered")
    };
    if args.text("reason").is_some() && !args.switch("deny") {
        return Err(Error::new(Code::InvalidArgument, "only a denial has a reason")
            .hint("gate resolve --help")
            .detail("argument", "--reason"));
    }
    let done = submit(context, args, &mut desk, Wish::new(goal, Command::Gate(command)))?;
    answer(gate_id, &done, Document::new().line(format!("gate {} {said}", names::short(&gate_id))))
}

/// `gate withdraw`.
pub(in crate::cli) fn withdraw(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let gate_id = names::gate(&mut desk, args.needed("id")?)?;
    let goal = names::gate_row(&mut desk, gate_id)?.goal_id;
    let command = Command::Gate(GateCommand::Withdraw { gate_id });
    let done = submit(context, args, &mut desk, Wish::new(goal, command))?;
    answer(gate_id, &done, Document::new().line(format!("gate {} withdrawn", names::short(&gate_id))))
}

/// `gate list`: of one Goal, or of all of them.
pub(in crate::cli) fn list(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let todo = args.text("todo").map(|word| names::todo(&mut desk, word)).transpose()?;
    let goal = match &todo {
        Some(todo) => Some(todo.goal().clone()),
        None => names::goal_given(args)?,
    };
    let states: BTreeSet<&str> = gathered(args.texts("state"));
    let kinds: BTreeSet<&str> = gathered(args.texts("kind"));
    let (after, limit) = (args.text("cursor"), desk.page(args)?);
    let is_narrowed = !states.is_empty() || !kinds.is_empty();
    let query = GateQuery { goal: goal.as_ref(), states, kinds, todo: todo.as_ref() };
    let (page, now) = desk.look(|view, terms| {
        Ok((projection::gates(view, terms, &query, Slice { after, limit })?, terms.now))
    })?;
    let program = context.program;
    let of = todo.as_ref().map(ToString::to_string).or_else(|| goal.as_ref().map(ToString::to_string));
    let of = of.map(|of| format!(" of {of}")).unwrap_or_default();
    let empty = if is_narrowed {
        format!("No gate{of} is as asked for.")
    } else {
        format!("No gate{of} blocks anything; `{program} gate open <TEXT> --blocks <TODO>` asks a person.")
    };
    show::listed_whole(schema::GATE_LIST, &page, show::GATE_HEAD, |row| show::gate(row, now), &empty)
}

/// `gate show`.
pub(in crate::cli) fn show(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let id = names::gate(&mut desk, args.needed("id")?)?;
    let (gate, now) = desk.look(|view, terms| Ok((projection::gate(view, terms, &id)?, terms.now)))?;
    let holds = held(&mut desk, &gate)?;
    let commands =
        commands(&names::gate_row(&mut desk, id)?, &gate, &holds, &Reader::of(context, args, &desk));
    let document = page(&gate, &holds, now);
    let document = if commands.is_empty() { document } else { document.code(commands) };
    Rendered::new(schema::GATE, &json!({"gate": gate, "holds": holds}), document)
}

/// The results that an answer to a gate is waited for with, as far as they are looked for.
fn held(desk: &mut Desk, gate: &GateRow) -> Result<Vec<TurnRow>> {
    const TODOS: usize = 8;
    let mut turns: Vec<TurnId> = gate.accepts.into_iter().collect();
    if let (true, Blocks::Todos(ids)) = (gate.blocking, &gate.blocks) {
        for id in ids.iter().take(TODOS) {
            turns.extend(names::todo_row(desk, id)?.turn_id.filter(|turn_id| gate.accepts != Some(*turn_id)));
        }
    }
    let mut held = Vec::new();
    for turn_id in turns {
        let turn = names::turn_row(desk, turn_id)?;
        if gate.accepts == Some(turn_id) || matches!(turn.state, TurnState::Held { .. }) {
            held.push(TurnRow::of(&turn));
        }
    }
    Ok(held)
}

/// What answers a gate that waits for one, and what shows the results that wait with it.
fn commands(gate: &Gate, row: &GateRow, holds: &[TurnRow], reader: &Reader) -> Vec<String> {
    const DENIED: bool = false;
    let id = names::short(&gate.gate_id);
    let looks = holds.iter().map(|turn| {
        format!("what it holds: {}", reader.command(&format!("turn show {}", names::short(&turn.turn_id))))
    });
    let mut lines: Vec<String> = looks.collect();
    if !row.blocking {
        return lines;
    }
    if let GateState::Denied { .. } = gate.state {
        let ask = names::commanded(&gate_ask(gate).command);
        lines.push(format!("to take the question back: {}", reader.command(&ask)));
        return lines;
    }
    let options = gate.options.chunks(1).chain(gate.options.is_empty().then_some(&[][..]));
    let each: Vec<_> = options.map(|option| answer_command(&id, gate.kind, option, DENIED)).collect();
    lines.extend(each.iter().map(|command| format!("a person answers: {}", reader.command(command))));
    lines.extend(each.first().and_then(|command| reader.refusal(command)));
    lines.push(format!("to put it off: {}", reader.command(&format!("gate resolve {id} --defer 1d"))));
    lines
}

fn page(gate: &GateRow, holds: &[TurnRow], now: Timestamp) -> Document {
    let result = |turn: &TurnRow| {
        let on = turn.todo_id.as_ref().map(|id| format!(" on {id}")).unwrap_or_default();
        let said = turn.words().map(|said| format!(": \u{ab}{said}\u{bb}")).unwrap_or_default();
        format!("the result{on}, Turn {} of {}{said}", names::short(&turn.turn_id), turn.agent_id)
    };
    let facts = Facts::default()
        .add("gate", gate.gate_id)
        .add("kind", gate.kind.as_str())
        .add("state", gate.state)
        .add("blocks", show::blocks(gate))
        .list("holds", holds.iter().map(result))
        .list("options", &gate.options)
        .maybe("covers", gate.scope.as_ref())
        .maybe("stands until", gate.standing_until_ms.map(show::utc))
        .add("asked", format!("{} by {}", show::when(gate.opened_at_ms, now), gate.opened_by))
        .maybe("until", gate.deferred_until_ms.map(|at| show::when(at, now)))
        .maybe("answer", gate.answer.as_ref())
        .maybe("by", gate.resolved_by.as_ref())
        .maybe("resolved", gate.resolved_at_ms.map(|at| show::when(at, now)))
        .add("revision", gate.revision);
    Document::new().heading(&gate.question).with(facts.block())
}
