//! Owns the handler of `status`: four answers a Goal, then what needs somebody.

use super::{
    desk::Desk,
    names,
    reader::Reader,
    schema, show,
    watch::{Drivers, Glance, watch},
};
use crate::{
    authority::{Changes, View},
    cli::{Args, Block, Context, Document, Rendered, render::clipped},
    error::Result,
    kernel::Terms,
    model::{AgentId, Timestamp, Turn},
    private::PrivateStore,
    projection::{self, Attention, Eyes, GoalStatus, Status, WaitingOn, Which},
    turn::{self, DriverLock},
};

/// How many rows of attention a Goal shows to a person.
const ROWS: usize = 8;

/// `status`.
pub(in crate::cli) fn status(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let goal = names::goal_given(args)?;
    let agent = args.text("agent").map(names::agent).transpose()?;
    let agents_goal = match (&goal, &agent) {
        // An agent is one of a Goal; the folder's is meant where none is named.
        (None, Some(_)) => Some(names::goal(&mut desk, None)?),
        _ => goal,
    };
    let folders = desk.bound_goal();
    let which = match &agents_goal {
        Some(goal) => Which::One(goal),
        None => Which::All { first: folders.as_ref() },
    };
    let reader = Reader::of(context, args, &desk);
    if args.switch("watch") {
        let changes = Changes::of(&desk.profile);
        let locks = desk.profile.place().locks();
        return watch(context, changes, &locks, |context, drivers| {
            let status = with_drivers(&mut desk, drivers, |view, terms, eyes| {
                projection::status(view, terms, which, agent.as_ref(), eyes)
            })?;
            let shown = rendered(&status, context, &reader)?;
            let now = status.now_ms;
            let changes_at = status.goals.iter().filter_map(|goal| goal.changes_at).min();
            Ok(Glance { of: Status { now_ms: Timestamp::from_ms(0), ..status }, shown, now, changes_at })
        });
    }
    let status = seen(&mut desk, which, agent.as_ref())?;
    rendered(&status, context, &reader)
}

fn rendered(status: &Status, context: &Context<'_, '_>, reader: &Reader) -> Result<Rendered> {
    let document = document(status, context.program, reader, context.look.columns);
    Rendered::new(schema::STATUS, &reader.told(status)?, document)
}

/// The status of one Goal, or of all, with what this machine sees of drivers.
pub(super) fn seen(desk: &mut Desk, which: Which<'_>, agent: Option<&AgentId>) -> Result<Status> {
    with_eyes(desk, |view, terms, eyes| projection::status(view, terms, which, agent, eyes))
}

/// Looks at the ledger with what this machine sees of drivers.
pub(super) fn with_eyes<T>(
    desk: &mut Desk,
    look: impl FnMut(&mut dyn View, &Terms, &Eyes<'_>) -> Result<T>,
) -> Result<T> {
    with_drivers(desk, &Drivers::default(), look)
}

/// As [`with_eyes`], and notes which drivers were looked for, and what was seen of them.
fn with_drivers<T>(
    desk: &mut Desk,
    drivers: &Drivers,
    mut look: impl FnMut(&mut dyn View, &Terms, &Eyes<'_>) -> Result<T>,
) -> Result<T> {
    drivers.borrow_mut().clear();
    let machine_id = desk.profile.machine_id()?.parse()?;
    let place = desk.profile.place();
    let (locks, private) = (place.locks(), place.private_db());
    let tried = |turns: &[Turn]| turn::tried(&mut PrivateStore::at(&private), turns);
    let driver = |turn_id| {
        let seen = DriverLock::seen(&locks, turn_id);
        drivers.borrow_mut().insert(turn_id, seen);
        seen
    };
    let eyes = Eyes { machine_id: Some(&machine_id), driver: &driver, tried: &tried };
    desk.look(|view, terms| look(view, terms, &eyes))
}

fn document(status: &Status, program: &str, reader: &Reader, columns: Option<u16>) -> Document {
    let mut document = Document::new();
    if status.clock_jump {
        document = document.para(format!(
            "The clock jumped: nothing expires until you look at it and run `{program} doctor --accept-clock`."
        ));
    }
    for goal in &status.goals {
        document = of_goal(document, goal, status.now_ms, reader, columns);
    }
    if status.goals.is_empty() {
        let text = if status.closed > 0 { "Every Goal is closed" } else { "There is no Goal yet" };
        document = document.para(format!("{text}; `{program} init --goal <TITLE>` starts one."));
    }
    if status.more {
        document = document.para(format!("There are more Goals; `{program} goal list` lists all of them."));
    }
    document
}

fn of_goal(
    document: Document,
    goal: &GoalStatus,
    now: Timestamp,
    reader: &Reader,
    columns: Option<u16>,
) -> Document {
    let until = goal.until_ms.map(|at| format!(", {}", show::when(at, now))).unwrap_or_default();
    let counts = goal.counts.iter().filter(|(_, n)| **n > 0).map(|(name, n)| format!("{n} {name}"));
    let criteria = (goal.criteria > 0).then(|| format!("{}/{} shown", goal.criteria_met, goal.criteria));
    let facts = show::Facts::default()
        .add("waits for", format!("{}: {}{until}", goal.waiting_on.as_str(), goal.because))
        .add("an agent may go on", may_go_on(goal))
        .add("first", first(goal))
        .add("last run", goal.last_run.as_ref().map_or("none yet", |run| run.text.as_str()))
        .list("Todos", counts)
        .maybe("criteria", criteria)
        .maybe(
            "the agent should",
            goal.decision.as_ref().map(|decided| projection::should(decided.action.name())),
        )
        .list("warning", &goal.warnings);
    let state = if goal.state == "active" { String::new() } else { format!(", {}", goal.state) };
    let mut document =
        document.heading(format!("{}{state}: {}", goal.goal_id, goal.objective)).with(facts.block());
    if let Some(next) = &goal.first {
        let command = names::commanded(&next.command);
        document =
            document.line(format!("next: {}", reader.command(&command))).lines(reader.refusal(&command));
    }
    let owners: Vec<_> = goal.owners.iter().map(|owned| owner(owned, now)).collect();
    if !owners.is_empty() {
        document = document.table(&["OWNED", "BY", "UNTIL", "TITLE"], owners);
    }
    // What is said above is not said again.
    let said = goal.first.as_ref().map(|next| next.command.as_str());
    let rest = goal.attention.iter().filter(|row| Some(row.command.as_str()) != said);
    let lines = |row: &Attention| {
        [fitting(&row.text, columns), format!("    {}", reader.command(&names::commanded(&row.command)))]
    };
    let rest: Vec<_> = rest.collect();
    let mut then: Vec<_> = rest.iter().take(ROWS).copied().flat_map(lines).collect();
    if rest.len() > ROWS {
        then.push(format!("and {} more", rest.len() - ROWS));
    }
    if !then.is_empty() {
        document = document.with(Block::Heading(2, "Then".to_owned())).code(then);
    }
    document
}

/// A text that fits one indented line, where the width of one is known.
fn fitting(text: &str, columns: Option<u16>) -> String {
    const INDENT: usize = 2;
    let width = columns.map_or(usize::MAX, |columns| usize::from(columns).saturating_sub(INDENT).max(20));
    clipped(text, width)
}

/// Whether there is work for an agent now, or one is at it.
fn may_go_on(goal: &GoalStatus) -> &'static str {
    match (goal.may_continue, goal.waiting_on, &goal.first) {
        (false, _, _) => "no",
        // Nothing can be taken: who may go on is who is waited for.
        (true, WaitingOn::Agent, None) => "yes, who works already",
        (true, _, _) => "yes",
    }
}

fn first(goal: &GoalStatus) -> &str {
    match &goal.first {
        Some(next) => &next.text,
        None => "nothing",
    }
}

fn owner(owned: &projection::Owned, now: Timestamp) -> Vec<String> {
    let until = match (owned.owner.frozen, owned.owner.expired) {
        (true, _) => "held".to_owned(), // same spelling: a state
        (false, true) => format!("ran out {}", show::when(owned.owner.expires_at_ms, now)),
        (false, false) => show::when(owned.owner.expires_at_ms, now),
    };
    vec![owned.todo_id.to_string(), owned.owner.agent_id.to_string(), until, owned.title.clone()]
}
