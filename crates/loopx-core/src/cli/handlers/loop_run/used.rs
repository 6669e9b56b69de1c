//! Owns what a loop has used of what it declared: Turns, time, and what its hosts say that their work cost.
//!
//! Knows no rule; when a budget is spent, the controller says.

use serde_json::{Value, json};

use crate::{
    authority::clock::Deadline,
    cli::{Args, Settings, parse::show_duration_ms},
    error::Result,
    model::{TodoId, Turn, TurnId},
    turn::controller::{Budget, Ended, Left},
};

/// What a loop may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Declared {
    pub(super) turns: u64,
    pub(super) wall_ms: u64,
    pub(super) cost_micros: Option<u64>,
}

impl Declared {
    pub(super) fn of(args: &Args, settings: &Settings) -> Result<Self> {
        Ok(Self {
            turns: settings.count("loop.turns")?,
            wall_ms: settings.millis("loop.wall")?,
            cost_micros: args.number("cost"),
        })
    }

    pub(super) fn object(&self) -> Value {
        json!({"turns": self.turns, "wall_ms": self.wall_ms, "cost_micros": self.cost_micros})
    }
}

/// What a loop has done for a Turn; the more it has, the later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Share {
    /// It brought on what another call had begun, with the result that was there.
    BroughtOn,
    /// The same, and its own host worked on it.
    Worked,
    /// It began it.
    Begun,
}

/// One Turn of a loop, as it was left.
#[derive(Debug, Clone)]
pub(super) struct Ran {
    pub(super) turn_id: TurnId,
    pub(super) todo_id: Option<TodoId>,
    pub(super) state: &'static str,
    pub(super) ended: Ended,
    share: Share,
    /// What its host says that it cost, with the currency; none where it said nothing.
    cost: Option<(u64, String)>,
}

impl Ran {
    fn of(turn: &Turn, share: Share) -> Self {
        Self {
            share,
            turn_id: turn.turn_id,
            todo_id: turn.todo_id().cloned(),
            state: turn.state.as_str(),
            ended: Ended::of(turn),
            cost: cost(turn),
        }
    }

    /// Whether the loop began it; what it only brought on counts for the call that did.
    pub(super) fn is_begun(&self) -> bool {
        self.share == Share::Begun
    }
}

/// What the reports of a Turn sum up to; none where none names a cost, or two name different currencies.
fn cost(turn: &Turn) -> Option<(u64, String)> {
    let mut sum: Option<(u64, String)> = None;
    let mut counted = std::collections::BTreeSet::new();
    for usage in turn.candidate.iter().flat_map(|candidate| &candidate.usage) {
        let (Some(cost), Some(currency)) = (usage.caps(None).cost_micros, &usage.currency) else { continue };
        if !counted.insert(usage.seq) {
            continue;
        }
        sum = match sum {
            None => Some((cost, currency.to_string())),
            Some((sum, of)) if of == currency.as_str() => Some((sum.saturating_add(cost), of)),
            Some(_) => return None,
        };
    }
    sum
}

/// What a loop has used.
#[derive(Debug)]
pub(super) struct Used {
    declared: Declared,
    deadline: Deadline,
    ran: Vec<Ran>,
}

impl Used {
    pub(super) fn nothing_of(declared: Declared) -> Self {
        let deadline = Deadline::after(std::time::Duration::from_millis(declared.wall_ms));
        Self { declared, deadline, ran: Vec::new() }
    }

    /// Takes note of a Turn, which counts once, however often it is brought on.
    pub(super) fn note(&mut self, turn: &Turn, share: Share) {
        let before = self.ran(turn.turn_id).map_or(share, |ran| ran.share);
        self.ran.retain(|ran| ran.turn_id != turn.turn_id);
        self.ran.push(Ran::of(turn, share.max(before)));
    }

    /// The Turns that it began or brought on, as they came to rest.
    pub(super) fn all(&self) -> &[Ran] {
        &self.ran
    }

    /// One of them.
    pub(super) fn ran(&self, turn_id: TurnId) -> Option<&Ran> {
        self.ran.iter().find(|ran| ran.turn_id == turn_id)
    }

    /// How much time is left.
    pub(super) fn time(&self) -> std::time::Duration {
        self.deadline.left()
    }

    /// The number of the next Turn, from 1.
    pub(super) fn next_number(&self) -> u64 {
        self.turns().saturating_add(1)
    }

    pub(super) fn declared(&self) -> &Declared {
        &self.declared
    }

    /// How many Turns it began.
    fn turns(&self) -> u64 {
        u64::try_from(self.ran.iter().filter(|ran| ran.is_begun()).count()).unwrap_or(u64::MAX)
    }

    /// How many more it brought on.
    fn brought_on(&self) -> usize {
        self.ran.iter().filter(|ran| !ran.is_begun()).count()
    }

    fn wall_left_ms(&self) -> u64 {
        u64::try_from(self.time().as_millis()).unwrap_or(u64::MAX)
    }

    /// What the hosts' work cost so far; none where that is not known.
    fn cost_micros(&self) -> Option<u64> {
        self.cost().map(|(sum, _)| sum)
    }

    /// As [`Used::cost_micros`], with its currency where anything ran.
    fn cost(&self) -> Option<(u64, Option<&str>)> {
        let mut of = None;
        let mut sum = 0_u64;
        // What another call's host has cost already is that call's.
        for ran in self.ran.iter().filter(|ran| ran.share > Share::BroughtOn) {
            let (cost, currency) = ran.cost.as_ref()?;
            if *of.get_or_insert(currency.as_str()) != currency.as_str() {
                return None;
            }
            sum = sum.saturating_add(*cost);
        }
        Some((sum, of))
    }

    /// What was used of what, in words.
    pub(super) fn line(&self) -> String {
        let wall = self.declared.wall_ms.saturating_sub(self.wall_left_ms());
        let turns = if self.declared.turns == 1 { "Turn" } else { "Turns" };
        let more = match self.brought_on() {
            0 => String::new(),
            n => format!(" and {n} brought on"),
        };
        format!(
            "used: {} of {} {turns}{more}, {} of {}, {}",
            self.turns(),
            self.declared.turns,
            show_duration_ms(wall / 1000 * 1000),
            show_duration_ms(self.declared.wall_ms),
            self.cost_words()
        )
    }

    fn cost_words(&self) -> String {
        let of = self.declared.cost_micros.map(|of| format!(" of {}", units(of))).unwrap_or_default();
        match self.cost() {
            // What was never asked for, and never said, is no number.
            None => format!("cost not known{of}"),
            Some((cost, None)) => format!("cost {}{of}", units(cost)),
            Some((cost, Some(currency))) => format!("cost {}{of} {currency}", units(cost)),
        }
    }

    /// What is left, as the controller asks it.
    pub(super) fn budget(&self) -> Budget {
        let cost_micros = match (self.declared.cost_micros, self.cost_micros()) {
            (None, _) => Left::Unbounded,
            (Some(declared), Some(used)) => Left::Some(declared.saturating_sub(used)),
            (Some(_), None) => Left::Unknown,
        };
        Budget {
            turns: Left::Some(self.declared.turns.saturating_sub(self.turns())),
            wall_ms: Left::Some(self.wall_left_ms()),
            cost_micros,
            alike: self.alike(),
        }
    }

    /// How many of the last Turns in a row failed in the same way.
    fn alike(&self) -> u8 {
        let Some(last) = self.ran.last().filter(|ran| is_failure(&ran.ended)) else { return 0 };
        let alike = self.ran.iter().rev().take_while(|ran| ran.ended == last.ended).count();
        u8::try_from(alike).unwrap_or(u8::MAX)
    }

    pub(super) fn object(&self) -> Value {
        json!({
            "turns": self.turns(),
            "wall_ms": self.declared.wall_ms.saturating_sub(self.wall_left_ms()),
            "cost_micros": self.cost_micros().map_or_else(|| json!("unknown"), |cost| json!(cost)),
        })
    }
}

/// Millionths as whole units, with two places at least and no more than it has.
fn units(micros: u64) -> String {
    let places = format!("{:06}", micros % 1_000_000);
    let kept = places.trim_end_matches('0').len().max(2);
    format!("{}.{}", micros / 1_000_000, places.get(..kept).unwrap_or(&places))
}

/// Whether the same, again and again, leads nowhere.
const fn is_failure(ended: &Ended) -> bool {
    match ended {
        Ended::Failed(_) | Ended::Fenced | Ended::RepairRequired => true,
        Ended::Completion { .. }
        | Ended::Progress
        | Ended::ReplanRequired
        | Ended::Stopped(_)
        | Ended::Unresolved
        | Ended::Held
        | Ended::AtWork => false,
    }
}

#[cfg(test)]
mod tests {
    use super::units;

    #[test]
    fn millionths_are_shown_as_units() {
        let shown: Vec<_> = [0, 5, 1_500_000, 2_000_000, 1_234_560].map(units).into();
        assert_eq!(shown, ["0.00", "0.000005", "1.50", "2.00", "1.23456"]);
    }
}
