//! Owns how a command that somebody proposed is read by a person: what it says, name by name, none left out.
//!
//! Knows nothing of what a command means: whatever can be proposed, now or later, is shown whole.

use serde_json::{Map, Value};

use super::show;
use crate::{
    error::{Result, shell_line},
    kernel::{Command, Input},
    model::{Expected, Timestamp, json_value},
};

/// What a command says, in the order of its names.
pub(super) fn terms(command: &Value) -> Vec<(String, String)> {
    let mut terms = Vec::new();
    // What it is about and what is done to it are its verb.
    let inner = |value: &Value| value.as_object().filter(|one| one.len() == 1)?.values().next().cloned();
    if let Some(said) = inner(command).as_ref().and_then(inner) {
        flatten(&mut terms, "", "", &said);
    }
    terms
}

/// What a person has to have read before he says yes, line by line.
pub(super) fn lines(command: &Command, expected: &Expected) -> Result<Vec<String>> {
    let verb = Input::Command(command.clone()).verb().as_str();
    let terms = terms(&json_value(command)?);
    let said = terms.iter().map(|(name, value)| format!("  {name}: {value}"));
    let expects = expects(expected).into_iter().map(|one| format!("  only for {one}"));
    Ok(std::iter::once(format!("`{verb}`")).chain(said).chain(expects).collect())
}

/// How what it was meant for has to stand.
pub(super) fn expects(expected: &Expected) -> Vec<String> {
    let goal = expected.goal.map(|revision| format!("the Goal at {revision}"));
    let todos = expected.todos.iter().map(|(id, revision)| format!("{id} at {revision}"));
    let gate = expected.gate.as_ref().map(|(id, revision)| format!("{id} at {revision}"));
    goal.into_iter().chain(todos).chain(gate).collect()
}

/// Adds a value under its name; what holds others is named before them.
fn flatten(terms: &mut Vec<(String, String)>, path: &str, key: &str, value: &Value) {
    match value {
        Value::Object(fields) if !fields.is_empty() => each(terms, path, fields),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (place, item) in (1..).zip(items) {
                flatten(terms, &format!("{path} {place}"), key, item);
            }
        }
        _ => terms.push((path.to_owned(), words(key, value))), // wildcard: the others hold nothing that has a name
    }
}

fn each(terms: &mut Vec<(String, String)>, path: &str, fields: &Map<String, Value>) {
    for (key, value) in fields {
        let name = key.replace('_', " ");
        let path = if path.is_empty() { name } else { format!("{path} {name}") };
        flatten(terms, &path, key, value);
    }
}

/// A value without names, as it is read.
fn words(key: &str, value: &Value) -> String {
    match value {
        Value::Null | Value::Object(_) => "nothing".to_owned(),
        Value::Bool(is_so) => if *is_so { "yes" } else { "no" }.to_owned(),
        Value::Number(number) => match number.as_i64() {
            Some(ms) if ["after", "until", "standing_until"].contains(&key) => {
                show::utc(Timestamp::from_ms(ms))
            }
            Some(_) | None => number.to_string(),
        },
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "nothing".to_owned(),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| words(key, item)).collect();
            // A command keeps its words apart.
            let line = (key == "argv").then(|| shell_line(items.iter().map(String::as_str))).flatten();
            line.unwrap_or_else(|| items.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_proposed_command_is_shown_name_by_name_and_whole() {
        let shown = |command: Value| {
            let terms = terms(&command);
            terms.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
        };
        let add = json!({"todo": {"add": {
            "title": "Measure", "depends_on": ["g.1", "g.2"], "wake": {"after": 1_000},
            "requires": {"publish": true, "write_scopes": []},
            "validators": [{"argv": ["/bin/sh", "-c", "exit 0"], "timeout_ms": 5}],
        }}});
        assert_eq!(
            shown(add),
            [
                "depends on=g.1, g.2",
                "requires publish=yes",
                "requires write scopes=nothing",
                "title=Measure",
                "validators 1 argv=/bin/sh -c 'exit 0'",
                "validators 1 timeout ms=5",
                "wake after=1970-01-01 00:00:01Z",
            ]
        );
        assert!(shown(json!({"goal": "stop"})).is_empty(), "it says nothing but its verb");
    }
}
