//! Owns how times, counts, lists and pages are put for people.

use std::collections::BTreeSet;

use serde::Serialize;

use super::names::short;
use crate::{
    cli::{Block, Document, Rendered, parse::show_duration_ms, render::clipped},
    error::{Result, shell_line},
    model::{Actor, Effect, Goal, PeerReturn, ScopePath, Timestamp, VerdictOutcome},
    projection::{GateRow, Listed, TodoRow, TurnRow, plain},
};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// A moment as a person reads it: `3h ago`, `in 44m`, `now`.
pub(in crate::cli) fn when(at: Timestamp, now: Timestamp) -> String {
    let past = now.since(at).as_ms();
    let ahead = at.since(now).as_ms();
    match (past, ahead) {
        (past, 0) if past < 1000 => "now".to_owned(),
        (past, 0) => format!("{} ago", span(past)),
        (_, ahead) => format!("in {}", span(ahead)),
    }
}

/// The greatest unit of a length of time.
fn span(ms: u64) -> String {
    let unit = [DAY_MS, HOUR_MS, MINUTE_MS, 1000].into_iter().find(|unit| ms >= *unit).unwrap_or(1000);
    show_duration_ms(ms.max(1000) / unit * unit)
}

/// An actor as `--as` takes it: an agent without its endpoint, where that is the default one.
pub(in crate::cli) fn actor(actor: &Actor) -> String {
    match actor.agent() {
        Some((agent, endpoint)) if *endpoint == agent.default_endpoint() => format!("agent:{agent}"),
        Some(_) | None => actor.to_string(),
    }
}

/// A moment in UTC, to the second.
pub(in crate::cli) fn utc(at: Timestamp) -> String {
    jiff::Timestamp::from_second(at.as_ms().div_euclid(1000))
        .map_or_else(|_| at.as_ms().to_string(), |time| time.to_string().replacen('T', " ", 1))
}

/// A moment as RFC 3339 has it, to the millisecond.
pub(in crate::cli) fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_ms())
        .map_or_else(|_| at.as_ms().to_string(), |time| time.to_string())
}

/// The answer of a list: its page for programs, a table or a sentence for people.
pub(in crate::cli) fn listed<T: Serialize>(
    schema: &'static str,
    page: &Listed<T>,
    head: &[&str],
    row: impl Fn(&T) -> Vec<String>,
    empty: &str,
) -> Result<Rendered> {
    let document = if page.items.is_empty() {
        Document::new().para(empty)
    } else {
        Document::new().table(head, page.items.iter().map(row).collect())
    };
    paged(schema, page, document)
}

/// As [`listed`], with a last column that is a text to be read, and so is wrapped and not cut.
pub(in crate::cli) fn listed_whole<T: Serialize>(
    schema: &'static str,
    page: &Listed<T>,
    head: &[&str],
    row: impl Fn(&T) -> Vec<String>,
    empty: &str,
) -> Result<Rendered> {
    let document = if page.items.is_empty() {
        Document::new().para(empty)
    } else {
        Document::new().log(head, page.items.iter().map(row).collect())
    };
    paged(schema, page, document)
}

/// The answer of a list that is shown already, and whether there is more.
pub(in crate::cli) fn paged<T: Serialize>(
    schema: &'static str,
    page: &Listed<T>,
    document: Document,
) -> Result<Rendered> {
    Ok(more(Rendered::new(schema, page, document)?, page.next_cursor.as_deref()))
}

/// Says where the next page starts, if there is one.
pub(in crate::cli) fn more(rendered: Rendered, next_cursor: Option<&str>) -> Rendered {
    match next_cursor {
        Some(cursor) => rendered.note(format!("there is more: --cursor {cursor}, or --all")),
        None => rendered,
    }
}

/// The row of a Todo in a table; see [`TODO_HEAD`].
pub(in crate::cli) fn todo(row: &TodoRow, now: Timestamp) -> Vec<String> {
    let kind = match row.kind {
        crate::model::TodoKind::Advance => "",
        kind => kind.as_str(),
    };
    vec![row.todo_id.to_string(), row.priority.as_str().to_owned(), state(row), owner(row, now), {
        let title = &row.title;
        if kind.is_empty() { title.clone() } else { format!("{title} ({kind})") }
    }]
}

/// What the scopes of a Todo do not do where its Goal lists none.
pub(in crate::cli) fn unbound(goal: &Goal, scopes: &BTreeSet<ScopePath>) -> Option<&'static str> {
    let is_so = !scopes.is_empty() && goal.boundary.write_scopes.is_empty();
    is_so.then_some("nothing: the Goal lists no scopes, so a write elsewhere is shown, not refused")
}

/// The head of a table of Todos.
pub(in crate::cli) const TODO_HEAD: &[&str] = &["TODO", "PRIO", "STATE", "OWNER", "TITLE"];

/// The state of a Todo with what stands in its way; an open one that somebody has is owned.
pub(in crate::cli) fn state(row: &TodoRow) -> String {
    let is_owned = row.state == "open" && row.owner.is_some();
    let mut words = vec![if is_owned { "owned" } else { row.state }.to_owned()];
    if row.hold {
        words.push("on hold".to_owned());
    }
    if row.blocking_gates > 0 {
        words.push("gated".to_owned());
    }
    if row.blocking_effects > 0 {
        words.push("waits for an outside effect".to_owned());
    }
    if let Some(other) = &row.scopes_held_by {
        words.push(format!("{other} writes there"));
    }
    match row.unmet {
        0 => {}
        1 => words.push("waits for 1 other".to_owned()),
        n => words.push(format!("waits for {n} others")),
    }
    words.join(", ")
}

/// Who owns a Todo, until when.
pub(in crate::cli) fn owner(row: &TodoRow, now: Timestamp) -> String {
    match &row.owner {
        None => "-".to_owned(),
        Some(owner) if owner.frozen => format!("{}, held", owner.agent_id),
        Some(owner) if owner.expired => {
            format!("{}, ran out {}", owner.agent_id, when(owner.expires_at_ms, now))
        }
        Some(owner) => format!("{}, {}", owner.agent_id, left(owner.expires_at_ms, now)),
    }
}

fn left(until: Timestamp, now: Timestamp) -> String {
    format!("{} left", span(until.since(now).as_ms()))
}

/// The row of a Turn in a table; see [`TURN_HEAD`].
pub(in crate::cli) fn turn(row: &TurnRow, now: Timestamp) -> Vec<String> {
    let dash = || "-".to_owned();
    vec![
        short(&row.turn_id),
        row.todo_id.as_ref().map_or_else(dash, ToString::to_string),
        row.agent_id.to_string(),
        when(row.admitted_at_ms, now),
        match row.words() {
            Some(said) => format!("{}: {}", turn_state(row), clipped(said, SUMMARY_COLUMNS)),
            None => turn_state(row),
        },
    ]
}

/// How much of what a Turn says that it did is shown beside others.
const SUMMARY_COLUMNS: usize = 80;
/// The head of a table of Turns.
pub(in crate::cli) const TURN_HEAD: &[&str] = &["TURN", "TODO", "AGENT", "ADMITTED", "STATE"];

/// The state of a Turn with why it stands there, and what its validators said where the state does not say it.
pub(in crate::cli) fn turn_state(row: &TurnRow) -> String {
    if let Some(left) = &row.left {
        return format!("{}, {left}", row.state);
    }
    match (&row.why, row.verdict) {
        (Some(why), _) => format!("{}, {}", row.state, plain(why)),
        (None, Some(VerdictOutcome::Passed)) => format!("{}, proved", row.state),
        (None, Some(VerdictOutcome::Progress)) => format!("{}, progress proved", row.state),
        (None, Some(VerdictOutcome::Unchecked)) => format!("{}, not checked", row.state),
        (None, Some(VerdictOutcome::Failed | VerdictOutcome::Inconclusive) | None) => row.state.to_owned(),
    }
}

/// The row of a gate in a table; see [`GATE_HEAD`].
pub(in crate::cli) fn gate(row: &GateRow, now: Timestamp) -> Vec<String> {
    vec![
        short(&row.gate_id),
        row.kind.as_str().to_owned(),
        row.state.to_owned(),
        blocks(row),
        when(row.opened_at_ms, now),
        row.question.clone(),
    ]
}

/// The head of a table of gates.
pub(in crate::cli) const GATE_HEAD: &[&str] = &["GATE", "KIND", "STATE", "BLOCKS", "ASKED", "QUESTION"];

/// What a gate stops; that it stops nothing now, where all of it has ended.
pub(in crate::cli) fn blocks(row: &GateRow) -> String {
    let named = match &row.blocks {
        crate::model::Blocks::Goal => row.goal_id.to_string(),
        crate::model::Blocks::Todos(ids) => ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
    };
    let is_idle = !row.blocking && row.resolved_at_ms.is_none();
    if is_idle { format!("nothing now: {named} ended") } else { named }
}

/// The row of an effect in a table; see [`EFFECT_HEAD`].
pub(in crate::cli) fn effect(effect: &Effect, now: Timestamp) -> Vec<String> {
    let todos: Vec<_> = effect.blocks.todos.iter().map(ToString::to_string).collect();
    let state = match (&effect.stop_confirmed, &effect.stop_requested) {
        (Some(_), _) => format!("{}, stopped", plain(effect.state.as_str())),
        (None, Some(_)) => format!("{}, asked to stop", plain(effect.state.as_str())),
        (None, None) => plain(effect.state.as_str()).to_owned(),
    };
    vec![
        short(&effect.effect_id),
        state,
        if effect.is_unresolved() { todos.join(" ") } else { "-".to_owned() },
        when(effect.at, now),
        effect.what.to_string(),
    ]
}

/// The head of a table of effects.
pub(in crate::cli) const EFFECT_HEAD: &[&str] = &["EFFECT", "STATE", "BLOCKS", "INTENDED", "WHAT"];

/// The row of a return in a table; see [`RETURN_HEAD`].
pub(in crate::cli) fn returned(given: &PeerReturn, now: Timestamp) -> Vec<String> {
    vec![
        short(&given.return_id),
        given.from.to_string(),
        given.todo_id.to_string(),
        given.state.as_str().to_owned(),
        when(given.at, now),
        given.summary.to_string(),
    ]
}

/// A return that waits for a word on it, in one line.
pub(in crate::cli) fn undecided(given: &PeerReturn) -> String {
    format!("{} of {} (\u{ab}{}\u{bb})", short(&given.return_id), given.from, given.summary)
}

/// The head of a table of returns.
pub(in crate::cli) const RETURN_HEAD: &[&str] = &["RETURN", "FROM", "TO", "STATE", "WHEN", "FOUND"];

/// Names and values, those without a value left out.
#[derive(Debug, Default)]
pub(in crate::cli) struct Facts(Vec<(String, String)>);

impl Facts {
    /// Adds a value.
    pub(in crate::cli) fn add(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.0.push((name.to_owned(), format!("{value}")));
        self
    }

    /// Adds a value, if there is one.
    pub(in crate::cli) fn maybe(self, name: &str, value: Option<impl std::fmt::Display>) -> Self {
        match value {
            Some(value) => self.add(name, value),
            None => self,
        }
    }

    /// Adds a list, if it holds something.
    pub(in crate::cli) fn list<T: std::fmt::Display>(
        self,
        name: &str,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        let values: Vec<_> = values.into_iter().map(|value| value.to_string()).collect();
        if values.is_empty() { self } else { self.add(name, values.join(", ")) }
    }

    /// The block.
    pub(in crate::cli) fn block(self) -> Block {
        Block::Terms(self.0)
    }
}

/// A command as it is typed.
pub(in crate::cli) fn typed(argv: &[Box<str>]) -> String {
    shell_line(argv.iter().map(AsRef::as_ref)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_put_by_its_greatest_unit() {
        let now = Timestamp::from_ms(10_000_000_000);
        let at = |ms: i64| when(Timestamp::from_ms(10_000_000_000 + ms), now);
        assert_eq!(
            [at(0), at(-999), at(-1000), at(-5_400_000), at(2_699_000), at(172_900_000), at(5)],
            ["now", "now", "1s ago", "1h ago", "in 44m", "in 2d", "in 1s"]
        );
    }
}
