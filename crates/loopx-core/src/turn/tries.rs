//! Owns which unresolved Turns a recovery has looked into in vain, so that nobody is sent to look again.
//!
//! A try moves no fact: it is this machine's knowledge, and lies in the private store.

use std::collections::BTreeSet;

use super::site::Site;
use crate::{
    error::{Code, Error, Result},
    model::{Turn, TurnId, TurnState},
    private::{Kind, PrivateStore},
};

/// How a Turn stands, but for what a try itself moves.
fn standing(turn: &Turn) -> Result<Vec<u8>> {
    let candidate = turn.candidate.as_ref().map(|candidate| candidate.digest);
    serde_json::to_vec(&(&turn.state, turn.attempts.len(), candidate))
        .map_err(|e| Error::from(Code::Internal).internal(e))
}

fn is_unresolved(turn: &Turn) -> bool {
    matches!(turn.state, TurnState::Unresolved { .. })
}

/// Notes that a Turn was looked into, if it is unresolved still.
pub(super) fn note(site: &mut Site<'_>, turn_id: TurnId) -> Result<()> {
    let turn = site.around(turn_id)?.turn;
    if !is_unresolved(&turn) {
        return Ok(());
    }
    let body = Site::body(Kind::Tried, turn_id.to_string(), turn_id, standing(&turn)?)?;
    site.private.put_all(&[body])
}

/// Which of some Turns were looked into as they stand now.
///
/// Errors: `store_*`.
pub fn tried(private: &mut PrivateStore, turns: &[Turn]) -> Result<BTreeSet<TurnId>> {
    let mut tried = BTreeSet::new();
    for turn in turns.iter().filter(|turn| is_unresolved(turn)) {
        let noted = private.latest(Kind::Tried, &turn.turn_id.to_string())?;
        if noted.is_some_and(|body| standing(turn).is_ok_and(|standing| standing == body.bytes)) {
            tried.insert(turn.turn_id);
        }
    }
    Ok(tried)
}
