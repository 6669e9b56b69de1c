//! Owns the moves of a random history by which a Turn goes on: its executor's, its validators', its driver's.
//!
//! Knows nothing of how it was admitted.

use super::{super::world::text, Player};
use crate::{
    kernel::{Command, Step, TurnCommand, turn::Found},
    model::*,
};

impl Player {
    /// A step of a Turn as its executor goes on.
    pub(super) fn advance(&mut self, x: u16, y: u16) {
        let Some(turn) = self.turn(x) else { return };
        let (turn_id, own_id) = (turn.turn_id, turn.own_id);
        if turn.is_driven() && turn.state == TurnState::Admitted {
            return self.dispatch(&turn);
        }
        if matches!(turn.state, TurnState::Candidate) {
            return self.settle(x, y);
        }
        let kinds = [
            ResultKind::ValidatedCompletion,
            ResultKind::ValidatedCompletion,
            ResultKind::ValidatedProgress,
            ResultKind::RepairRequired,
            ResultKind::Wait,
            ResultKind::UserActionRequired,
            ResultKind::LookUnchanged,
            ResultKind::LookChanged,
        ];
        let candidate = Candidate {
            kind: kinds[usize::from(y) % kinds.len()],
            digest: Digest::of(&x.to_be_bytes()),
            requirement_revision: 0,
            at: Timestamp::default(),
            summary: None,
            classification: None,
            next_action: None,
            continuation: Continuation::ActiveGoal,
            evidence: Vec::new(),
            usage: Vec::new(),
            goes_on: y.is_multiple_of(5),
            tree: None,
            outside: [].into(),
            shared: false,
        };
        let step = Step::Candidate {
            turn_id,
            own_id: Some(own_id),
            candidate: Box::new(candidate),
            wake: None,
            held_by: None,
            awake_ms: None,
        };
        self.step(&turn, step);
    }

    pub(super) fn dispatch(&mut self, turn: &Turn) {
        let attempt = Attempt {
            number: 0,
            host: text("command"),
            host_version: None,
            machine_id: turn.machine_id.clone(),
            boot_id: None,
            pid_namespace: None,
            containment: None,
            guarantee: None,
            dispatched_at: Timestamp::default(),
            deadline_at: None,
            tree: None,
            end: None,
        };
        self.step(
            turn,
            Step::Dispatch {
                turn_id: turn.turn_id,
                own_id: turn.own_id,
                attempt: Box::new(attempt),
                wall_ms: Duration::from_mins(10),
            },
        );
    }

    /// What the validators said.
    pub(super) fn settle(&mut self, x: u16, y: u16) {
        let Some(turn) = self.turn(x) else { return };
        let outcomes = [
            VerdictOutcome::Passed,
            VerdictOutcome::Passed,
            VerdictOutcome::Progress,
            VerdictOutcome::Failed,
            VerdictOutcome::Inconclusive,
            VerdictOutcome::Unchecked,
        ];
        let verdict = Verdict {
            outcome: outcomes[usize::from(y) % outcomes.len()],
            validator: None,
            exit: Some(0),
            note: None,
            took_ms: Duration::from_ms(3),
            tree: None,
            at: Timestamp::default(),
        };
        let moved = y.is_multiple_of(11);
        self.step(
            &turn,
            Step::Verdict {
                turn_id: turn.turn_id,
                own_id: turn.own_id,
                verdict: Box::new(verdict),
                moved,
                goes_on: false,
            },
        );
    }

    pub(super) fn driver(&mut self, x: u16, y: u16) {
        let Some(turn) = self.turn(x) else { return };
        let (turn_id, own_id) = (turn.turn_id, turn.own_id);
        let failure = Some([HostFailure::Crashed, HostFailure::Timeout][usize::from(y) % 2]);
        let step = match x % 6 {
            0 => Step::End {
                turn_id,
                own_id,
                failure,
                retry: y.is_multiple_of(2),
                note: None,
                held_by: None,
                awake_ms: None,
            },
            1 => Step::Prove { turn_id, executor_gone: y.is_multiple_of(2), tree: None },
            2 => Step::Lose {
                turn_id,
                own_id,
                executor_gone: y.is_multiple_of(2),
                held_by: None,
                awake_ms: None,
            },
            3 => Step::Recover {
                turn_id,
                own_id,
                found: Found::Nothing(HostFailure::Crashed),
                wake: None,
                held_by: None,
                awake_ms: None,
            },
            4 => Step::Recover {
                turn_id,
                own_id,
                found: Found::Again,
                wake: None,
                held_by: None,
                awake_ms: None,
            },
            _ => {
                let command = match y % 3 {
                    0 => TurnCommand::Stop { turn_id, own_id: None, reason: None },
                    1 => TurnCommand::Accept { turn_id },
                    _ => TurnCommand::Abandon { turn_id, reason: text("enough") },
                };
                return self.as_user(Command::Turn(command));
            }
        };
        self.step(&turn, step);
    }
}
