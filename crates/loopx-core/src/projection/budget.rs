//! Owns how limits and amounts are said to people.
//!
//! Knows no rule.

use crate::{
    kernel::is_zero_limit,
    model::{Caps, Currency, Dimension, Limit},
};

/// A limit in words: `5 Turns, 100000 tokens, 12.50 USD in 1d`.
pub fn limited(limit: &Limit) -> String {
    let turns = limit.turns.map(|turns| format!("{turns} Turns"));
    let rest = limit.caps();
    let rest = (!rest.is_open()).then(|| amounts(&rest, limit.currency));
    let all: Vec<_> = turns.into_iter().chain(rest).collect();
    let nothing = if is_zero_limit(limit) { ", so nothing may run" } else { "" };
    format!("{} in {}{nothing}", all.join(", "), span(limit.window_ms.as_ms()))
}

/// Amounts in words, those that are said.
pub fn amounts(caps: &Caps, currency: Option<Currency>) -> String {
    let said = Dimension::ALL.into_iter().filter_map(|dimension| Some((dimension, caps.of(dimension)?)));
    said.map(|(dimension, amount)| amount_of(dimension, amount, currency)).collect::<Vec<_>>().join(", ")
}

/// One amount in words.
pub fn amount_of(dimension: Dimension, amount: u64, currency: Option<Currency>) -> String {
    match dimension {
        Dimension::Tokens => format!("{amount} tokens"),
        Dimension::Cost => {
            let unit = currency.map_or_else(|| "units".to_owned(), |currency| currency.to_string());
            format!("{} {unit}", money(amount))
        }
        Dimension::Wall => format!("{} at work", span(amount)),
    }
}

/// Millionths as a number with two places, or with as many as it has.
fn money(micros: u64) -> String {
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    let places = format!("{rest:06}");
    let kept = places.trim_end_matches('0').len().max(2);
    format!("{whole}.{}", places.get(..kept).unwrap_or(&places))
}

/// A length of time: its two largest units.
pub fn span(ms: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")];
    let mut left = ms;
    let mut words = Vec::new();
    for (unit, name) in UNITS {
        if left >= unit && words.len() < 2 {
            words.push(format!("{}{name}", left / unit));
            left %= unit;
        } else if !words.is_empty() {
            break;
        }
    }
    if words.is_empty() { format!("{ms}ms") } else { words.join("") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Duration;

    #[test]
    fn limits_are_said_with_their_units() {
        let limit = Limit {
            tokens: Some(100_000),
            cost_micros: Some(12_500_000),
            currency: Some("USD".parse().unwrap()),
            wall_ms: Some(5_400_000),
            ..Limit::of_turns(5, Duration::from_mins(24 * 60))
        };
        assert_eq!(limited(&limit), "5 Turns, 100000 tokens, 12.50 USD, 1h30m at work in 1d");
        let none = Limit::of_turns(0, Duration::from_mins(24 * 60));
        assert_eq!(limited(&none), "0 Turns in 1d, so nothing may run");
        assert_eq!([money(0), money(1), money(1_234_560)], ["0.00", "0.000001", "1.23456"]);
        assert_eq!([span(0), span(999), span(61_000), span(90_000_000)], ["0ms", "999ms", "1m1s", "1d1h"]);
    }
}
