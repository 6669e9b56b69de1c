//! Owns the search by a part of an id or a title.

use serde::Serialize;

use crate::{authority::View, error::Result, model::GoalId};

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// `goal`, `todo` or `gate`.
    pub noun: &'static str,
    /// Its id.
    pub id: String,
    /// Its title, objective or question.
    pub title: String,
}

/// Goals, Todos and gates whose id or text holds this, upper and lower case alike.
pub fn find(view: &mut dyn View, text: &str, goal: Option<&GoalId>, limit: usize) -> Result<Vec<Found>> {
    let found = view.find(text, goal, limit)?;
    Ok(found.into_iter().map(|(id, title)| Found { noun: noun(&id), id, title }).collect())
}

fn noun(id: &str) -> &'static str {
    if id.starts_with("gate_") {
        "gate"
    } else if id.contains('.') {
        "todo"
    } else {
        "goal"
    }
}
