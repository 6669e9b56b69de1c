//! Owns what can have happened to a return, and its application.

use serde::{Deserialize, Serialize};

use crate::{
    error::Result,
    kernel::{Context, Facts, event_kinds},
    model::{PeerReturn, ReturnId, ReturnState, ShortText},
};

/// What can have happened to a return.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// It was given to its coordinator.
    Returned {
        /// The return.
        given: Box<PeerReturn>,
    },
    /// It was taken in.
    Adopted {
        /// Which.
        return_id: ReturnId,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<ShortText>,
    },
    /// It was not.
    Rejected {
        /// Which.
        return_id: ReturnId,
        /// Why.
        reason: ShortText,
    },
    /// Another stands in its place.
    Superseded {
        /// Which.
        return_id: ReturnId,
        /// The other.
        superseded_by: ReturnId,
        /// Why.
        reason: ShortText,
    },
}

event_kinds!(Event {
    Returned => "peer.returned",
    Adopted => "peer.adopted",
    Rejected => "peer.rejected",
    Superseded => "peer.superseded",
});

impl Event {
    pub(in crate::kernel) fn apply(&self, context: &Context, facts: &mut Facts) -> Result<()> {
        let (by, at) = (context.actor.clone(), context.at);
        let (return_id, state) = match self {
            Self::Returned { given } => {
                facts.put_noun((**given).clone());
                return Ok(());
            }
            Self::Adopted { return_id, reason } => {
                (return_id, ReturnState::Adopted { by, at, reason: reason.clone() })
            }
            Self::Rejected { return_id, reason } => {
                (return_id, ReturnState::Rejected { by, at, reason: reason.clone() })
            }
            Self::Superseded { return_id, superseded_by, reason } => {
                let (reason, superseded_by) = (reason.clone(), *superseded_by);
                (return_id, ReturnState::Superseded { by, at, reason, superseded_by })
            }
        };
        facts.noun_mut::<PeerReturn>(*return_id.as_bytes())?.state = state;
        Ok(())
    }
}
