//! Owns what is shown of work that is handed over: its packet with the revision that names it, for whom it waits, and who
//! took it over last.
//!
//! Knows no rule: what a packet is made of, and what its revision is, the kernel says.

use serde::Serialize;

use super::{moments, todo::OwnerRow};
use crate::{
    authority::View,
    boundary::OwnerView,
    error::{Code, Error, Result},
    kernel::{Facts, Packet, READ_ROUNDS, Terms, packet, packet_reads},
    model::{Digest, Handoff, NounKind, OneNoun as _, Reserved, TodoId},
};

/// What whoever takes a Todo over is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HandoffPage {
    /// The Todo.
    pub todo_id: TodoId,
    /// What names exactly this packet.
    pub revision: Digest,
    /// The packet.
    #[serde(serialize_with = "moments::named")]
    pub packet: Packet,
    /// Who owns it, until when; nobody takes it over before that has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerRow>,
    /// For whom a transfer keeps it, until when.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "moments::named")]
    pub reserved: Option<Reserved>,
    /// Who took it over, last.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "moments::named")]
    pub accepted: Option<Handoff>,
}

/// The packet of a Todo, for its owner.
///
/// Errors: `not_found`.
pub fn handoff(view: &mut dyn View, terms: &Terms, todo_id: &TodoId) -> Result<OwnerView<HandoffPage>> {
    let mut facts = Facts::new(terms.clone());
    for _ in 0..READ_ROUNDS {
        let reads = packet_reads(todo_id, &facts);
        view.load(&reads, &mut facts)?;
    }
    let packet = packet(&facts, todo_id)?;
    let todo = facts.todo(todo_id)?;
    let reserved = todo.and_then(|todo| todo.reserved.clone());
    let owner = todo.and_then(|todo| todo.ownership.as_ref()).map(|own| OwnerRow::of(own, terms));
    Ok(OwnerView::new(HandoffPage {
        todo_id: todo_id.clone(),
        revision: packet.revision()?,
        packet,
        owner,
        reserved: reserved.filter(|reserved| reserved.until > terms.now),
        accepted: last(view, todo_id)?,
    }))
}

/// The last handoff of a Todo that was accepted.
fn last(view: &mut dyn View, todo_id: &TodoId) -> Result<Option<Handoff>> {
    let Some(noun) = view.last_noun(NounKind::Handoff, todo_id)? else { return Ok(None) };
    Handoff::of(&noun).cloned().map(Some).ok_or_else(|| Error::from(Code::Internal))
}
