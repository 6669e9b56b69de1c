//! Owns the tests of the wire: the examples of the documentation, and everything that has to be refused.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    ENVELOPE_MAX_BYTES, Failure, RESULT_MAX_BYTES, Reason, Request, ResultContract, SessionAction,
    TurnResult, is_complete, parse_result,
};
use crate::{
    boundary::Credential,
    error::Code,
    model::{Continuation, Digest, HostFailure, ResultKind, Timestamp, Wake},
};

const REQUEST: &str = include_str!("../../../../../docs/wire/request.json");
const RESULT: &str = include_str!("../../../../../docs/wire/result.json");
const FAILURE: &str = include_str!("../../../../../docs/wire/failure.json");

fn example(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn key() -> Digest {
    example(RESULT)["turn_key"].as_str().unwrap().parse().unwrap()
}

fn read(value: &Value) -> Result<TurnResult, Failure> {
    parse_result(value.to_string().as_bytes(), &key())
}

/// The example result with one field set.
fn with(field: &str, value: Value) -> Result<TurnResult, Failure> {
    let mut result = example(RESULT);
    result[field] = value;
    read(&result)
}

fn reason(result: Result<TurnResult, Failure>) -> Reason {
    let failure = result.unwrap_err();
    assert_eq!(failure.class, HostFailure::ResultInvalid);
    failure.reason
}

#[test]
fn the_documented_request_is_read_and_written() {
    let request = Request::parse(REQUEST.as_bytes()).unwrap();
    assert_eq!(request.session.action, SessionAction::Resume);
    assert_eq!(request.result_contract, ResultContract::current());
    let envelope = request.turn_envelope.clone();
    let hash = envelope.content_hash().unwrap();
    assert_eq!(envelope.seal(hash).unwrap(), request.turn_envelope, "the example is sealed");
    assert_eq!(example(REQUEST), example(std::str::from_utf8(&request.encode().unwrap()).unwrap()));
}

#[test]
fn the_documented_result_is_read() {
    let result = parse_result(RESULT.as_bytes(), &key()).unwrap();
    assert_eq!(result.kind_for(false), ResultKind::ValidatedCompletion);
    assert_eq!(result.summary, example(RESULT)["summary"].as_str().unwrap());
    assert_eq!(
        result.continuation,
        Some(Continuation::Successor { todo_ids: vec!["faster-builds.5".parse().unwrap()] })
    );
    assert_eq!(
        (result.evidence.len(), result.usage[0].tokens_in, result.proposals.len()),
        (1, Some(48_210), 1)
    );
    assert_eq!(result.session_handle.unwrap().expose(), "host-session-17");
    assert_eq!((result.redactions, result.digest), (0, Digest::of(RESULT.as_bytes())));
    assert!(is_complete(RESULT.as_bytes()));
}

#[test]
fn the_documented_failure_is_read_and_a_changed_one_is_not() {
    let read = |text: &str| parse_result(text.as_bytes(), &key()).unwrap_err();
    let failure = read(FAILURE);
    assert_eq!(failure.class, HostFailure::RateLimited);
    assert_eq!(failure.reason, Reason::Reported(HostFailure::RateLimited));
    assert_eq!(failure.internal.unwrap().expose(), example(FAILURE)["note"].as_str().unwrap());
    for class in ["auth_required", "workspace_denied", "transport_lost", "crashed", "timeout"] {
        assert_eq!(read(&FAILURE.replace("rate_limited", class)).class.as_str(), class);
    }
    for (from, to, reason) in [
        ("rate_limited", "bored", Reason::MalformedReport),
        ("\"note\"", "\"colour\"", Reason::MalformedReport),
        ("failure_class", "class", Reason::MalformedReport),
        ("429", &"4".repeat(1100), Reason::TooLong("note")),
        ("3b7c", "3b7d", Reason::OtherTurn),
    ] {
        let changed = read(&FAILURE.replacen(from, to, 1));
        assert_eq!((changed.class, changed.reason), (HostFailure::ResultInvalid, reason), "{from}");
    }
    let other = read(&FAILURE.replace("failure_v0", "failure_v9"));
    assert_eq!(other.class, HostFailure::IncompatibleVersion);
}

#[test]
fn what_is_optional_may_be_absent_and_nothing_else() {
    let optional = ["continuation", "evidence", "usage", "wake", "session_handle", "proposals"];
    let whole = example(RESULT);
    for field in whole.as_object().unwrap().keys() {
        let mut less = whole.clone();
        less.as_object_mut().unwrap().remove(field);
        let read = read(&less);
        if optional.contains(&field.as_str()) {
            assert!(read.is_ok(), "{field}: {read:?}");
        } else {
            assert_eq!(reason(read).to_string(), format!("the result has no {field}"));
        }
    }
}

/// The path of every object in a value but those below an opaque `command`.
fn objects(value: &Value, path: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            out.push(path.to_owned());
            for (name, field) in fields.iter().filter(|(name, _)| *name != "command") {
                objects(field, &format!("{path}/{name}"), out);
            }
        }
        Value::Array(list) => {
            for (at, each) in list.iter().enumerate() {
                objects(each, &format!("{path}/{at}"), out);
            }
        }
        _ => {}
    }
}

fn change(value: &Value, path: &str, edit: impl FnOnce(&mut Value)) -> String {
    let mut changed = value.clone();
    edit(changed.pointer_mut(path).unwrap());
    changed.to_string()
}

/// Generated: an extra key, and the same fields as a list, at every level of every inbound type.
#[test]
fn an_unknown_key_is_refused_at_every_level() {
    let mut sites = 0;
    for text in [REQUEST, RESULT] {
        let whole = example(text);
        let accepts = |text: &str| {
            Request::parse(text.as_bytes()).is_ok() || parse_result(text.as_bytes(), &key()).is_ok()
        };
        assert!(accepts(&whole.to_string()));
        let mut paths = Vec::new();
        objects(&whole, "", &mut paths);
        for path in &paths {
            let extra = change(&whole, path, |object| object["zz_extra"] = json!(1));
            assert!(!accepts(&extra), "an extra key in {path:?}");
            let list = change(&whole, path, |object| {
                let fields: Vec<Value> = object.as_object().unwrap().values().cloned().collect();
                *object = Value::Array(fields);
            });
            assert!(!accepts(&list), "a list for the object {path:?}");
        }
        sites += paths.len();
    }
    assert_eq!(sites, 12 + 5, "every inbound type stands in an example");
}

/// Generated: every text of a closed set, misspelled and spelled as an object.
#[test]
fn an_unknown_word_is_refused() {
    let result = [
        "/schema_version",
        "/result_kind",
        "/delivery_batch_scale",
        "/delivery_outcome",
        "/path_delta_mode",
        "/continuation/kind",
        "/evidence/0/kind",
    ];
    let request = [
        "/schema_version",
        "/session/action",
        "/turn_envelope/schema_version",
        "/turn_envelope/todo/kind",
        "/turn_envelope/todo/priority",
        "/turn_envelope/effective_action",
        "/turn_envelope/gates/blocking/0/kind",
        "/result_contract/schema_version",
        "/result_contract/result_kinds/0",
    ];
    let accepts =
        |text: &str| Request::parse(text.as_bytes()).is_ok() || parse_result(text.as_bytes(), &key()).is_ok();
    for (text, paths) in [(RESULT, &result[..]), (REQUEST, &request[..])] {
        let whole = example(text);
        for path in paths {
            let word = whole.pointer(path).unwrap().as_str().unwrap().to_owned();
            for bad in
                [json!(word.to_uppercase() + "x"), json!(""), json!(1), Value::Null, json!({ word: null })]
            {
                if (*path, &bad) != ("/path_delta_mode", &json!("")) {
                    assert!(!accepts(&change(&whole, path, |value| *value = bad.clone())), "{bad} at {path}");
                }
            }
        }
    }
}

#[test]
fn a_key_given_twice_is_refused() {
    let twice = RESULT.replacen("\"wake\":", "\"classification\": \"x\", \"wake\":", 1);
    assert_eq!(reason(parse_result(twice.as_bytes(), &key())), Reason::Twice("classification"));
}

#[test]
fn the_key_to_blame_is_named_and_its_value_never() {
    let secret = "hunter2 says ghp_0123456789abcdefghijABCDEFGHIJ012345";
    for (key, _) in example(RESULT).as_object().unwrap().clone() {
        for bad in [json!({ secret: secret }), json!([[secret]]), json!(1.5), json!(true)] {
            if key == "schema_version" {
                continue;
            }
            let said = reason(with(&key, bad.clone())).to_string();
            assert!(
                said.starts_with(&key) && !said.contains("hunter") && !said.contains("1.5"),
                "{key} {bad}: {said}"
            );
        }
    }
    let missing = |key: &str| {
        let mut result = example(RESULT);
        result.as_object_mut().unwrap().remove(key);
        reason(read(&result)).to_string()
    };
    assert_eq!(missing("summary"), "the result has no summary");
    assert_eq!(
        reason(with("result_kind", json!("finished"))).to_string(),
        "result_kind is not one of the words for it"
    );
    // a key of the host's own is named where it is a plain word, and no secret
    assert_eq!(
        reason(with("outcome", json!(secret))).to_string(),
        "the result has a key nobody reads: outcome"
    );
    // loopx:allow private_path
    for hidden in [secret, "A key", "", "/home/ana/x", &"x".repeat(41)] {
        assert_eq!(reason(with(hidden, json!(1))), Reason::Unknown(None), "{hidden}");
    }
    // what lies inside a value is told by the key that holds it
    let nested = with("evidence", json!([{ "kind": "note", "pointer": "a", "colour": "red" }]));
    assert_eq!(reason(nested).to_string(), "evidence is not a list of objects of kind, pointer and digest");
}

#[test]
fn exactly_one_object_is_a_result() {
    let class =
        |text: &[u8]| parse_result(text, &key()).map_err(|failure| (failure.class, failure.reason)).err();
    let invalid = |reason| Some((HostFailure::ResultInvalid, reason));
    assert_eq!(class(b""), Some((HostFailure::ResultMissing, Reason::Empty)));
    assert_eq!(class(b" \n\t"), Some((HostFailure::ResultMissing, Reason::Empty)));
    for text in ["null", "[]", "\"x\"", "{", "{}{}", "{} trailing", "log line\n{}", "\u{feff}{}", "NaN"] {
        assert_eq!(class(text.as_bytes()), invalid(Reason::NotOneObject), "{text:?}");
    }
    assert_eq!(class(b"{\"a\": \"\xff\xfe\"}"), invalid(Reason::NotOneObject));
    assert_eq!(class(b"{}"), invalid(Reason::Missing("schema_version")));
    let twice = format!("{RESULT}{RESULT}");
    assert_eq!(class(twice.as_bytes()), invalid(Reason::NotOneObject));
    assert!(
        !is_complete(twice.as_bytes())
            && !is_complete(b"{\"a\":")
            && !is_complete(b"")
            && is_complete(b" {} \n")
    );
    let padded = format!("\n{RESULT}{}", " ".repeat(100));
    assert_eq!(class(padded.as_bytes()), None);
}

#[test]
fn the_limit_of_the_whole_is_in_bytes() {
    let at_limit = format!("{RESULT}{}", " ".repeat(RESULT_MAX_BYTES - RESULT.len()));
    assert!(parse_result(at_limit.as_bytes(), &key()).is_ok());
    let failure = parse_result(format!("{at_limit} ").as_bytes(), &key()).unwrap_err();
    assert_eq!((failure.class, failure.reason), (HostFailure::OutputTooLarge, Reason::TooLarge));
}

#[test]
fn another_version_and_another_turn_are_told_apart() {
    let failure = with("schema_version", json!("loopx_turn_result_v1")).unwrap_err();
    assert_eq!((failure.class, failure.reason), (HostFailure::IncompatibleVersion, Reason::OtherVersion));
    let other = Digest::of(b"another Turn");
    assert_eq!(reason(parse_result(RESULT.as_bytes(), &other)), Reason::OtherTurn);
    assert_eq!(reason(with("turn_key", json!("3b7c"))), Reason::NotA("turn_key", "64 hexadecimal digits"));
}

#[test]
fn texts_are_limited_in_bytes() {
    let limits =
        [("summary", 400), ("classification", 120), ("next_action", 1200), ("recommended_action", 1200)];
    for (field, limit) in limits {
        assert!(with(field, json!("é".repeat(limit / 2))).is_ok(), "{field}");
        let long = json!("é".repeat(limit / 2) + "x");
        assert_eq!(reason(with(field, long)), Reason::TooLong(field));
    }
}

#[test]
fn lists_are_limited() {
    let whole = example(RESULT);
    let fill = |item: &dyn Fn(usize) -> Value, count| Value::Array((0..count).map(item).collect());
    let phase = |n| json!(format!("phase_{n}"));
    let evidence = |_| whole["evidence"][0].clone();
    let proposal = |_| whole["proposals"][0].clone();
    let usage = |n| json!({ "seq": n });
    let lists: [(&str, &dyn Fn(usize) -> Value); 4] =
        [("completed_phases", &phase), ("evidence", &evidence), ("proposals", &proposal), ("usage", &usage)];
    for (field, item) in lists {
        assert!(with(field, fill(item, 32)).is_ok(), "{field}");
        assert_eq!(reason(with(field, fill(item, 33))), Reason::TooMany(field));
    }
    let todo = |n: usize| json!(format!("faster-builds.{}", n + 1));
    let successor = |count| json!({ "kind": "successor", "todo_ids": fill(&todo, count) });
    assert!(with("continuation", successor(32)).is_ok());
    assert_eq!(reason(with("continuation", successor(33))), Reason::TooMany("continuation"));
}

#[test]
fn fields_that_contradict_are_refused() {
    let table = [
        ("continuation", json!({ "kind": "successor" })),
        ("continuation", json!({ "kind": "successor", "todo_ids": [] })),
        ("continuation", json!({ "kind": "no_followup", "todo_ids": ["faster-builds.5"] })),
        ("usage", json!([{ "seq": 1 }, { "seq": 1 }])),
        ("usage", json!([{ "seq": 1, "cost_micros": 5 }])),
        ("usage", json!([{ "seq": 1, "currency": "EUR" }])),
        ("usage", json!([{ "seq": 1, "cost_micros": 5, "currency": "eur" }])),
        ("usage", json!([{ "seq": u64::MAX }])),
        ("wake", json!("tomorrow")),
        ("wake", json!("after:-1")),
        ("wake", json!("gate:nothing")),
        ("session_handle", json!("")),
        ("session_handle", json!("a\nb")),
        ("evidence", json!([{ "kind": "note", "pointer": " " }])),
        ("completed_phases", json!(["Not A Word"])),
    ];
    for (field, value) in table {
        assert_eq!(reason(with(field, value.clone())), Reason::Inconsistent(field), "{value}");
    }
    assert_eq!(
        reason(with("usage", json!([{ "seq": -1 }]))).to_string(),
        "usage is not a list of objects of seq and counts"
    );
    let result = with("wake", json!("after:1800000000000")).unwrap();
    assert_eq!(result.wake, Some(Wake::After(Timestamp::from_ms(1_800_000_000_000))));
}

#[test]
fn a_credential_in_any_text_makes_the_result_invalid() {
    let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let table = [
        ("summary", json!(secret)),
        ("classification", json!(secret)),
        ("next_action", json!(secret)),
        ("recommended_action", json!(secret)),
        ("evidence", json!([{ "kind": "note", "pointer": secret }])),
        ("proposals", json!([{ "command": {}, "reason": secret }])),
        ("proposals", json!([{ "command": { "a": [{ "b": secret }] }, "reason": "x" }])),
        ("proposals", json!([{ "command": { secret.clone(): 1 }, "reason": "x" }])),
    ];
    for (field, value) in table {
        let failure = with(field, value).unwrap_err();
        assert_eq!(failure.class, HostFailure::ResultInvalid);
        assert_eq!(failure.reason, Reason::Credential(field, Credential::Forge));
        assert!(
            !format!("{failure:?} {}", failure.reason).contains("ghp_"),
            "a failure never quotes the host"
        );
    }
}

#[test]
fn places_are_redacted_in_every_text_and_counted() {
    let mut result = example(RESULT);
    result["summary"] = json!("wrote /home/ann/x\u{1b}[31m"); // loopx:allow private_path
    result["next_action"] = json!("ssh 10.0.0.7"); // loopx:allow private_host
    result["evidence"][0]["pointer"] = json!("file:///home/ann/x"); // loopx:allow private_path
    result["proposals"][0] = json!({ "command": { "a": ["/root/x"] }, "reason": "see nas.local" });
    let read = read(&result).unwrap();
    assert_eq!((read.summary.as_str(), read.next_action.as_str()), ("wrote [path]", "ssh [host]"));
    assert_eq!(read.evidence[0].pointer.as_str(), "[path]");
    assert_eq!(Value::Object(read.proposals[0].command.clone()), json!({ "a": ["[path]"] }));
    assert_eq!((read.proposals[0].reason.as_str(), read.redactions), ("see [host]", 5));
    let keyed = with("proposals", json!([{ "command": { "/root/x": 1 }, "reason": "x" }]));
    assert_eq!(reason(keyed), Reason::Inconsistent("proposals"));
}

#[test]
fn a_redaction_never_makes_a_text_longer_than_its_limit() {
    let text = "/tmp ".repeat(24);
    let result = with("classification", json!(text)).unwrap();
    assert!(result.classification.len() <= 120 && result.redactions == 24);
}

#[test]
fn progress_on_a_monitor_is_a_look() {
    let table = [
        ("validated_progress", "unchanged", true, ResultKind::LookUnchanged),
        ("validated_progress", "", true, ResultKind::LookChanged),
        ("validated_progress", "unchanged", false, ResultKind::ValidatedProgress),
        ("wait", "", true, ResultKind::LookUnchanged),
        ("wait", "", false, ResultKind::Wait),
        ("repair_required", "", true, ResultKind::RepairRequired),
        ("replan_required", "material_replan", false, ResultKind::ReplanRequired),
        ("user_action_required", "", true, ResultKind::UserActionRequired),
    ];
    for (kind, delta, is_monitor, expected) in table {
        let mut result = example(RESULT);
        result["result_kind"] = json!(kind);
        result["path_delta_mode"] = json!(delta);
        assert_eq!(read(&result).unwrap().kind_for(is_monitor), expected, "{kind} {delta} {is_monitor}");
    }
}

#[test]
fn an_envelope_that_was_touched_or_grew_is_refused() {
    let touched = REQUEST.replace("\"requirement_revision\": 3", "\"requirement_revision\": 4");
    assert_eq!(Request::parse(touched.as_bytes()).unwrap_err().code(), Code::InvalidArgument);
    let mut request = Request::parse(REQUEST.as_bytes()).unwrap();
    let whole = request.turn_envelope.content_hash().unwrap();
    request.turn_envelope.required_reads.clear();
    request.turn_envelope = request.turn_envelope.seal(whole).unwrap();
    assert!(!request.turn_envelope.action_signature.matches, "something was cut");
    assert!(Request::parse(&request.encode().unwrap()).is_ok());
    let read = "x".repeat(500).parse().unwrap();
    request.turn_envelope.required_reads = vec![read; ENVELOPE_MAX_BYTES / 500 + 1];
    request.turn_envelope = request.turn_envelope.seal(whole).unwrap();
    assert_eq!(request.encode().unwrap_err().code(), Code::RequiredContextTooLarge);
    let bytes = serde_json::to_vec(&request).unwrap();
    assert_eq!(Request::parse(&bytes).unwrap_err().code(), Code::RequiredContextTooLarge);
}

#[test]
fn a_request_that_is_not_ours_is_refused_with_its_code() {
    let code = |text: String| Request::parse(text.as_bytes()).unwrap_err().code();
    let other = REQUEST.replace("loopx_turn_host_request_v0", "loopx_turn_host_request_v1");
    assert_eq!(code(other), Code::UnsupportedVersion);
    assert_eq!(code(format!("{REQUEST}{{}}")), Code::UnknownField);
    assert_eq!(code(format!("{REQUEST}{}", " ".repeat(32 * 1024))), Code::PayloadTooLarge);
    assert_eq!(code(REQUEST.replace("\"resume\"", "\"start_new\"")), Code::InvalidArgument);
    assert_eq!(code(REQUEST.replace("\"attempt\": 1", "\"attempt\": 0")), Code::InvalidArgument);
}

#[test]
fn a_request_shows_no_handle_in_debug() {
    let request = Request::parse(REQUEST.as_bytes()).unwrap();
    assert!(!format!("{request:?}").contains("host-session-17"));
}

/// Any JSON of a moderate depth.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        prop_assert!(parse_result(&bytes, &key()).is_err());
        prop_assert!(Request::parse(&bytes).is_err());
    }

    #[test]
    fn any_value_in_any_field_is_taken_or_refused(value in any_json(), at in 0_usize..17) {
        let names: Vec<String> = example(RESULT).as_object().unwrap().keys().cloned().collect();
        let result = with(&names[at], value);
        prop_assert!(result.is_ok() || result.is_err());
        if let Ok(result) = result {
            prop_assert!(result.summary.len() <= 400 && result.proposals.len() <= 32);
        }
    }
}
