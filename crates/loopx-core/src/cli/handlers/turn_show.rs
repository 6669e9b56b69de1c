//! Owns the handlers of `turn list` and `turn show`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    desk::Desk, names, reader::Reader, schema, show, status, turn_end, turn_output, turn_trace,
    workbench::Workbench,
};
use crate::{
    authority::View,
    boundary::OwnerView,
    cli::{Args, Block, Context, Document, Rendered},
    error::Result,
    kernel::{Seen, Sight, onward_command},
    model::json_value,
    model::{AgentId, Attempt, GoalId, MachineId, Timestamp, TodoId, Turn, TurnId, TurnState, gathered},
    private::PrivateStore,
    projection::{self, Listed, LogQuery, LogRow, Slice, TurnQuery, TurnRow, plain, word},
    turn::{self, DriverLock},
};

/// How much of a verb's own id is shown beside each of its steps.
const VERB_BYTES: usize = 10;
/// How many events of a Turn are shown.
const EVENTS_MAX: usize = 200;

/// How many Goals are read at once.
const GOALS_PAGE: usize = 256;

/// `turn list`.
pub(in crate::cli) fn list(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let todo: Option<TodoId> = args.text("todo").map(|word| names::todo(&mut desk, word)).transpose()?;
    let goal = match &todo {
        Some(todo) => todo.goal().clone(),
        None => names::goal(&mut desk, None)?,
    };
    let agent: Option<AgentId> = args.text("agent").map(names::agent).transpose()?;
    let states: BTreeSet<&str> = gathered(args.texts("state"));
    let slice = Slice { after: args.text("cursor"), limit: desk.page(args)? };
    let query = TurnQuery { goal: &goal, todo: todo.as_ref(), agent: agent.as_ref(), states: &states };
    let (page, last, now) = status::with_eyes(&mut desk, |view, terms, eyes| {
        let page = projection::turns(view, terms, &query, slice, eyes)?;
        let last = if page.items.is_empty() { projection::last_ended(view, &goal)? } else { None };
        Ok((page, last, terms.now))
    })?;
    let document = if !page.items.is_empty() {
        rows(&page.items, now)
    } else if states.is_empty() && todo.is_none() && agent.is_none() {
        nothing_under_way(&goal, last.as_ref(), context.program)
    } else {
        Document::new().para(format!("{goal} has no such Turn."))
    };
    show::paged(schema::TURN_LIST, &page, document)
}

fn rows(rows: &[TurnRow], now: Timestamp) -> Document {
    Document::new().log(show::TURN_HEAD, rows.iter().map(|row| show::turn(row, now)).collect())
}

/// That nothing is under way, and what is worth a look instead: why the last Turn did not come to its end, what was
/// proved, or what the Goal waits for.
fn nothing_under_way(goal: &GoalId, last: Option<&TurnRow>, program: &str) -> Document {
    let (said, next) = match last {
        None => (format!("{goal} has had no Turn yet."), format!("status --goal {goal}")),
        Some(last) => {
            let next = match last.state {
                "settled" => format!("turn list --state settled --goal {goal}"),
                "failed" => turn_output::command(last.turn_id),
                _ => format!("turn show {}", last.turn_id), // wildcard: what else a Turn ends as
            };
            (format!("No Turn of {goal} is under way; the last one is {}.", show::turn_state(last)), next)
        }
    };
    Document::new().para(said).line(format!("next: {program} {next}"))
}

/// `turn recover --prove --dry-run`: the Turns that it would look at, of one Goal or of all of them.
pub(super) fn to_prove(desk: &mut Desk, goal: Option<&GoalId>) -> Result<Rendered> {
    let (items, now) = status::with_eyes(desk, |view, terms, eyes| {
        let (states, mut items) = (BTreeSet::new(), Vec::new());
        for goal in goals(view, goal)? {
            let query = TurnQuery { goal: &goal, todo: None, agent: None, states: &states };
            let all = Slice { after: None, limit: None };
            items.extend(projection::turns(view, terms, &query, all, eyes)?.items);
        }
        Ok((items, terms.now))
    })?;
    let document =
        if items.is_empty() { Document::new().line(turn_end::NOTHING_TO_PROVE) } else { rows(&items, now) };
    show::paged(schema::TURN_LIST, &Listed { items, next_cursor: None }, document)
}

/// One Goal, or all of them.
fn goals(view: &mut dyn View, goal: Option<&GoalId>) -> Result<Vec<GoalId>> {
    let mut goals = Vec::from_iter(goal.cloned());
    while goal.is_none() {
        let page = view.goals(goals.last(), GOALS_PAGE)?;
        if page.is_empty() {
            break;
        }
        goals.extend(page.into_iter().map(|goal| goal.goal_id));
    }
    Ok(goals)
}

/// `turn show`.
pub(in crate::cli) fn show(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let turn_id = names::turn(&mut desk, args.needed("id")?)?;
    if args.switch("output") {
        return turn_output::show(&mut desk, turn_id);
    }
    show_one(context, args, &mut desk, turn_id)
}

/// One Turn: where it stands, its attempts, what was said of it, its receipts, and where private text lies.
pub(super) fn show_one(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    turn_id: TurnId,
) -> Result<Rendered> {
    let turn = names::turn_row(desk, turn_id)?;
    let (log, now) = desk.look(|view, terms| {
        let query = LogQuery { goal: &turn.goal_id, todo: turn.todo_id(), since: Some(turn.admitted_at) };
        let page = projection::log(view, terms, &query, Slice { after: None, limit: Some(EVENTS_MAX * 4) })?;
        Ok((page.page.items, terms.now))
    })?;
    let of_turn = log.iter().map(OwnerView::for_owner).filter(|row| row.turn_id == Some(turn_id));
    let mut log: Vec<&LogRow> = of_turn.take(EVENTS_MAX).collect();
    log.reverse();
    let stuck = matches!(turn.state, TurnState::Held { .. } | TurnState::Unresolved { .. });
    let around = Workbench::of(context, desk)?.site(desk).around(turn_id)?;
    let onward = around.onward().filter(|_| stuck || turn.is_terminal());
    let causes = if stuck { around.causes } else { BTreeSet::new() };
    let asked: Vec<_> = around.asks.iter().filter_map(|ask| ask.question.clone()).collect();
    let kept = kept(desk, &turn)?;
    let driver = DriverLock::seen(&desk.profile.place().locks(), turn_id);
    let next = onward.or_else(|| next(desk, &turn, driver));
    let words = causes.iter().map(|cause| plain(&word(cause)).to_owned()).collect();
    let reader = Reader::of(context, args, desk);
    let snapshot = turn_trace::snapshot(&Workbench::of(context, desk)?.machine, &turn, now, &reader)?;
    let (held, is_asked) = ((words, asked), next.as_deref().and_then(|command| reader.refusal(command)));
    let document = page(&turn, held, &log, &kept, snapshot.1, now, context.program)
        .lines(next.map(|command| format!("next: {}", reader.command(&command))))
        .lines(is_asked);
    let body = json_value(&turn)?;
    let mut body = projection::with_units(body);
    if let Value::Object(fields) = &mut body {
        fields.insert("state".to_owned(), turn.state.as_str().into());
        if let Some(why) = TurnRow::of(&turn).why {
            fields.insert("why".to_owned(), why.into());
        }
        if !causes.is_empty() || matches!(turn.state, TurnState::Held { .. }) {
            fields.insert("causes".to_owned(), serde_json::to_value(&causes).unwrap_or_default());
        }
        // The owner's token is the owner's alone.
        fields.remove("own_id");
    }
    Rendered::new(
        schema::TURN,
        &json!({"turn": body, "log": log, "private": kept, "snapshot": snapshot.0}),
        document,
    )
}

/// Which texts of a Turn lie in the private store, by kind and id; the texts themselves are not shown.
fn kept(desk: &Desk, turn: &Turn) -> Result<Vec<Value>> {
    let mut private = PrivateStore::at(&desk.profile.place().private_db());
    let bodies = turn::bodies(&mut private, turn)?;
    Ok(bodies
        .into_iter()
        .map(|(kind, id, bytes)| json!({"kind": kind.as_str(), "id": id, "bytes": bytes}))
        .collect())
}

fn page(
    turn: &Turn,
    (causes, asked): (Vec<String>, Vec<String>),
    log: &[&LogRow],
    kept: &[Value],
    tree: show::Facts,
    now: Timestamp,
    program: &str,
) -> Document {
    let row = TurnRow::of(turn);
    let state =
        row.why.as_ref().map_or_else(|| row.state.to_owned(), |why| format!("{}, {}", row.state, plain(why)));
    let facts = show::Facts::default()
        .add("turn", turn.turn_id)
        .maybe("todo", turn.todo_id())
        .add("state", state)
        .list("held by", causes)
        .list("asked", asked)
        .add("agent", format!("{} through {}", turn.agent_id, turn.endpoint))
        .add("executor", word(&turn.executor))
        .add("number", format!("Turn {} of the Todo, epoch {}", turn.turn_no, turn.epoch))
        .add("admitted", show::when(turn.admitted_at, now))
        .maybe("ended", turn.ended_at.map(|at| show::when(at, now)))
        .add("slot in the budget", word(&turn.slot))
        .maybe(
            "asked to stop",
            turn.stop_wish.as_ref().map(|wish| format!("by {}, {}", wish.by, show::when(wish.at, now))),
        );
    let mut document = Document::new().with(facts.block());
    if turn.is_driven() && !turn.attempts.is_empty() {
        let rows = turn.attempts.iter().map(|attempt| attempt_cells(attempt, now)).collect();
        document =
            document.heading("Attempts").log(&["NO", "HOST", "STARTED", "ENDED", "HELD BY", "FAILURE"], rows);
    }
    if let Some(candidate) = &turn.candidate {
        let facts = show::Facts::default()
            .add("says", plain(&word(&candidate.kind)))
            .maybe("summary", candidate.summary.as_ref())
            .maybe("next", candidate.next_action.as_ref())
            .list(
                if candidate.shared { "outside its scopes, shared" } else { "outside its scopes" },
                &candidate.outside,
            )
            .add("digest", candidate.digest);
        document = document.heading("Result").with(facts.block());
    }
    if let Some(verdict) = &turn.verdict {
        let facts = show::Facts::default()
            .add("outcome", word(&verdict.outcome))
            .maybe("validator", verdict.validator.as_ref())
            .maybe("exit", verdict.exit)
            .maybe("why", verdict.note.as_ref())
            .add("took", format!("{} ms", verdict.took_ms.as_ms()));
        document = document.heading("Verdict").with(facts.block());
    }
    let cells = |row: &&LogRow| {
        vec![row.seq.to_string(), show::utc(row.at_ms), step(row.operation_id.as_str()), row.text.clone()]
    };
    document = document
        .heading("Commits")
        .log(&["EVENT", "WHEN", "OPERATION", "WHAT"], log.iter().map(cells).collect());
    if !kept.is_empty() {
        let lines: Vec<_> = kept
            .iter()
            .map(|one| {
                (
                    format!("{} {}", text(one, "kind"), of_turn(text(one, "id"), turn.turn_id)),
                    format!("{} bytes, in this profile's private.db", one["bytes"]),
                )
            })
            .collect();
        document = document.heading("Private").with(Block::Terms(lines));
    }
    document = document.heading("Work tree").with(tree.block());
    if turn.is_driven() || turn.verdict.is_some() {
        document =
            document.line(format!("what was printed: {program} {}", turn_output::command(turn.turn_id)));
    }
    document
}

/// The id of an operation by the start of its verb's and all of its step's; a program gets all of it.
fn step(id: &str) -> String {
    let (verb, step) =
        id.split_once('/').map_or((id, String::new()), |(verb, step)| (verb, format!("/{step}")));
    if verb.len() <= VERB_BYTES {
        id.to_owned()
    } else {
        format!("{}…{step}", verb.get(..VERB_BYTES).unwrap_or(verb))
    }
}

/// The id of a text without that of its Turn.
fn of_turn(id: &str, turn_id: TurnId) -> String {
    let rest = id.strip_prefix(&turn_id.to_string()).map(|rest| rest.trim_start_matches('.').to_owned());
    rest.unwrap_or_else(|| id.to_owned())
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn attempt_cells(attempt: &Attempt, now: Timestamp) -> Vec<String> {
    vec![
        attempt.number.to_string(),
        attempt.host.to_string(),
        show::when(attempt.dispatched_at, now),
        attempt.end.as_ref().map_or_else(|| "-".to_owned(), |end| show::when(end.at, now)),
        attempt.guarantee.map_or_else(|| "-".to_owned(), |guarantee| plain(guarantee.as_str()).to_owned()),
        attempt
            .end
            .as_ref()
            .and_then(|end| end.failure)
            .map_or_else(|| "-".to_owned(), |failure| plain(failure.as_str()).to_owned()),
    ]
}

/// The command that brings on a Turn that nobody is asked about; none while a driver of this machine does. A driver of
/// which nothing can be told counts as gone.
fn next(desk: &Desk, turn: &Turn, driver: Option<Seen>) -> Option<String> {
    let machine_id: Option<MachineId> = desk.profile.machine_id().ok()?.parse().ok();
    let (driver, tried) = (|_| Some(driver.unwrap_or(Seen::Gone)), BTreeSet::new());
    onward_command(turn, &Sight { machine_id: machine_id.as_ref(), driver: &driver, tried: &tried })
}
