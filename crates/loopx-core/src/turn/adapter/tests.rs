//! The far side of the pipe: what it refuses to read, what it cannot be made to print, and what it leaves running.

use std::{ffi::OsString, fs, io::pipe, path::Path};

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Candidate, Relay, RelayEnd, Relayed, Report, Said, StoppedBy, check_goal, read_request};
use crate::{
    boundary::Private,
    error::Code,
    model::*,
    process::{self, Token},
    turn::wire::{
        BatchScale, DeliveryOutcome, Failure, PathDelta, REQUEST_MAX_BYTES, Request, WireKind, parse_result,
    },
};

const REQUEST: &str = include_str!("../../../../../docs/wire/request.json");
const RESULT: &str = include_str!("../../../../../docs/wire/result.json");

fn request() -> Request {
    read_request(&mut REQUEST.as_bytes()).unwrap()
}

fn begun(kind: WireKind, said: Said<'_>) -> Candidate {
    Candidate::new(&request(), kind, said, BatchScale::SingleSurface, DeliveryOutcome::OutcomeProgress)
        .unwrap()
}

fn refused(candidate: Candidate) -> (HostFailure, String) {
    let Failure { class, reason, .. } = candidate.encode().unwrap_err();
    (class, reason.to_string())
}

#[test]
fn a_request_that_lost_its_end_is_refused_at_every_byte() {
    let whole = serde_json::to_string(&serde_json::from_str::<Value>(REQUEST).unwrap()).unwrap();
    for length in 0..whole.len() {
        let refused = read_request(&mut &whole.as_bytes()[..length]).unwrap_err();
        assert_eq!(refused.code(), Code::UnknownField, "{length}");
    }
    let too_much = whole.clone() + &" ".repeat(REQUEST_MAX_BYTES);
    assert_eq!(read_request(&mut too_much.as_bytes()).unwrap_err().code(), Code::PayloadTooLarge);
    let two = format!("{whole}{whole}");
    assert_eq!(read_request(&mut two.as_bytes()).unwrap_err().code(), Code::UnknownField);
}

#[test]
fn one_other_letter_anywhere_in_the_envelope_is_seen() {
    let envelope = REQUEST.find("\"turn_envelope\"").unwrap()..REQUEST.find("\"result_contract\"").unwrap();
    let mut altered = 0;
    for at in envelope {
        let mut bytes = REQUEST.as_bytes().to_vec();
        bytes[at] = match bytes[at] {
            b'0'..=b'8' | b'a'..=b'e' | b'g'..=b'y' => bytes[at] + 1,
            _ => continue,
        };
        let Err(refused) = read_request(&mut bytes.as_slice()) else { panic!("taken, altered at {at}") };
        assert!(matches!(refused.code(), Code::UnknownField | Code::InvalidArgument), "{at}: {refused}");
        altered += 1;
    }
    assert!(altered > 1000, "{altered}");
}

#[test]
fn a_goal_that_was_started_anew_under_the_same_name_is_another() {
    let request = request();
    let (goal_id, instance) = (&request.turn_envelope.goal_id, request.turn_envelope.goal_instance);
    check_goal(&request, goal_id, instance).unwrap();
    let other = GoalInstance::from_bytes([7; 16]);
    assert_eq!(check_goal(&request, goal_id, other).unwrap_err().code(), Code::BindingConflict);
    let named = "other".parse().unwrap();
    assert_eq!(check_goal(&request, &named, instance).unwrap_err().code(), Code::BindingConflict);
}

#[test]
fn a_result_with_all_there_can_be_is_the_documented_one() {
    let text = |key: &str| serde_json::from_str::<Value>(RESULT).unwrap()[key].as_str().unwrap().to_owned();
    let (summary, next, recommended) = (text("summary"), text("next_action"), text("recommended_action"));
    let said = Said {
        summary: &summary,
        classification: "performance",
        next_action: &next,
        recommended_action: &recommended,
    };
    let usage: Usage =
        serde_json::from_value(serde_json::from_str::<Value>(RESULT).unwrap()["usage"][0].clone()).unwrap();
    let todo_id: TodoId = "faster-builds.5".parse().unwrap();
    let whole: Value = serde_json::from_str(RESULT).unwrap();
    let command = whole["proposals"][0]["command"].as_object().unwrap().clone();
    let digest = whole["evidence"][0]["digest"].as_str().unwrap().parse().unwrap();
    let printed = begun(WireKind::ValidatedCompletion, said)
        .phases(&["read", "edit", "check"])
        .unwrap()
        .path_delta(PathDelta::Unchanged)
        .unwrap()
        .continuation(&Continuation::Successor { todo_ids: vec![todo_id.clone()] })
        .unwrap()
        .evidence(EvidenceKind::File, "bench/unchanged.json", Some(digest))
        .unwrap()
        .usage(&usage)
        .unwrap()
        .wake_when_done(&todo_id)
        .session(&Private::new("host-session-17".to_owned()))
        .proposal(command, whole["proposals"][0]["reason"].as_str().unwrap())
        .encode()
        .unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&printed).unwrap(), whole);
}

#[test]
fn texts_are_cut_to_the_limits_that_the_request_names() {
    let long = "ä".repeat(5000);
    let said = Said { summary: &long, classification: &long, next_action: &long, recommended_action: &long };
    let printed = begun(WireKind::ValidatedProgress, said).encode().unwrap();
    let result = parse_result(&printed, &request().turn_key).unwrap();
    assert_eq!(
        (result.summary.len(), result.classification.len(), result.next_action.len()),
        (400, 120, 1200)
    );
    // a LoopX that takes less is given less
    let mut lower: Value = serde_json::from_str(REQUEST).unwrap();
    lower["result_contract"]["summary_max_bytes"] = json!(41);
    let lower = read_request(&mut lower.to_string().as_bytes()).unwrap();
    let (scale, outcome) = (BatchScale::TestOnly, DeliveryOutcome::SurfaceOnly);
    let printed = Candidate::new(&lower, WireKind::Wait, said, scale, outcome).unwrap().encode().unwrap();
    assert_eq!(parse_result(&printed, &lower.turn_key).unwrap().summary.len(), 40);
}

#[test]
fn what_the_wire_refuses_cannot_be_printed() {
    let plain = || begun(WireKind::ValidatedCompletion, Said::default());
    let token = ["ghp", "_0123456789abcdefghijABCDEFGHIJ012345"].concat();
    let of = |reason: &str| (HostFailure::ResultInvalid, reason.to_owned());
    let secret = begun(WireKind::Wait, Said { summary: &token, ..Said::default() });
    assert_eq!(refused(secret).0, HostFailure::ResultInvalid);
    assert_eq!(
        refused(plain().phases(&["Read"]).unwrap()),
        of("completed_phases contradicts itself or another field")
    );
    assert_eq!(
        refused(plain().session(&Private::new("two\nlines".to_owned()))),
        of("session_handle contradicts itself or another field")
    );
    let many = (0..33).try_fold(plain(), |all, _| all.evidence(EvidenceKind::Note, "n", None)).unwrap();
    assert_eq!(refused(many), of("evidence has more items than its limit"));
    let empty = Continuation::Successor { todo_ids: Vec::new() };
    assert_eq!(
        refused(plain().continuation(&empty).unwrap()),
        of("continuation contradicts itself or another field")
    );
    let big = (0..32).fold(plain(), |all, _| {
        let mut command = Map::new();
        command.insert("text".to_owned(), "x".repeat(4000).into());
        all.proposal(command, "why")
    });
    assert_eq!(refused(big).0, HostFailure::OutputTooLarge);
    let wait = begun(WireKind::Wait, Said::default());
    assert_eq!(wait.continuation(&Continuation::NoFollowup).unwrap_err().code(), Code::InvalidArgument);
    // a kind that the request does not take
    let mut fewer = request();
    fewer.result_contract.result_kinds = vec![WireKind::Wait];
    let (scale, outcome) = (BatchScale::TestOnly, DeliveryOutcome::SurfaceOnly);
    let refused = Candidate::new(&fewer, WireKind::ValidatedProgress, Said::default(), scale, outcome);
    assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn a_reported_failure_is_read_as_its_class() {
    let request = request();
    for class in [HostFailure::RateLimited, HostFailure::AuthRequired, HostFailure::SessionUnavailable] {
        let printed = Report::new(&request, class).note(&"n".repeat(5000)).encode().unwrap();
        let failure = parse_result(&printed, &request.turn_key).unwrap_err();
        assert_eq!(failure.class, class);
        assert_eq!(failure.reason.to_string(), format!("the host reported {}", class.as_str()));
        assert_eq!(parse_result(&printed, &Digest::ZERO).unwrap_err().class, HostFailure::ResultInvalid);
    }
}

proptest! {
    /// Whatever an adapter says, it prints a result that is taken or it is told why not.
    #[test]
    fn any_text_is_printed_as_a_sound_result_or_refused(
        summary in any::<String>(), pointer in any::<String>(), handle in any::<String>(), tokens in any::<u64>(),
    ) {
        let usage = Usage {
            seq: 0, tokens_in: Some(tokens), tokens_out: None, cost_micros: None, currency: None, wall_ms: None,
        };
        let said = Said { summary: &summary, next_action: &pointer, ..Said::default() };
        let candidate = begun(WireKind::ValidatedProgress, said)
            .evidence(EvidenceKind::Note, &pointer, None)
            .unwrap()
            .usage(&usage)
            .unwrap()
            .session(&Private::new(handle));
        match candidate.encode() {
            Ok(printed) => prop_assert!(parse_result(&printed, &request().turn_key).is_ok()),
            Err(failure) => prop_assert_eq!(failure.class, HostFailure::ResultInvalid),
        }
    }
}

/// A relay of a line of shell.
fn shell(folder: &Path, script: &str, mark: &str) -> Relay {
    let argv = ["sh", "-c", script].map(OsString::from).to_vec();
    let path = (OsString::from("PATH"), OsString::from("/usr/bin:/bin"));
    let variables = [path, (OsString::from("LOOPX_CONTAINMENT"), OsString::from(mark))];
    Relay::new(argv, folder.to_owned()).variables(variables).grace_ms(500)
}

fn mark(name: &str) -> String {
    format!("relay-{name}-{}", std::process::id())
}

fn nothing_left(mark: &str) {
    assert!(process::alive_by_token(&Token::parse(mark).unwrap()).unwrap().is_empty());
}

#[test]
fn a_program_inside_is_run_to_its_end_with_all_that_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let mark = mark("end");
    let script = "cat; echo out; echo err >&2; (setsid sleep 300 >/dev/null 2>&1 &) ; exit 3";
    let done = shell(dir.path(), script, &mark).input(b"in\n".to_vec()).run_unless(&mut || false).unwrap();
    assert_eq!(done.ended, RelayEnd::Exited(3));
    assert_eq!((done.stdout.as_slice(), done.stderr.as_slice()), (&b"in\nout\n"[..], &b"err\n"[..]));
    assert!(!done.outlived.is_empty() && done.survivors.is_empty());
    nothing_left(&mark);
}

#[test]
fn fault_e05_a_cut_lifeline_and_a_wish_end_the_whole_tree() {
    let dir = tempfile::tempdir().unwrap();
    let began = dir.path().join("began");
    let script = "(setsid sh -c 'trap \"\" TERM; touch began; sleep 300' &) ; exec sleep 300";
    let (own, theirs) = pipe().unwrap();
    let lost = mark("lost");
    // The parent holds the writing end, and dies once the program runs.
    let mut theirs = Some(theirs);
    let done = shell(dir.path(), script, &lost).lifeline(own.into()).run_unless(&mut || {
        if began.exists() {
            theirs = None;
        }
        false
    });
    let done = done.unwrap();
    assert_eq!(done.ended, RelayEnd::Stopped(StoppedBy::ParentGone));
    nothing_left(&lost);
    fs::remove_file(&began).unwrap();
    let wished = mark("wished");
    let done = shell(dir.path(), script, &wished).run_unless(&mut || began.exists()).unwrap();
    assert_eq!(done.ended, RelayEnd::Stopped(StoppedBy::Wish));
    assert!(done.survivors.is_empty());
    nothing_left(&wished);
}

#[test]
fn each_bound_of_a_relay_ends_it() {
    let dir = tempfile::tempdir().unwrap();
    let run = |script: &str, bound: fn(Relay) -> Relay| -> Relayed {
        bound(shell(dir.path(), script, &mark("bound"))).run_unless(&mut || false).unwrap()
    };
    assert_eq!(run("sleep 300", |relay| relay.wall_ms(50)).ended, RelayEnd::WallDeadline);
    assert_eq!(run("sleep 300", |relay| relay.idle_ms(Some(50))).ended, RelayEnd::IdleDeadline);
    let flood = run("yes", |relay| relay.stdout_max_bytes(10_000));
    assert_eq!((flood.ended, flood.stdout.len()), (RelayEnd::OutputTooLarge, 10_000));
    let done = run("echo done; sleep 300", |relay| relay.done_when(|out| out.ends_with(b"done\n"), 20));
    assert_eq!(done.ended, RelayEnd::Lingered);
    let missing = Relay::new(vec!["/nowhere/at/all".into()], dir.path().to_owned()).run_unless(&mut || false);
    assert_eq!(missing.unwrap().ended, RelayEnd::Missing);
    let unmarked = shell(dir.path(), "exit 0", "no mark").run_unless(&mut || false);
    assert_eq!(unmarked.unwrap_err().code(), Code::InvalidId);
}
