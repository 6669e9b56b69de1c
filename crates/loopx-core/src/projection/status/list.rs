//! Owns the list of what needs somebody in every Goal, most urgent first, and who has seen each row.
//!
//! Knows nothing of what makes a row; that is `attention`. Of each sort of row a bounded page of a Goal is looked at.

use serde::Serialize;

use super::{
    Attention, Eyes, GOALS_MAX, Rank, attention as of_goal,
    seen::{Reach, Seen},
    waiting,
};
use crate::{
    authority::View,
    boundary::OwnerView,
    error::Result,
    kernel::{Facts, Read, Terms, seen_version, seen_version_read, sighting_key},
    model::{About, Actor, Digest, Goal, GoalId, GoalState, Label, Sighting, Timestamp, gathered},
    projection::{
        goal::named,
        page::{Listed, STEP, Slice, bad_cursor},
    },
};

/// A row of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttentionRow {
    /// The Goal.
    pub goal_id: GoalId,
    /// What it is, and the command that moves it.
    #[serde(flatten)]
    pub row: Attention,
    /// How what it is about stands; named with it, `attention seen` means exactly this row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Label>,
    /// Who has seen it as it stands, if anybody has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<Saw>,
}

/// That a person saw a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Saw {
    /// Who.
    pub by: Actor,
    /// When.
    pub at_ms: Timestamp,
}

/// Where a row stands in the list: rank, age, Goal, then what tells it from the others.
type Place = (Rank, Timestamp, GoalId, String);

/// A page of what needs somebody, in one Goal or in all that are not closed.
///
/// Errors: `not_found`; `invalid_argument` for a cursor of another list.
pub fn attention(
    view: &mut dyn View,
    terms: &Terms,
    goal: Option<&GoalId>,
    eyes: &Eyes<'_>,
    slice: Slice<'_>,
) -> Result<Listed<OwnerView<AttentionRow>>> {
    let after = slice.after.map(place_of).transpose()?;
    let mut all: Vec<(Place, Attention)> = Vec::new();
    if let Some(id) = goal {
        let goal = named(view, terms, id)?;
        rows(view, terms, &goal, eyes, &mut all)?;
    } else {
        let mut last: Option<GoalId> = None;
        for _ in 0..GOALS_MAX.div_ceil(STEP) {
            let page = view.goals(last.as_ref(), STEP)?;
            for goal in &page {
                rows(view, terms, goal, eyes, &mut all)?;
            }
            last = page.last().map(|goal| goal.goal_id.clone());
            if page.len() < STEP {
                break;
            }
        }
    }
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all.retain(|(place, _)| after.as_ref().is_none_or(|after| place > after));
    let limit = slice.limit.unwrap_or(usize::MAX);
    let has_more = all.len() > limit;
    all.truncate(limit);
    let next_cursor = all.last().filter(|_| has_more).map(|(place, _)| cursor(place));
    let mut items = Vec::with_capacity(all.len());
    for ((_, _, goal_id, _), row) in all {
        let (version, seen) = saw(view, terms, &goal_id, &row)?;
        items.push(OwnerView::new(AttentionRow { goal_id, row, version, seen }));
    }
    Ok(Listed { items, next_cursor })
}

/// Adds the rows of a Goal.
fn rows(
    view: &mut dyn View,
    terms: &Terms,
    goal: &Goal,
    eyes: &Eyes<'_>,
    all: &mut Vec<(Place, Attention)>,
) -> Result<()> {
    if matches!(goal.state, GoalState::Closed { .. }) {
        return Ok(());
    }
    let seen = Seen::look(view, terms, goal, eyes, Reach::WHOLE)?;
    let wait = waiting::for_all(view, &seen, eyes)?;
    for row in of_goal::rows(&seen, &wait, eyes)? {
        all.push((place(&goal.goal_id, &row), row));
    }
    Ok(())
}

fn place(goal: &GoalId, row: &Attention) -> Place {
    let digest = Digest::of_parts(&[row.kind.as_bytes(), row.about.as_bytes(), row.command.as_bytes()]);
    let name = digest.to_string().chars().take(16).collect();
    // A jump of the clock, and a Goal that is stopped, come before what waits beside them.
    let ageless = match row.rank {
        Rank::Lost | Rank::Gate => i64::MIN,
        Rank::Person | Rank::Work => i64::MAX,
    };
    (row.rank, row.since_ms.unwrap_or(Timestamp::from_ms(ageless)), goal.clone(), name)
}

const RANKS: [Rank; 4] = [Rank::Lost, Rank::Gate, Rank::Person, Rank::Work];

fn cursor((rank, since, goal, name): &Place) -> String {
    format!("{}.{}.{goal}.{name}", rank.as_str(), since.as_ms())
}

/// The place that a cursor names; a row that is gone leaves its place.
fn place_of(text: &str) -> Result<Place> {
    let parts: Vec<_> = text.split('.').collect();
    let [rank, since, goal, name] = parts.as_slice() else { return Err(bad_cursor(text)) };
    let rank = RANKS.into_iter().find(|one| one.as_str() == *rank).ok_or_else(|| bad_cursor(text))?;
    let since = since.parse().map(Timestamp::from_ms).map_err(|_| bad_cursor(text))?;
    let goal = goal.parse().map_err(|_| bad_cursor(text))?;
    Ok((rank, since, goal, (*name).to_owned()))
}

/// How what a row is about stands, and who has seen it so.
fn saw(
    view: &mut dyn View,
    terms: &Terms,
    goal: &GoalId,
    row: &Attention,
) -> Result<(Option<Label>, Option<Saw>)> {
    // What is about something that has no id is not marked.
    let Ok(about) = row.about.parse::<About>() else { return Ok((None, None)) };
    let key = sighting_key(&about);
    let mut facts = Facts::new(terms.clone());
    view.load(&gathered([seen_version_read(&about), Read::Noun(key)]), &mut facts)?;
    let Some(version) = seen_version(&facts, goal, &about)? else { return Ok((None, None)) };
    let seen = facts.noun::<Sighting>(key.id)?.filter(|sighting| sighting.version == version);
    let seen = seen.map(|sighting| Saw { by: sighting.by.clone(), at_ms: sighting.at });
    Ok((Some(version), seen))
}
