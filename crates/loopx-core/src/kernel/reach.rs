//! Owns which commands reach Turns beside the one they name: by taking away what holds a result, or a Todo from whoever
//! works on it.
//!
//! Knows no Turn; whoever proves Turns looks for them.

use super::{AgentCommand, ClaimCommand, Command, EffectCommand, TodoCommand, TurnCommand};
use crate::model::TodoId;

impl Command {
    /// Whether a command can take away what holds a result, so that the Turns it holds are worth a look: a question, a pause, a
    /// dependency, or the work that another waits for, its agent or its work tree.
    pub fn may_free(&self) -> bool {
        match self {
            Self::Gate(_) | Self::Batch(_) => true,
            Self::Todo(command) => match command {
                TodoCommand::Unhold { .. }
                | TodoCommand::Update { .. }
                | TodoCommand::Unlink { .. }
                | TodoCommand::Complete { .. }
                | TodoCommand::Resolve { .. }
                // What ends an attached Turn leaves its agent free and its work tree still.
                | TodoCommand::Cancel { .. }
                | TodoCommand::Defer { .. }
                | TodoCommand::Block { .. } => true,
                TodoCommand::Add(_)
                | TodoCommand::Link { .. }
                | TodoCommand::Unblock { .. }
                | TodoCommand::Hold { .. }
                | TodoCommand::Reopen { .. } => false,
            },
            Self::Claim(command) => match command {
                ClaimCommand::Release { .. }
                | ClaimCommand::ForceRelease { .. }
                | ClaimCommand::Transfer { .. } => true,
                ClaimCommand::Claim(_) | ClaimCommand::Next(_) | ClaimCommand::Renew { .. } => false,
            },
            Self::Turn(command) => match command {
                TurnCommand::Stop { .. } | TurnCommand::Abandon { .. } => true,
                TurnCommand::Accept { .. } => false,
            },
            Self::Agent(command) => match command {
                AgentCommand::Retire { .. } => true,
                AgentCommand::Add { .. } => false,
            },
            // What became of an effect frees the completions that waited for it.
            Self::Effect(command) => match command {
                EffectCommand::Confirm { .. }
                | EffectCommand::Reconcile { .. }
                | EffectCommand::WriteOff { .. } => true,
                EffectCommand::Intend(_) | EffectCommand::Dispatch { .. } | EffectCommand::Stop { .. } => {
                    false
                }
            },
            Self::Proposal(command) => command.may_free(),
            // A Goal that is closed ends all that is held with it.
            Self::Goal(_)
            | Self::Quota(_)
            | Self::Evidence(_)
            | Self::Reward(_)
            | Self::Attention(_)
            | Self::Peer(_)
            | Self::Handoff(_) => false,
        }
    }

    /// The Todo that a command takes from whoever works on it, once his time is over.
    pub fn takes_away(&self) -> Option<&TodoId> {
        match self {
            Self::Claim(command) => match command {
                ClaimCommand::ForceRelease { todo_id, .. } | ClaimCommand::Transfer { todo_id, .. } => {
                    Some(todo_id)
                }
                ClaimCommand::Claim(_)
                | ClaimCommand::Next(_)
                | ClaimCommand::Renew { .. }
                | ClaimCommand::Release { .. } => None,
            },
            Self::Todo(command) => match command {
                TodoCommand::Cancel { todo_id, .. }
                | TodoCommand::Defer { todo_id, .. }
                | TodoCommand::Block { todo_id, .. }
                | TodoCommand::Complete { todo_id, .. } => Some(todo_id),
                TodoCommand::Add(_)
                | TodoCommand::Update { .. }
                | TodoCommand::Link { .. }
                | TodoCommand::Unlink { .. }
                | TodoCommand::Unblock { .. }
                | TodoCommand::Hold { .. }
                | TodoCommand::Unhold { .. }
                | TodoCommand::Resolve { .. }
                | TodoCommand::Reopen { .. } => None,
            },
            Self::Proposal(command) => command.given()?.takes_away(),
            // Every other command ends no Turn, or is refused while one runs.
            Self::Goal(_)
            | Self::Agent(_)
            | Self::Turn(_)
            | Self::Gate(_)
            | Self::Evidence(_)
            | Self::Effect(_)
            | Self::Reward(_)
            | Self::Attention(_)
            | Self::Peer(_)
            | Self::Handoff(_)
            | Self::Quota(_)
            | Self::Batch(_) => None,
        }
    }
}
