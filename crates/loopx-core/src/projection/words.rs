//! Owns what the codes of a reason are called where a person reads them.
//!
//! Programs get the codes; nothing here is compared.

use crate::{
    error::Code,
    kernel::{Ask, deny_command},
};

const GOAL_CLOSED: &str = Code::GoalClosed.as_str();
const GOAL_STOPPED: &str = Code::GoalStopped.as_str();
const SESSION_UNAVAILABLE: &str = Code::SessionUnavailable.as_str();
const INCOMPATIBLE_VERSION: &str = Code::IncompatibleVersion.as_str();
const TURN_RUNNING: &str = Code::TurnRunning.as_str();
const CEILING_REQUIRED: &str = Code::CeilingRequired.as_str();
const HELD: &str = Code::Held.as_str();
const BOUNDARY_VIOLATION: &str = Code::BoundaryViolation.as_str();

/// A reason in words: of a Turn's end or hold, of a host's failure, of what an agent or a Todo waits for.
///
/// A word that needs no other is returned as it is.
pub fn plain(code: &str) -> &str {
    match code {
        // By what an attempt was held together.
        "cgroup" => "control group",
        "sub_reaper" => "guardian",
        "group_only" => "process group alone",
        // What its executor says that it came to.
        "validated_completion" => "it is done",
        "validated_progress" => "it got on",
        "repair_required" => "something has to be repaired",
        "replan_required" => "the plan does not hold",
        "user_action_required" => "a person has to act",
        "look_unchanged" => "nothing has changed",
        "look_changed" => "something has changed",
        // Why a plan has to change.
        "fruitless" => "its last Turns brought no progress",
        "evidence_rejected" => "evidence of it was rejected",
        "gate_denied" => "what it needs was denied",
        "unchanged_limit" => "nothing changes",
        "dependency_cancelled" => "what it depends on was cancelled",
        "wake_lost" => "what it waits for cannot come true",
        // Why a Turn was stopped.
        "released" => "its owner let go",
        "transferred" => "handed on",
        "force_released" => "taken back by a person",
        "user_action" => "it needs a person",
        "wait" => "it waits for something",
        "lapsed" => "its ownership ran out",
        "stop" => "somebody stopped it",
        "abandoned" => "given up by a person",
        "retired" => "its agent was retired",
        GOAL_CLOSED => "the Goal was closed",
        GOAL_STOPPED => "the Goal is stopped",
        "scopes_taken" => "it ran out, and its write scopes were taken",
        // Why it is unresolved.
        "lost" => "its executor was lost",
        "inconclusive" => "its validators could not tell",
        "incarnation" => "it is of an earlier life of the ledger",
        // Why it failed.
        "validate" => "refused by its validators",
        BOUNDARY_VIOLATION => "wrote outside its scopes",
        "auth_required" => "the host is not signed in",
        SESSION_UNAVAILABLE => "the host's session cannot be resumed",
        "workspace_denied" => "the host may not use the work tree",
        "timeout" => "the host ran past its deadline",
        "idle_timeout" => "the host was silent too long",
        "transport_lost" => "the connection to the host broke",
        "output_too_large" => "the host said too much",
        "result_missing" => "the host ended without a result",
        "result_invalid" => "the host's result cannot be taken",
        "provider_capacity" => "the host's provider has no room",
        "rate_limited" => "the host's provider slows it down",
        INCOMPATIBLE_VERSION => "this version of the host is known not to work",
        "crashed" => "the host crashed",
        // What holds a result.
        "requirement" => "the Todo changed meanwhile",
        "gate" => "a question is not answered",
        "acceptance" => "a person has to accept it",
        "hold" => "a person paused it",
        "deps" => "it waits for other Todos",
        "tree_busy" => "somebody else writes in the work tree",
        "agent_busy" => "its agent works on something else",
        "effect" => "it is not known what an outside effect did",
        // Where an effect stands.
        "written_off" => "written off",
        // What an agent, or a Todo, waits for.
        "quota" => "the budget of Turns is used up",
        "owned_by_peers" => "other agents own what is left",
        "turn_elsewhere" | TURN_RUNNING => "this agent works already",
        "time" => "everything left waits for its time",
        "changed" => "what could be taken was taken meanwhile",
        "user" => "a person has to act",
        "unresolved" => "what its last Turn did is not known",
        HELD => "its result is held",
        "mine" => "this agent owns it already",
        "peer" => "another agent owns it",
        "capability" => "the agent lacks a capability",
        "claimable" => "it can be taken",
        // What a person is asked for.
        Ask::LIMIT_ZERO => "a limit of zero lets nothing run",
        CEILING_REQUIRED => "it has to be said what a Turn may use",
        "no_todo" => "the Goal has no Todo yet",
        "ready_to_close" => "the Goal can be closed",
        "acceptance_gap" => "a criterion is not shown yet",
        other => other,
    }
}

/// What is asked, where that is a question, and how it is refused, where its command approves.
pub fn question(ask: &Ask) -> Option<String> {
    let question = ask.question.as_ref()?;
    let refused = deny_command(&ask.command).map(|_| " (`--deny` in place of `--approve` says no)");
    Some(format!("\u{ab}{question}\u{bb}{}", refused.unwrap_or_default()))
}

/// What a person is asked for, in words: why, about what, and the question.
pub fn asked(ask: &Ask, about: &str) -> String {
    let question = ask.question.as_ref().map(|question| format!(": \u{ab}{question}\u{bb}"));
    format!("{} ({about}){}", plain(ask.why), question.unwrap_or_default())
}

/// What a person can do about a failure of a host, in words that follow what happened.
pub fn mend(failure: &str) -> &str {
    match failure {
        "auth_required" => "sign it in, then run it again",
        SESSION_UNAVAILABLE => "run it again with a new session",
        "workspace_denied" => "let it write in the work tree, then run it again",
        "timeout" => "give it longer with `config set turn.deadline`, or make the Todo smaller",
        "idle_timeout" => "look at what it printed last",
        "transport_lost" | "provider_capacity" | "rate_limited" => "run it again later",
        "output_too_large" => "let it print its one result alone",
        "result_missing" => "let it print one result before it ends, as the wire asks",
        "result_invalid" => "mend what it prints, as the wire asks",
        INCOMPATIBLE_VERSION => "use another version of it",
        // It ended with an error or by a signal; with which, and what it printed, is the owner's to see.
        _ => "look at how it ended and what it printed, mend that, and run it again",
    }
}

/// What an agent is to do, in words that follow "the agent should"; of the name of an action.
pub fn should(action: &str) -> &str {
    match action {
        "run" => "take a Todo",
        "repair" => "repair a refused result",
        "replan" => "change a plan",
        "reconcile" => "find out what became of what it began",
        "ask_user" => "ask a person",
        "closed" => "do nothing, the Goal is closed",
        other => other, // `wait`
    }
}
