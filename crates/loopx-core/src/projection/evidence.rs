//! Owns which evidence is shown. A piece is public data as it stands; the pointer of an owner's piece is not.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    moments,
    page::{Listed, Slice, bad_cursor, collect},
    turn::word,
};
use crate::{
    authority::View,
    error::{Code, Error, Result},
    kernel::{Facts, Read, Terms},
    model::{Evidence, EvidenceId, GoalId, TodoId},
};

/// A piece as programs are shown it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct EvidenceRow(#[serde(serialize_with = "moments::named")] pub Evidence);

/// Which pieces are listed.
#[derive(Debug, Clone)]
pub struct EvidenceQuery<'a> {
    /// Of which Goal.
    pub goal: &'a GoalId,
    /// Only of this Todo.
    pub todo: Option<&'a TodoId>,
    /// Only with one of these verdicts.
    pub verdicts: BTreeSet<&'a str>,
}

/// A page of evidence of one Goal, oldest first.
pub fn evidences(view: &mut dyn View, query: &EvidenceQuery<'_>, slice: Slice<'_>) -> Result<Listed<EvidenceRow>> {
    collect(
        slice,
        |after, limit| {
            if let Some(text) = after {
                text.parse::<EvidenceId>().map_err(|_| bad_cursor(text))?;
            }
            view.evidence(query.goal, query.todo, after, limit)
        },
        |piece| piece.evidence_id.to_string(),
        |piece| {
            let wanted = query.verdicts.is_empty() || query.verdicts.contains(word(&piece.verdict).as_str());
            Ok(wanted.then_some(EvidenceRow(piece)))
        },
    )
}

/// One piece.
///
/// Errors: `not_found`.
pub fn evidence(view: &mut dyn View, terms: &Terms, id: &EvidenceId) -> Result<Evidence> {
    let mut facts = Facts::new(terms.clone());
    view.load(&[Read::Evidence(*id)].into(), &mut facts)?;
    facts.evidence(id)?.cloned().ok_or_else(|| {
        Error::new(Code::NotFound, format!("there is no evidence {id}"))
            .detail("evidence_id", id.to_string())
            .hint("evidence list")
    })
}
