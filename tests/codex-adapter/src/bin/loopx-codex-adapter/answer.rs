//! Owns what a run of codex becomes: a candidate, or the class of a failure.
//!
//! Knows nothing of how codex was run. Invariant: success takes both, an exit status of 0 and a final event that says
//! so; one without the other is none.

use loopx_core::sdk::{
    HostFailure,
    turn_host::{BatchScale, Candidate, DeliveryOutcome, RelayEnd, Relayed, Request, Said, WireKind},
};
use serde_json::Value;

use super::{
    events::{Final, Seen},
    prompt::VERDICT,
};

/// What is to be printed.
#[derive(Debug)]
pub(super) enum Answer {
    Worked(Candidate),
    Failed(HostFailure, String),
}

/// Judges a run that ended by itself, or lingered after its final event.
pub(super) fn of(request: &Request, relayed: &Relayed, seen: &Seen) -> Answer {
    let said_so = relayed.ended == RelayEnd::Exited(0) || relayed.ended == RelayEnd::Lingered;
    match &seen.ended {
        Some(Final::Completed(_)) if said_so => worked(request, seen),
        Some(Final::Completed(_)) => Answer::Failed(
            HostFailure::Crashed,
            format!("it said that it completed, and then: {}", relayed.ended),
        ),
        Some(Final::Failed(why)) => Answer::Failed(class(why), why.clone()),
        None if said_so => {
            Answer::Failed(HostFailure::ResultMissing, "it ended well and said nothing of its end".to_owned())
        }
        None => {
            let stderr = String::from_utf8_lossy(&relayed.stderr);
            let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            Answer::Failed(class(last), format!("{}: {last}", relayed.ended))
        }
    }
}

/// The class of what codex says of a failure; what it does not know is a crash.
fn class(why: &str) -> HostFailure {
    let why = why.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if says(&["401 unauthorized", "403 forbidden", "not logged in", "please log in", "invalid api key"]) {
        HostFailure::AuthRequired
    } else if says(&["429", "rate limit", "usage limit"]) {
        HostFailure::RateLimited
    } else if says(&["at capacity", "overloaded", "high demand", "503 service"]) {
        HostFailure::ProviderCapacity
    } else if says(&["no rollout found", "thread not found", "already has an active writer", "thread/resume"])
    {
        HostFailure::SessionUnavailable
    } else if says(&["stream disconnected", "error sending request", "connection", "timed out"]) {
        HostFailure::TransportLost
    } else {
        HostFailure::Crashed
    }
}

fn worked(request: &Request, seen: &Seen) -> Answer {
    let (text, verdict) = verdict(&seen.message);
    let of = |key: &str| verdict.as_ref().and_then(|verdict| verdict.get(key)?.as_str()).unwrap_or_default();
    let kind = match of("kind") {
        "done" => WireKind::ValidatedCompletion,
        "repair" => WireKind::RepairRequired,
        "replan" => WireKind::ReplanRequired,
        "person" => WireKind::UserActionRequired,
        // Whoever does not say that it is done has done a part at most.
        _ => WireKind::ValidatedProgress,
    };
    let said = Said {
        summary: if of("summary").is_empty() { text } else { of("summary") },
        classification: "codex",
        next_action: of("next"),
        recommended_action: of("next"),
    };
    let outcome = match kind {
        WireKind::ValidatedCompletion | WireKind::ValidatedProgress => DeliveryOutcome::OutcomeProgress,
        WireKind::RepairRequired
        | WireKind::ReplanRequired
        | WireKind::UserActionRequired
        | WireKind::Wait => DeliveryOutcome::OutcomeGap,
    };
    let begun = Candidate::new(request, kind, said, BatchScale::SingleSurface, outcome);
    let phases: &[&str] = if seen.commands > 0 { &["read", "run"] } else { &["read"] };
    match begun.and_then(|candidate| candidate.phases(phases)) {
        Ok(candidate) => Answer::Worked(candidate),
        Err(error) => Answer::Failed(HostFailure::ResultInvalid, error.message().to_owned()),
    }
}

/// The last message without its verdict, and the verdict where its last line is one.
fn verdict(message: &str) -> (&str, Option<Value>) {
    let message = message.trim();
    let (text, last) = message.rsplit_once('\n').unwrap_or(("", message));
    match last.trim().strip_prefix(VERDICT).and_then(|verdict| serde_json::from_str(verdict).ok()) {
        Some(verdict) => (text.trim(), Some(verdict)),
        None => (message, None),
    }
}

#[cfg(test)]
mod tests {
    use loopx_core::sdk::turn_host::check_result;

    use super::{super::events, *};

    fn request() -> Request {
        Request::parse(include_bytes!("../../../../../docs/wire/request.json")).unwrap()
    }

    fn relayed(ended: RelayEnd, stderr: &str) -> Relayed {
        Relayed {
            ended,
            stdout: Vec::new(),
            stderr: stderr.as_bytes().to_vec(),
            wall_ms: 5,
            outlived: Vec::new(),
            survivors: Vec::new(),
        }
    }

    fn completed(message: &str) -> Seen {
        Seen {
            ended: Some(Final::Completed(events::Tokens::default())),
            message: message.to_owned(),
            ..Seen::default()
        }
    }

    fn failure(answer: Answer) -> HostFailure {
        match answer {
            Answer::Failed(class, _) => class,
            Answer::Worked(candidate) => panic!("{candidate:?}"),
        }
    }

    #[test]
    fn success_takes_an_exit_of_zero_and_a_final_event() {
        let request = request();
        let done = "All done.\nLOOPX {\"kind\":\"done\",\"summary\":\"mended\",\"next\":\"\"}";
        for ended in [RelayEnd::Exited(0), RelayEnd::Lingered] {
            let Answer::Worked(candidate) = of(&request, &relayed(ended, ""), &completed(done)) else {
                panic!()
            };
            let result = check_result(&candidate.encode().unwrap(), &request.turn_key).unwrap();
            assert_eq!((result.kind, result.summary.as_str()), (WireKind::ValidatedCompletion, "mended"));
        }
        let none = Seen::default();
        assert_eq!(
            failure(of(&request, &relayed(RelayEnd::Exited(1), ""), &completed(done))),
            HostFailure::Crashed
        );
        assert_eq!(
            failure(of(&request, &relayed(RelayEnd::Signalled(9), ""), &completed(done))),
            HostFailure::Crashed
        );
        assert_eq!(
            failure(of(&request, &relayed(RelayEnd::Exited(0), ""), &none)),
            HostFailure::ResultMissing
        );
        let unknown = "Error: thread/resume failed: no rollout found for thread id x\n\n";
        let class = failure(of(&request, &relayed(RelayEnd::Exited(1), unknown), &none));
        assert_eq!(class, HostFailure::SessionUnavailable);
    }

    #[test]
    fn whoever_does_not_say_done_has_done_a_part() {
        let request = request();
        for (message, kind, summary) in [
            ("it is all done", WireKind::ValidatedProgress, "it is all done"),
            ("LOOPX not json", WireKind::ValidatedProgress, "LOOPX not json"),
            ("LOOPX {\"kind\":\"perfect\"}", WireKind::ValidatedProgress, ""),
            ("I cannot\nLOOPX {\"kind\":\"person\"}", WireKind::UserActionRequired, "I cannot"),
            ("LOOPX {\"kind\":\"replan\",\"summary\":\"no\"}", WireKind::ReplanRequired, "no"),
        ] {
            let Answer::Worked(candidate) =
                of(&request, &relayed(RelayEnd::Exited(0), ""), &completed(message))
            else {
                panic!("{message}")
            };
            let result = check_result(&candidate.encode().unwrap(), &request.turn_key).unwrap();
            assert_eq!((result.kind, result.summary.as_str()), (kind, summary), "{message}");
        }
    }

    #[test]
    fn what_codex_says_of_a_failure_has_its_class() {
        for (why, expected) in [
            ("unexpected status 401 Unauthorized: x, url: y", HostFailure::AuthRequired),
            ("exceeded retry limit, last status: 429 Too Many Requests", HostFailure::RateLimited),
            ("You’ve hit your usage limit. Try again later.", HostFailure::RateLimited),
            (
                "We’re currently experiencing high demand, which may cause temporary errors.",
                HostFailure::ProviderCapacity,
            ),
            ("Selected model is at capacity. Please try a different model.", HostFailure::ProviderCapacity),
            ("unexpected status 503 Service Unavailable: x", HostFailure::ProviderCapacity),
            ("stream disconnected before completion: stream closed", HostFailure::TransportLost),
            ("something nobody has seen", HostFailure::Crashed),
        ] {
            let seen = Seen { ended: Some(Final::Failed(why.to_owned())), ..Seen::default() };
            assert_eq!(failure(of(&request(), &relayed(RelayEnd::Exited(1), ""), &seen)), expected, "{why}");
        }
    }
}
