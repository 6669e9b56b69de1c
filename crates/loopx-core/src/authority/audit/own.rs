//! Owns the audit of the ledger's own chain: that it holds, and that the limit of all Goals together is the one it says
//! last.
//!
//! Knows no rule. Changes nothing.

use super::{Audited, Chain, Flaw, FlawKind, Progress, walk, walk::Walked};
use crate::{
    authority::{
        Head, View, last_terms,
        own::{OwnEnvelope, OwnEvent},
    },
    error::{Code, Result},
    kernel::{Facts, Read},
    model::Limit,
};

/// What a message calls the one row that the own chain comes to.
const LIMIT: &str = "limit of all Goals";

/// The own chain as far as it holds.
pub(in crate::authority) struct Own {
    pub(in crate::authority) walked: Walked,
    /// The limit of all Goals together that it comes to.
    pub(in crate::authority) limit: Option<Limit>,
}

impl Own {
    /// Walks it to its end, or to where it no longer holds.
    ///
    /// Errors: `store_*` where the file itself cannot be read.
    pub(in crate::authority) fn of(
        view: &mut dyn View,
        head: Option<Head>,
        sees: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self> {
        let of = head.map_or(0, |head| head.seq);
        let mut limit = None;
        let walked = walk(view, Chain::Own, head, &mut |_, record| {
            sees(Progress { goal_id: None, seen: record.seq, of });
            let envelope = serde_json::from_slice::<OwnEnvelope>(&record.payload);
            if let Ok(OwnEnvelope { body: OwnEvent::LimitSet { limit: set }, .. }) = envelope {
                limit = set;
            }
            Ok(())
        })?;
        Ok(Self { walked, limit })
    }

    /// What is wrong first: with the chain, else with the row that it comes to.
    ///
    /// Errors: `store_*` where the file itself cannot be read.
    pub(in crate::authority) fn flaw(&self, view: &mut dyn View) -> Result<Option<Flaw>> {
        if let Some(flaw) = Flaw::of_walk(None, &self.walked) {
            return Ok(Some(flaw));
        }
        let mut facts = Facts::new(last_terms(view)?);
        let is_said = match view.load(&[Read::AuthorityLimit].into(), &mut facts) {
            Ok(()) => facts.authority_limit() == self.limit,
            Err(error) if error.code() == Code::StoreCorrupt => false,
            Err(error) => return Err(error),
        };
        Ok((!is_said).then(|| Flaw {
            kind: FlawKind::Row,
            goal_id: None,
            seq: None,
            row: Some(LIMIT.to_owned()),
            text: format!("the {LIMIT} is not what its events come to"),
        }))
    }

    /// What an audit says of it.
    pub(super) fn audited(&self, flaw: Option<Flaw>, folded: bool) -> Audited {
        let Walked { whole, .. } = self.walked;
        Audited { goal_id: None, events: whole.seq, head: whole, folded, flaw }
    }
}
