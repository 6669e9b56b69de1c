//! Owns the plan, and which of its steps a request is answered with.
//!
//! Knows nothing of how it is sent. Invariant: the answer depends on the plan and the request alone.

use std::{fs, io, path::Path};

use serde_json::{Value, json};

/// How much of a tool's result is repeated, in characters.
const LAST_MAX_CHARS: usize = 400;

/// The rules, in the order they are tried.
pub(super) struct Plan(Vec<Value>);

impl Plan {
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        serde_json::from_slice(&fs::read(path)?).map(Self).map_err(io::Error::other)
    }

    /// The step that a request is answered with.
    pub(super) fn step(&self, body: &Value) -> Value {
        let none = Vec::new();
        let items = body.get("input").and_then(Value::as_array).unwrap_or(&none);
        let is_user = |item: &Value| item.get("role").and_then(Value::as_str) == Some("user");
        let asked = items.iter().rposition(|item| is_user(item) && self.rule(item).is_some());
        let Some((at, rule)) = asked.and_then(|at| Some((at, self.rule(items.get(at)?)?))) else {
            return json!({ "say": "no rule of the plan is about this" });
        };
        let since = items.get(at + 1..).unwrap_or_default();
        let is_result =
            |item: &Value| item.get("type").and_then(Value::as_str).is_some_and(|t| t.ends_with("_output"));
        // Several results in a row are one round.
        let rounds = (0..since.len())
            .filter(|&at| {
                let before = at.checked_sub(1).and_then(|before| since.get(before));
                since.get(at).is_some_and(is_result) && !before.is_some_and(is_result)
            })
            .count();
        let steps = rule.get("steps").and_then(Value::as_array);
        let mut step = steps
            .and_then(|steps| steps.get(rounds))
            .cloned()
            .unwrap_or(json!({ "say": "the plan is over" }));
        if let Some(said) = step.get("say").and_then(Value::as_str) {
            let last = items.iter().rev().find(|item| is_result(item)).map(text).unwrap_or_default();
            let last: String = last.chars().take(LAST_MAX_CHARS).collect();
            step = json!({ "say": said.replace("{{last}}", &last) });
        }
        step
    }

    fn rule(&self, item: &Value) -> Option<&Value> {
        let said = text(item);
        let matches =
            |rule: &&Value| rule.get("match").and_then(Value::as_str).is_some_and(|m| said.contains(m));
        self.0.iter().find(matches)
    }
}

/// The text of an item, whatever it is wrapped in.
fn text(item: &Value) -> String {
    match item {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => ["content", "text", "output"]
            .iter()
            .find_map(|key| fields.get(*key))
            .map(text)
            .unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Value {
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] })
    }

    #[test]
    fn a_step_depends_on_the_rounds_behind_the_newest_text_that_is_meant() {
        let plan = Plan(vec![
            json!({ "match": "mend", "steps": [{ "call": 1 }, { "call": 2 }, { "say": "saw {{last}}" }] }),
        ]);
        let result = json!({ "type": "function_call_output", "output": "out" });
        let call = json!({ "type": "function_call" });
        let step = |items: &[Value]| plan.step(&json!({ "input": items }));
        assert_eq!(step(&[user("mend it")]), json!({ "call": 1 }));
        // one round of two results, then another
        let mut items = vec![user("mend it"), call.clone(), call.clone(), result.clone(), result.clone()];
        assert_eq!(step(&items), json!({ "call": 2 }));
        items.extend([call, result]);
        assert_eq!(step(&items), json!({ "say": "saw out" }));
        // a resumed session begins its plan anew
        items.push(user("mend it again"));
        assert_eq!(step(&items), json!({ "call": 1 }));
        assert_eq!(step(&[user("else")]), json!({ "say": "no rule of the plan is about this" }));
    }
}
