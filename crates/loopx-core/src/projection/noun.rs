//! Owns how nouns beside the plan are shown to their owner, whatever they are: pages, and one by its key.
//!
//! Knows nothing of what each says.

use serde::Serialize;

use super::{
    moments,
    page::{Listed, Slice, bad_cursor, collect},
};
use crate::{
    authority::{NounFilter, View},
    boundary::OwnerView,
    error::{Code, Error, Result},
    kernel::{Facts, Read, Terms},
    model::{Noun, NounKey, NounKind, OneNoun, TodoId},
};

/// A noun as programs are shown it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct NounRow(#[serde(serialize_with = "moments::named")] pub Noun);

impl NounRow {
    /// The noun itself.
    ///
    /// Errors: `internal` where it is of another kind than was asked for.
    pub fn get<T: OneNoun>(&self) -> Result<&T> {
        T::of(&self.0).ok_or_else(|| Error::from(Code::Internal).internal("a noun of another kind"))
    }
}

/// A page of nouns, oldest first.
pub fn nouns(
    view: &mut dyn View,
    filter: &NounFilter<'_>,
    slice: Slice<'_>,
) -> Result<Listed<OwnerView<NounRow>>> {
    collect(
        slice,
        |after, limit| {
            if let Some(text) = after {
                filter.kind.parse(text).map_err(|_| bad_cursor(text))?;
            }
            view.nouns(filter, after, limit)
        },
        |noun| noun.key().kind.id(noun.key().id),
        |noun| Ok(Some(OwnerView::new(NounRow(noun)))),
    )
}

/// One noun.
///
/// Errors: `not_found`.
pub fn noun(view: &mut dyn View, terms: &Terms, key: NounKey) -> Result<OwnerView<NounRow>> {
    let mut facts = Facts::new(terms.clone());
    view.load(&[Read::Noun(key)].into(), &mut facts)?;
    let found = facts.rows().nouns.get(&key).cloned();
    found.map(|noun| OwnerView::new(NounRow(noun))).ok_or_else(|| {
        let (kind, id) = (key.kind.as_str(), key.kind.id(key.id));
        Error::new(Code::NotFound, format!("there is no {kind} {id}"))
            .detail("id", id)
            .hint(format!("{kind} list"))
    })
}

/// The oldest returns to a Todo on which nobody has decided.
pub fn undecided(view: &mut dyn View, todo_id: &TodoId, limit: usize) -> Result<Vec<NounRow>> {
    let filter =
        NounFilter { kind: NounKind::PeerReturn, goal: todo_id.goal(), todo: Some(todo_id), open: true };
    Ok(view.nouns(&filter, None, limit)?.into_iter().map(NounRow).collect())
}
