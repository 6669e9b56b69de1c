//! Owns a work contract in words: all of it, or what changed of it.
//!
//! Knows no rule: what is sent, and why, `turn::context` says.

use crate::{
    cli::parse::show_duration_ms,
    model::{Caps, Currency, Duration},
    projection::{amounts, word},
    turn::{
        context::{Contract, Form, Packet, Part, Reason},
        wire::{BoundaryPart, Envelope, GatePart, GatesPart, QuotaLeft, TodoPart, ValidatorPart},
    },
};

/// The lines that say what is sent.
pub(super) fn lines(contract: &Contract, packet: &Packet) -> Vec<String> {
    let envelope = &packet.envelope;
    let mut lines = vec![String::new()];
    match &contract.form {
        Form::Full { reason } => {
            let why = because(*reason).map(|why| {
                format!("This is all of the work contract, because {why}. What you were told before holds no more.")
            });
            lines.extend(why);
            lines.extend(Part::ALL.into_iter().flat_map(|part| said(part, envelope, false)));
        }
        Form::Delta { changes, .. } => {
            lines.push(
                "Of the work contract that you hold this has changed; the rest of it holds word for word:"
                    .to_owned(),
            );
            lines.extend(changes.iter().flat_map(|part| said(*part, envelope, true)));
        }
        Form::Unchanged => lines.push("The work contract that you hold holds word for word.".to_owned()),
    }
    lines
}

/// Why all of it is said; none for the first time.
fn because(reason: Reason) -> Option<&'static str> {
    Some(match reason {
        Reason::Initial => return None,
        Reason::Compacted => "your context was compacted",
        Reason::AcknowledgementLost => "it is not known whether you were told",
        Reason::OtherForm => "what you hold is of another release",
        Reason::Incarnation => "the ledger has been restored or repaired",
        Reason::Goal => "what you hold is of another Goal",
        Reason::Agent => "what you hold is another agent's",
        Reason::Todo => "what you hold is of another Todo",
        Reason::Generation => "what you hold is of another session",
        Reason::Revised => "the Goal or the requirement was revised",
        Reason::UnknownDigest => "it cannot be told what you hold",
        Reason::AllChanged => "all of it has changed",
    })
}

/// What a part says. As a change it also says that there is nothing any more.
fn said(part: Part, envelope: &Envelope, is_change: bool) -> Vec<String> {
    let none = |said: &str| if is_change { vec![said.to_owned()] } else { Vec::new() };
    match part {
        Part::Todo => todo(&envelope.todo),
        Part::RecommendedAction => vec![format!("What to do: {}", envelope.recommended_action)],
        Part::Boundary => boundary(&envelope.boundary),
        Part::Gates if envelope.gates.blocking.is_empty() && envelope.gates.more == 0 => {
            none("No gate waits for a person.")
        }
        Part::Gates => gates(&envelope.gates),
        Part::RequiredReads if envelope.required_reads.is_empty() => none("Nothing has to be read first."),
        Part::RequiredReads => listed("Read first", &envelope.required_reads),
        Part::ExecutionPolicy => {
            let lasts = show_duration_ms(envelope.execution_policy.wall_ms.as_ms());
            vec![format!("Your ownership lasts {lasts} without a renewal.")]
        }
        Part::Validators if envelope.validators.is_empty() => {
            vec!["Nothing proves the result but a person.".to_owned()]
        }
        Part::Validators => envelope.validators.iter().map(validator).collect(),
        Part::QuotaLeft => quota(&envelope.quota_left).map_or_else(
            || none("The budget has no limit."),
            |left| vec![format!("The budget leaves: {left}.")],
        ),
        // The one is said by the other in words, and by the prompt; the other is for programs.
        Part::EffectiveAction | Part::ActionSignature => Vec::new(),
    }
}

fn todo(todo: &TodoPart) -> Vec<String> {
    let mut lines = Vec::from_iter(todo.detail.as_ref().map(|detail| format!("In full: {detail}")));
    lines.extend(listed("It writes below", &todo.write_scopes));
    lines
}

fn boundary(boundary: &BoundaryPart) -> Vec<String> {
    let mut lines = vec![format!("The Goal: {}", boundary.objective)];
    lines.extend(listed("It is reached when", &boundary.acceptance));
    lines.extend(listed("Not wanted", &boundary.non_goals));
    lines.extend(listed("Nothing is written but below", &boundary.write_scopes));
    lines.extend(listed("Needs an approval", &boundary.needs_approval));
    if boundary.exclusive_workspace {
        lines.push("Nobody else works in the tree.".to_owned());
    }
    lines.extend(listed("Stop when", &boundary.stop_conditions));
    lines
}

fn gates(gates: &GatesPart) -> Vec<String> {
    let whole = |gate: &GatePart| {
        format!("Waits for a person: {} ({}, {})", gate.question, word(&gate.kind), gate.gate_id)
    };
    let mut lines: Vec<_> = gates.blocking.iter().map(whole).collect();
    if gates.more > 0 {
        lines.push(format!("Waits for a person: {} more, which `gate list` shows", gates.more));
    }
    lines
}

fn validator(validator: &ValidatorPart) -> String {
    let progress =
        validator.progress_exit.map(|exit| format!(", exit {exit} means progress")).unwrap_or_default();
    let within = show_duration_ms(validator.timeout_ms.as_ms());
    format!("Proved by: {} (within {within}{progress})", validator.description)
}

/// What is left, in words; none where nothing limits it.
fn quota(left: &QuotaLeft) -> Option<String> {
    let caps = Caps {
        tokens: left.tokens,
        cost_micros: left.cost_micros,
        wall_ms: left.wall_ms.map(Duration::as_ms),
    };
    let currency = left.currency.as_ref().and_then(|currency| currency.as_str().parse::<Currency>().ok());
    let turns = left.turns.map(|turns| format!("{turns} Turns"));
    let rest = (!caps.is_open()).then(|| amounts(&caps, currency));
    let all: Vec<_> = turns.into_iter().chain(rest).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// One item behind its head, several below it: no longer than the same in JSON.
fn listed<T: ToString>(head: &str, items: &[T]) -> Vec<String> {
    match items {
        [] => Vec::new(),
        [only] => vec![format!("{head}: {}", only.to_string())],
        _ => {
            let items = items.iter().map(|item| format!("- {}", item.to_string()));
            std::iter::once(format!("{head}:")).chain(items).collect()
        }
    }
}
