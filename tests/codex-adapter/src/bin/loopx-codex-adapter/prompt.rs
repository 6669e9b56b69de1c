//! Owns the words that codex is given: the contract of the Turn, and how to end.
//!
//! Knows nothing of what comes back. It says no more than the request does.

use std::fmt::Write as _;

use loopx_core::sdk::turn_host::{Action, Request};

/// How the last line of codex's last message begins.
pub(super) const VERDICT: &str = "LOOPX ";

/// The prompt of a request.
pub(super) fn of(request: &Request) -> String {
    let envelope = &request.turn_envelope;
    let (todo, boundary) = (&envelope.todo, &envelope.boundary);
    let mut text = format!("{}\n\n# Todo {}: {}\n", envelope.recommended_action, todo.todo_id, todo.title);
    let mut paragraph = |words: &str| {
        if !words.is_empty() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\n{words}");
        }
    };
    paragraph(todo.detail.as_ref().map_or("", |detail| detail.as_str()));
    paragraph(&format!("The Goal: {}", boundary.objective));
    paragraph(&list("The Goal is reached when", &boundary.acceptance));
    paragraph(&list("Not wanted", &boundary.non_goals));
    paragraph(&list("Read first", &envelope.required_reads));
    let scopes = if todo.write_scopes.is_empty() { &boundary.write_scopes } else { &todo.write_scopes };
    paragraph(&list("Write only below", scopes));
    paragraph(&list("Do not do, for it needs an approval", &boundary.needs_approval));
    paragraph(&list("Stop and say so when", &boundary.stop_conditions));
    let questions: Vec<_> = envelope.gates.blocking.iter().map(|gate| &gate.question).collect();
    paragraph(&list("A person has not answered yet", &questions));
    let checks: Vec<_> = envelope.validators.iter().map(|validator| &validator.description).collect();
    paragraph(&list("Your work will be judged by, when you are done", &checks));
    paragraph(match envelope.effective_action {
        Action::Run => "",
        Action::Repair => "The last result broke something: mend that.",
        Action::Replan => "The plan does not hold: find a better one.",
        Action::Reconcile => "Find out what happened before.",
    });
    paragraph(&format!(
        "End your last message with exactly one line like this, and nothing behind it:\n\
         {VERDICT}{{\"kind\": \"done\", \"summary\": \"what you did\", \"next\": \"what should happen next\"}}\n\
         The kind is `done`, `part` when more is to be done, `repair` when you found something broken, `replan` when the \
         plan does not hold, or `person` when a person has to act."
    ));
    text
}

fn list<T: ToString>(title: &str, items: &[T]) -> String {
    if items.is_empty() {
        return String::new();
    }
    items.iter().fold(format!("{title}:"), |all, item| all + "\n- " + &item.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_is_in_the_prompt() {
        let request = include_bytes!("../../../../../docs/wire/request.json");
        let prompt = of(&Request::parse(request).unwrap());
        for words in [
            "Cache the dependency graph between runs",
            "must not parse manifests again",
            "under one second",
            "- A remote cache",
            "Write only below:\n- src/graph",
            "needs an approval:\n- publish",
            "docs/graph.md",
            "- make check",
            "mend that",
            VERDICT,
        ] {
            assert!(prompt.contains(words), "{words}: {prompt}");
        }
    }
}
