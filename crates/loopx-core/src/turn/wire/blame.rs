//! Owns which key of a refused result is to blame, and by which rule.
//!
//! Runs only once a result was refused. Invariant: it names a key and a rule, and never says a value.

use serde_json::{Map, Value, json};

use super::{
    failure::Reason,
    result::{BatchScale, DeliveryOutcome, PathDelta, RawResult, ResultSchema, WireKind},
    strict::Object,
};
use crate::{
    boundary,
    model::{Digest, from_json},
};

/// The longest key of a host's own that is repeated, in bytes.
const KEY_MAX_BYTES: usize = 40;

/// The keys of a result, and what each has to be.
const KEYS: [(&str, &str); 17] = [
    ("schema_version", "the wire's own version"),
    ("turn_key", "64 hexadecimal digits"),
    ("result_kind", "one of the words for it"),
    ("summary", "text"),
    ("classification", "text"),
    ("next_action", "text"),
    ("recommended_action", "text"),
    ("completed_phases", "a list of words"),
    ("delivery_batch_scale", "one of the words for it"),
    ("delivery_outcome", "one of the words for it"),
    ("path_delta_mode", "one of the words for it"),
    ("continuation", "an object of kind and todo_ids"),
    ("evidence", "a list of objects of kind, pointer and digest"),
    ("usage", "a list of objects of seq and counts"),
    ("wake", "text"),
    ("session_handle", "text"),
    ("proposals", "a list of objects of command and reason"),
];

/// Why one whole JSON object is no result.
pub(super) fn blame(stdout: &[u8], error: &serde_json::Error) -> Reason {
    let text = error.to_string();
    let quoted = |start: &str| text.strip_prefix(start)?.split_once('`').map(|(name, _)| name);
    let known = |name: &str| KEYS.into_iter().map(|(key, _)| key).find(|key| *key == name);
    if let Some(key) = quoted("duplicate field `").and_then(known) {
        return Reason::Twice(key);
    }
    let Ok(given) = from_json::<Map<String, Value>>(stdout) else { return Reason::Malformed };
    if let Some(unknown) = given.keys().find(|key| known(key).is_none()) {
        return Reason::Unknown(shown(unknown));
    }
    for (key, rule) in KEYS {
        match given.get(key) {
            Some(value) if !fits(key, value) => return Reason::NotA(key, rule),
            None if !fits(key, &Value::Null) => return Reason::Missing(key),
            Some(_) | None => {}
        }
    }
    Reason::Malformed
}

/// Whether a result that is sound otherwise can have this value there.
fn fits(key: &str, value: &Value) -> bool {
    let mut sound = json!({
        "schema_version": ResultSchema::V0, "turn_key": Digest::ZERO, "result_kind": WireKind::Wait,
        "summary": "", "classification": "", "next_action": "", "recommended_action": "", "completed_phases": [],
        "delivery_batch_scale": BatchScale::TestOnly, "delivery_outcome": DeliveryOutcome::OutcomeGap,
        "path_delta_mode": PathDelta::Unsaid,
    });
    if let Some(fields) = sound.as_object_mut() {
        fields.insert(key.to_owned(), value.clone());
    }
    from_json::<Object<RawResult>>(sound.to_string().as_bytes()).is_ok()
}

/// A key of the host's own, where it is a plain word and no secret.
fn shown(key: &str) -> Option<String> {
    let is_word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    let is_plain = (1..=KEY_MAX_BYTES).contains(&key.len()) && key.bytes().all(is_word);
    let is_public = || boundary::screen(key).is_ok_and(|screened| screened.text == key);
    (is_plain && is_public()).then(|| key.to_owned())
}
