//! Owns counting: what each event of the ledger says for the metrics.
//!
//! Knows nothing of where events come from. Every domain of events is named here, so that one that comes later has to
//! say what it counts for.

use std::collections::{BTreeMap, BTreeSet};

use super::{Count, Metric, NOT_RECORDED};
use crate::{
    authority::Envelope,
    kernel::{AttentionEvent, ClaimEvent, Event, GateEvent, HandoffEvent, TurnEvent},
    model::{
        About, Actor, AgentId, End, FailedBy, GateId, HostFailure, OperationId, Stopped, Timestamp, TodoId,
        TurnId, Unresolved,
    },
};

/// How many times are kept, the first of a window; a gate is answered by a person, so there are few.
const TIMES_MAX: usize = 100_000;

/// What was counted so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Turns that were interrupted and have not ended.
    interrupted: BTreeSet<TurnId>,
    /// Turns whose last attempt is lost, while nothing followed.
    lost: BTreeSet<TurnId>,
    /// The verb that dispatched the last attempt of a Turn that has not ended.
    dispatched_by: BTreeMap<TurnId, Box<str>>,
    recoverable: u64,
    recovered: u64,
    adopted: u64,
    dispatched_anew: u64,
    late_results: u64,
    /// Todos that an agent took over, and whose Turn on them has not settled yet.
    taken_over: BTreeMap<TodoId, AgentId>,
    /// The Turns that those agents work in.
    works_on: BTreeMap<TurnId, TodoId>,
    handed_over: u64,
    settled_after: u64,
    /// Since when gates wait for a person.
    waiting: BTreeMap<GateId, Timestamp>,
    asked: u64,
    seen: u64,
    times_ms: Vec<u64>,
}

impl Tally {
    /// Counts an event; they come in the order of their Goal.
    pub(super) fn take(&mut self, envelope: &Envelope) {
        match &envelope.body {
            Event::Turn(event) => self.of_turn(event, &envelope.operation_id),
            Event::Gate(event) => self.of_gate(event, &envelope.actor, envelope.at),
            Event::Attention(AttentionEvent::Seen { rows }) => {
                for row in rows {
                    self.of_seen(&row.about, envelope.at);
                }
            }
            Event::Claim(event) => self.of_claim(event),
            Event::Handoff(event) => self.of_handoff(event),
            Event::Goal(_)
            | Event::Agent(_)
            | Event::Quota(_)
            | Event::Todo(_)
            | Event::Evidence(_)
            | Event::Effect(_)
            | Event::Reward(_)
            | Event::Proposal(_)
            | Event::Replan(_)
            | Event::Peer(_) => {}
        }
    }

    /// Closes what only a later event of the same Goal could have closed.
    pub(super) fn end_goal(&mut self) {
        self.recoverable += length(self.interrupted.len());
        self.interrupted.clear();
        self.lost.clear();
        self.dispatched_by.clear();
        self.waiting.clear();
        self.taken_over.clear();
        self.works_on.clear();
    }

    fn of_handoff(&mut self, event: &HandoffEvent) {
        let HandoffEvent::Accepted { handoff } = event;
        let Some((agent, _)) = handoff.by.agent() else { return };
        // Who accepts once more, what moved meanwhile, takes over no more than before.
        if self.taken_over.insert(handoff.todo_id.clone(), agent.clone()).as_ref() != Some(agent) {
            self.handed_over += 1;
        }
    }

    fn of_claim(&mut self, event: &ClaimEvent) {
        match event {
            ClaimEvent::Claimed { todo_id, ownership, turn } => match self.taken_over.get(todo_id) {
                Some(agent) if *agent == ownership.agent_id => {
                    self.works_on.insert(turn.turn_id, todo_id.clone());
                }
                Some(_) => {
                    self.taken_over.remove(todo_id);
                }
                None => {}
            },
            ClaimEvent::Renewed { .. } | ClaimEvent::Rearmed { .. } | ClaimEvent::Reserved { .. } => {}
        }
    }

    fn of_turn(&mut self, event: &TurnEvent, operation: &OperationId) {
        let turn_id = event.turn_id();
        match event {
            TurnEvent::Dispatched { .. } => {
                if self.lost.remove(&turn_id) {
                    self.dispatched_anew += 1;
                }
                self.dispatched_by.extend(verb(operation).map(|verb| (turn_id, verb.into())));
            }
            TurnEvent::AttemptEnded { failure, .. } => {
                if failure.is_some_and(is_loss) {
                    self.interrupted.insert(turn_id);
                    self.lost.insert(turn_id);
                }
            }
            TurnEvent::Unresolved { why, .. } => {
                self.interrupted.insert(turn_id);
                match why {
                    Unresolved::Lost | Unresolved::Incarnation => {
                        self.lost.insert(turn_id);
                    }
                    // Its result is there; what was lost is a validator.
                    Unresolved::Inconclusive => {}
                }
            }
            TurnEvent::CandidateRecorded { .. } => {
                let by = self.dispatched_by.get(&turn_id).map(Box::as_ref);
                // Whoever dispatches an attempt takes in its result, unless it is gone by then.
                let is_anothers = by.zip(verb(operation)).is_some_and(|(one, other)| one != other);
                if self.lost.remove(&turn_id) || is_anothers {
                    self.adopted += 1;
                    self.interrupted.insert(turn_id);
                }
            }
            TurnEvent::Ended { end, .. } => self.ended(turn_id, *end),
            TurnEvent::Validated { .. }
            | TurnEvent::TreeMoved { .. }
            | TurnEvent::Held { .. }
            | TurnEvent::Returned { .. }
            | TurnEvent::ExecutorGone { .. }
            | TurnEvent::StopWished { .. } => {}
        }
    }

    fn ended(&mut self, turn_id: TurnId, end: End) {
        let is_lost = matches!(end, End::Failed(FailedBy::Host(failure)) if is_loss(failure));
        if self.interrupted.remove(&turn_id) || is_lost {
            self.recoverable += 1;
            self.recovered += u64::from(end == End::Settled);
        }
        if let Some(todo_id) = self.works_on.remove(&turn_id)
            && end == End::Settled
            && self.taken_over.remove(&todo_id).is_some()
        {
            self.settled_after += 1;
        }
        self.late_results += u64::from(end == End::Stopped(Stopped::ScopesTaken));
        self.lost.remove(&turn_id);
        self.dispatched_by.remove(&turn_id);
    }

    fn of_gate(&mut self, event: &GateEvent, actor: &Actor, at: Timestamp) {
        match event {
            GateEvent::Opened { gate_id, .. } | GateEvent::Reopened { gate_id } => {
                self.asked += 1;
                self.waiting.insert(*gate_id, at);
            }
            GateEvent::Resolved { gate_id, .. } | GateEvent::Withdrawn { gate_id } => {
                if actor.is_user() {
                    self.gate_seen(*gate_id, at);
                } else if self.waiting.remove(gate_id).is_some() {
                    // Nobody had to see it any more.
                    self.asked -= 1;
                }
            }
        }
    }

    /// What is seen of a Turn, a Todo or an effect stands for no question.
    fn of_seen(&mut self, about: &About, at: Timestamp) {
        match about {
            About::Gate(gate_id) => self.gate_seen(*gate_id, at),
            About::Goal(_) | About::Todo(_) | About::Turn(_) | About::Effect(_) | About::Proposal(_) => {}
        }
    }

    /// A person saw a question, or acted on it and so had seen it; the first time counts, until it is asked again.
    fn gate_seen(&mut self, gate_id: GateId, at: Timestamp) {
        let Some(since) = self.waiting.remove(&gate_id) else { return };
        self.seen += 1;
        if self.times_ms.len() < TIMES_MAX {
            self.times_ms.push(at.since(since).as_ms());
        }
    }

    /// The metrics, in the order of their table.
    pub(super) fn metrics(mut self) -> Vec<Metric> {
        self.times_ms.sort_unstable();
        let unknown = |metric, definition| Metric {
            denominator: Some(Count::Unknown),
            because: Some(NOT_RECORDED),
            ..Metric::new(metric, definition, Count::Unknown)
        };
        let taken_up = self.adopted + self.dispatched_anew;
        vec![
            Metric::share("recovery", RECOVERY, self.recovered, self.recoverable),
            Metric::share("duplicate_avoided", DUPLICATE_AVOIDED, self.adopted, taken_up),
            unknown("gates_preserved", GATES_PRESERVED),
            Metric::share("handoff", HANDOFF, self.settled_after, self.handed_over),
            Metric {
                parts: &["sessions", "late_results"],
                counts: vec![Count::Unknown, Count::Known(self.late_results)],
                because: Some(NOT_RECORDED),
                ..Metric::new("stale_found", STALE_FOUND, Count::Unknown)
            },
            Metric {
                median_ms: percentile(&self.times_ms, 50),
                p95_ms: percentile(&self.times_ms, 95),
                ..Metric::share("blocked_to_seen", BLOCKED_TO_SEEN, self.seen, self.asked)
            },
        ]
    }
}

const RECOVERY: &str = "Turns that settled, of all Turns with an attempt that crashed, was lost or was unresolved; one that is still open counts among all";
const DUPLICATE_AVOIDED: &str = "attempts whose kept result was taken in after whoever ran them was gone, of all attempts that a recovery took up: taken in, or dispatched anew";
const GATES_PRESERVED: &str =
    "gates that blocked across a change of generation or a handoff and blocked after it, of all such gates";
const HANDOFF: &str = "handoffs after which a Turn of whoever accepted them settled on the Todo before anybody else took it, of all that were accepted; one that has not settled yet counts among all";
const STALE_FOUND: &str = "sessions that were ready or busy and were found stale or disconnected (sessions), and results that came after their ownership had run out and their scopes were taken (late_results)";
const BLOCKED_TO_SEEN: &str = "gates that a person saw, of all that were opened or asked again; the time from then until it was seen, which is until the first action on it where no `attention seen` was recorded before";

impl Metric {
    fn new(metric: &'static str, definition: &'static str, numerator: Count) -> Self {
        Self {
            metric,
            definition,
            numerator,
            denominator: None,
            per_mille: None,
            median_ms: None,
            p95_ms: None,
            parts: &[],
            counts: Vec::new(),
            because: None,
        }
    }

    fn share(metric: &'static str, definition: &'static str, numerator: u64, denominator: u64) -> Self {
        Self {
            denominator: Some(Count::Known(denominator)),
            per_mille: numerator.saturating_mul(1000).checked_div(denominator),
            ..Self::new(metric, definition, Count::Known(numerator))
        }
    }
}

/// Whether a host was lost, rather than failed.
const fn is_loss(failure: HostFailure) -> bool {
    match failure {
        HostFailure::Crashed | HostFailure::TransportLost => true,
        HostFailure::AuthRequired
        | HostFailure::SessionUnavailable
        | HostFailure::WorkspaceDenied
        | HostFailure::Timeout
        | HostFailure::IdleTimeout
        | HostFailure::OutputTooLarge
        | HostFailure::ResultMissing
        | HostFailure::ResultInvalid
        | HostFailure::ProviderCapacity
        | HostFailure::RateLimited
        | HostFailure::IncompatibleVersion => false,
    }
}

/// The verb of whose commits this is one.
fn verb(operation: &OperationId) -> Option<&str> {
    operation.as_str().rsplit_once('/').map(|(verb, _)| verb)
}

/// The least of the times, in their order, that so many of 100 are within.
fn percentile(times_ms: &[u64], percent: usize) -> Option<u64> {
    let rank = (times_ms.len() * percent).div_ceil(100);
    times_ms.get(rank.checked_sub(1)?).copied()
}

fn length(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dispatched(turn_id: TurnId) -> TurnEvent {
        let attempt = serde_json::json!({"number": 1, "host": "sh", "dispatched_at": 0});
        TurnEvent::Dispatched {
            turn_id,
            attempt: Box::new(serde_json::from_value(attempt).unwrap()),
            requirement_revision: 1,
            expires_at: Timestamp::from_ms(1),
        }
    }

    fn candidate(turn_id: TurnId) -> TurnEvent {
        let digest = crate::model::Digest::of(b"x");
        let candidate = serde_json::json!({
            "kind": "validated_completion", "digest": digest, "requirement_revision": 1, "at": 0,
        });
        TurnEvent::CandidateRecorded {
            turn_id,
            candidate: Box::new(serde_json::from_value(candidate).unwrap()),
            expires_at: Timestamp::from_ms(1),
            held_by: None,
        }
    }

    #[test]
    fn a_result_that_another_call_takes_in_is_a_duplicate_avoided() {
        let mut tally = Tally::default();
        let settled = |turn_id| TurnEvent::Ended {
            turn_id,
            end: End::Settled,
            slot: crate::model::Slot::Spent,
            note: None,
            repair: false,
        };
        let mut play = |seed: u8, by: &str, taken_by: &str| {
            let turn_id = TurnId::from_bytes([seed; 16]);
            tally.of_turn(&dispatched(turn_id), &by.parse().unwrap());
            tally.of_turn(&candidate(turn_id), &taken_by.parse().unwrap());
            tally.of_turn(&settled(turn_id), &format!("{taken_by}.v").parse().unwrap());
            (tally.adopted, tally.recoverable, tally.recovered)
        };
        assert_eq!(play(1, "op_1/dispatch.1", "op_1/candidate.1"), (0, 0, 0));
        assert_eq!(play(2, "op_1/dispatch.1", "op_2/candidate.1"), (1, 1, 1));
        // an id without steps says nothing of who made it
        assert_eq!(play(3, "one", "other"), (1, 1, 1));
    }

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let all: Vec<u64> = (1..=40).collect();
        assert_eq!([percentile(&all, 50), percentile(&all, 95)], [Some(20), Some(38)]);
        assert_eq!(
            [percentile(&[7], 50), percentile(&[7], 95), percentile(&[], 50)],
            [Some(7), Some(7), None]
        );
    }
}
