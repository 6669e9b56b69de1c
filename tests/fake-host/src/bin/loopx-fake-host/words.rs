//! Owns what the host prints: a sound result, and every kind of unsound one.
//!
//! Knows nothing of processes.

use serde_json::{Map, Value, json};

/// A key of no Turn.
const OTHER_KEY: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// More than a result may have, in bytes.
const TOO_MANY_BYTES: usize = 70 * 1024;

/// A result that is sound, of this kind.
pub(super) fn result(turn_key: &str, kind: &str) -> Value {
    json!({
        "schema_version": "loopx_turn_result_v0",
        "turn_key": turn_key,
        "result_kind": kind,
        "summary": "the fake host did its work",
        "classification": "fake",
        "next_action": "none",
        "recommended_action": "none",
        "completed_phases": ["read", "write"],
        "delivery_batch_scale": "single_surface",
        "delivery_outcome": "outcome_progress",
        "path_delta_mode": "",
    })
}

/// A sound completion with some of its fields replaced or added.
pub(super) fn with(turn_key: &str, changes: Value) -> Value {
    let mut object = result(turn_key, "validated_completion");
    if let (Value::Object(fields), Value::Object(changes)) = (&mut object, changes) {
        fields.extend(changes);
    }
    object
}

/// A completion that names another Turn.
pub(super) fn of_another_turn() -> Value {
    result(OTHER_KEY, "validated_completion")
}

/// A completion that is larger than a result may be, and sound otherwise: the white space is no part of any text.
pub(super) fn oversize(turn_key: &str) -> String {
    let text = result(turn_key, "validated_completion").to_string();
    let room = " ".repeat(TOO_MANY_BYTES);
    text.replacen('{', &format!("{{{room}"), 1)
}

/// A completion without one of its keys.
pub(super) fn without(turn_key: &str, key: &str) -> Value {
    let mut object = result(turn_key, "validated_completion");
    if let Value::Object(fields) = &mut object {
        fields.remove(key);
    }
    object
}

/// A completion in bytes that are no text.
pub(super) fn invalid_utf8(turn_key: &str) -> Vec<u8> {
    let mut bytes = result(turn_key, "validated_completion").to_string().into_bytes();
    if let Some(at) = bytes.windows(4).position(|four| four == b"fake") {
        bytes.splice(at..at + 4, [0xff, 0xfe, 0xc3, 0x28]);
    }
    bytes
}

/// A key twice, with two values: which of them a reader takes is a matter of taste.
pub(super) fn key_twice(turn_key: &str) -> String {
    let text = result(turn_key, "validated_completion").to_string();
    text.replacen('{', "{\"result_kind\":\"wait\",", 1)
}

/// The first half of a completion.
pub(super) fn half(turn_key: &str) -> String {
    let text = result(turn_key, "validated_completion").to_string();
    text.chars().take(text.len() / 2).collect()
}

/// Something that looks like a credential, made up here and of use to nobody.
pub(super) fn credential() -> Value {
    let made_up = ["ghp", "_0123456789abcdefghij", "ABCDEFGHIJ012345"].concat();
    json!({ "summary": format!("signed in with {made_up}") })
}

/// A failure of the host's own that an adapter would report.
pub(super) fn failure(turn_key: &str, class: &str) -> Value {
    let fields: Map<String, Value> = [
        ("schema_version".to_owned(), "loopx_turn_failure_v0".into()),
        ("turn_key".to_owned(), turn_key.into()),
        ("failure_class".to_owned(), class.into()),
        ("note".to_owned(), "the fake provider said no".into()),
    ]
    .into_iter()
    .collect();
    Value::Object(fields)
}
