//! Owns the list of what needs somebody in every Goal, most urgent first, and who has seen each row.
//!
//! Knows nothing of what makes a row; that is `attention`. Of each sort of row a bounded page of a Goal is looked at.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    Attention, Eyes, GOALS_MAX, Rank,
    attention::{self as of_goal, CLOCK_JUMP},
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
    /// The Goal; none for what is so in all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal_id: Option<GoalId>,
    /// What it is, and the command that moves it.
    #[serde(flatten)]
    pub row: Attention,
    /// How what it is about stands; named with it, `attention seen` means exactly this row. None for a row that can be
    /// new though what it is about has not changed.
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

/// A page of what needs somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttentionPage {
    /// Its rows.
    #[serde(flatten)]
    pub page: Listed<OwnerView<AttentionRow>>,
    /// Whether there are more Goals that are not closed than were looked at.
    pub more: bool,
}

/// What the row of the clock is about.
const CLOCK: &str = "clock";

/// Where a row stands in the list: rank, age, Goal, then what tells it from the others.
type Place = (Rank, Timestamp, Option<GoalId>, String);

/// The best rows so far: those after a cursor, and one more than a page holds.
struct Best {
    after: Option<Place>,
    limit: usize,
    rows: BTreeMap<Place, Attention>,
}

impl Best {
    fn add(&mut self, goal: Option<&GoalId>, row: Attention) {
        let place = place(goal, &row);
        if self.after.as_ref().is_some_and(|after| place <= *after) {
            return;
        }
        self.rows.insert(place, row);
        if self.rows.len() > self.limit.saturating_add(1) {
            self.rows.pop_last();
        }
    }
}

/// A page of what needs somebody, in one Goal or in all that are not closed.
///
/// Errors: `not_found`; `invalid_argument` for a cursor of another list.
pub fn attention(
    view: &mut dyn View,
    terms: &Terms,
    goal: Option<&GoalId>,
    eyes: &Eyes<'_>,
    slice: Slice<'_>,
) -> Result<AttentionPage> {
    let after = slice.after.map(place_of).transpose()?;
    let limit = slice.limit.unwrap_or(usize::MAX);
    let mut best = Best { after, limit, rows: BTreeMap::new() };
    // It is the clock of all Goals.
    if let Some(row) = of_goal::clock(terms, &CLOCK) {
        best.add(None, row);
    }
    let mut more = false;
    if let Some(id) = goal {
        let goal = named(view, terms, id)?;
        rows(view, terms, &goal, eyes, &mut best)?;
    } else {
        more = of_all(view, terms, eyes, &mut best)?;
    }
    let has_next = best.rows.len() > limit;
    let mut items = Vec::new();
    let mut last = None;
    for (place, row) in best.rows.into_iter().take(limit) {
        let (version, seen) = saw(view, terms, place.2.as_ref(), &row)?;
        items.push(OwnerView::new(AttentionRow { goal_id: place.2.clone(), row, version, seen }));
        last = Some(place);
    }
    let next_cursor = last.filter(|_| has_next).map(|place| cursor(&place));
    Ok(AttentionPage { page: Listed { items, next_cursor }, more })
}

/// Adds the rows of the Goals that are not closed; says whether there are more of those than are looked at.
fn of_all(view: &mut dyn View, terms: &Terms, eyes: &Eyes<'_>, best: &mut Best) -> Result<bool> {
    let mut last: Option<GoalId> = None;
    let mut looked = 0;
    loop {
        let page = view.goals(last.as_ref(), STEP)?;
        for goal in page.iter().filter(|goal| !is_closed(goal)) {
            if looked == GOALS_MAX {
                return Ok(true);
            }
            looked += 1;
            rows(view, terms, goal, eyes, best)?;
        }
        if page.len() < STEP {
            return Ok(false);
        }
        last = page.last().map(|goal| goal.goal_id.clone());
    }
}

fn is_closed(goal: &Goal) -> bool {
    matches!(goal.state, GoalState::Closed { .. })
}

/// Adds the rows of a Goal.
fn rows(view: &mut dyn View, terms: &Terms, goal: &Goal, eyes: &Eyes<'_>, best: &mut Best) -> Result<()> {
    if is_closed(goal) {
        return Ok(());
    }
    let seen = Seen::look(view, terms, goal, eyes, Reach::WHOLE)?;
    let wait = waiting::for_all(view, &seen, eyes)?;
    for row in of_goal::rows(&seen, &wait, eyes)? {
        if row.kind != CLOCK_JUMP {
            best.add(Some(&goal.goal_id), row);
        }
    }
    Ok(())
}

fn place(goal: Option<&GoalId>, row: &Attention) -> Place {
    let digest = Digest::of_parts(&[row.kind.as_bytes(), row.about.as_bytes(), row.command.as_bytes()]);
    let name = digest.to_string().chars().take(16).collect();
    // A jump of the clock, and a Goal that is stopped, come before what waits beside them.
    let ageless = match row.rank {
        Rank::Lost | Rank::Gate => i64::MIN,
        Rank::Person | Rank::Replan | Rank::Work => i64::MAX,
    };
    (row.rank, row.since_ms.unwrap_or(Timestamp::from_ms(ageless)), goal.cloned(), name)
}

fn cursor((rank, since, goal, name): &Place) -> String {
    let goal = goal.as_ref().map_or("", GoalId::as_str);
    format!("{}.{}.{goal}.{name}", rank.as_str(), since.as_ms())
}

/// The place that a cursor names; a row that is gone leaves its place.
fn place_of(text: &str) -> Result<Place> {
    let parts: Vec<_> = text.split('.').collect();
    let [rank, since, goal, name] = parts.as_slice() else { return Err(bad_cursor(text)) };
    let rank = Rank::ALL.iter().find(|one| one.as_str() == *rank).ok_or_else(|| bad_cursor(text))?;
    let since = since.parse().map(Timestamp::from_ms).map_err(|_| bad_cursor(text))?;
    let goal = Some(*goal).filter(|goal| !goal.is_empty());
    let goal = goal.map(str::parse).transpose().map_err(|_| bad_cursor(text))?;
    Ok((*rank, since, goal, (*name).to_owned()))
}

/// How what a row is about stands, and who has seen it so.
fn saw(
    view: &mut dyn View,
    terms: &Terms,
    goal: Option<&GoalId>,
    row: &Attention,
) -> Result<(Option<Label>, Option<Saw>)> {
    let Some(goal) = goal.filter(|_| row.stands) else { return Ok((None, None)) };
    let about = row.about.parse::<About>()?;
    let key = sighting_key(&about);
    let mut facts = Facts::new(terms.clone());
    view.load(&gathered([seen_version_read(&about), Read::Noun(key)]), &mut facts)?;
    let Some(version) = seen_version(&facts, goal, &about)? else { return Ok((None, None)) };
    let seen = facts.noun::<Sighting>(key.id)?.filter(|sighting| sighting.version == version);
    let seen = seen.map(|sighting| Saw { by: sighting.by.clone(), at_ms: sighting.at });
    Ok((Some(version), seen))
}
