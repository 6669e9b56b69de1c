//! Owns a bar's row: what was measured, the limit, the verdict; and how rows are shown and kept.
//!
//! Knows nothing of how anything is measured.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::{self, Write},
    path::Path,
};

use serde_json::{Value, json};

use super::numbers::Pairs;
use crate::process;

/// The limit of a bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limit {
    /// It must not be exceeded.
    AtMost(f64),
    /// It must be reached.
    AtLeast(f64),
    /// It is only reported.
    Free,
}

/// What became of a bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Within its limit.
    Met,
    /// Beyond its limit.
    Missed,
    /// Without a limit.
    Reported,
    /// Something this machine lacks, by name.
    Skipped(String),
    /// It could not be measured, though this machine could.
    Failed(String),
}

/// One bar.
#[derive(Debug, Clone)]
pub(super) struct Row {
    name: String,
    measured: f64,
    unit: &'static str,
    limit: Limit,
    verdict: Verdict,
    detail: BTreeMap<String, f64>,
}

impl Row {
    /// Judges a measurement.
    pub(super) fn of(name: impl Into<String>, measured: f64, unit: &'static str, limit: Limit) -> Self {
        let verdict = match limit {
            Limit::AtMost(most) if measured <= most => Verdict::Met,
            Limit::AtLeast(least) if measured >= least => Verdict::Met,
            // What is not a number has met nothing.
            Limit::AtMost(_) | Limit::AtLeast(_) => Verdict::Missed,
            Limit::Free => Verdict::Reported,
        };
        Self { name: name.into(), measured, unit, limit, verdict, detail: BTreeMap::new() }
    }

    /// Judges a ratio of pairs, and keeps the medians behind it, in milliseconds.
    pub(super) fn pairs(name: impl Into<String>, pairs: &Pairs, limit: Limit) -> Self {
        let (low, high) = pairs.quartiles();
        Self::of(name, pairs.ratio(), "x", limit)
            .with("ours_ms", super::numbers::median(&pairs.ours))
            .with("theirs_ms", super::numbers::median(&pairs.theirs))
            .with("ratio_p25", low)
            .with("ratio_p75", high)
    }

    /// Adds a figure that is not judged.
    pub(super) fn with(mut self, name: impl Into<String>, figure: f64) -> Self {
        self.detail.insert(name.into(), figure);
        self
    }

    /// A bar for which this machine lacks something.
    pub(super) fn skipped(name: impl Into<String>, why: &str) -> Self {
        let verdict = Verdict::Skipped(why.to_owned());
        Self { verdict, ..Self::of(name, f64::NAN, "", Limit::Free) }
    }

    /// A bar that could not be measured.
    pub(super) fn unmeasured(name: impl Into<String>, why: &str) -> Self {
        let verdict = Verdict::Failed(why.to_owned());
        Self { verdict, ..Self::of(name, f64::NAN, "", Limit::Free) }
    }

    /// Whether nothing is to be said against it.
    pub(super) fn is_good(&self) -> bool {
        match self.verdict {
            Verdict::Met | Verdict::Reported | Verdict::Skipped(_) => true,
            Verdict::Missed | Verdict::Failed(_) => false,
        }
    }

    fn figure(&self, figure: f64) -> String {
        if figure.is_nan() { "-".to_owned() } else { format!("{figure:.3} {}", self.unit) }
    }

    fn cells(&self) -> [String; 4] {
        let limit = match self.limit {
            Limit::AtMost(most) => format!("<= {}", self.figure(most)),
            Limit::AtLeast(least) => format!(">= {}", self.figure(least)),
            Limit::Free => String::new(),
        };
        let verdict = match &self.verdict {
            Verdict::Met => "met".to_owned(),
            Verdict::Missed => "MISSED".to_owned(),
            Verdict::Reported => "reported".to_owned(),
            Verdict::Skipped(why) => format!("skipped: {why}"),
            Verdict::Failed(why) => format!("NOT MEASURED: {why}"),
        };
        [self.name.clone(), self.figure(self.measured), limit, verdict]
    }

    fn json(&self) -> Value {
        let (most, least) = match self.limit {
            Limit::AtMost(most) => (Some(most), None),
            Limit::AtLeast(least) => (None, Some(least)),
            Limit::Free => (None, None),
        };
        let (verdict, why) = match &self.verdict {
            Verdict::Met => ("met", None),
            Verdict::Missed => ("missed", None),
            Verdict::Reported => ("reported", None),
            Verdict::Skipped(why) => ("skipped", Some(why)),
            Verdict::Failed(why) => ("not_measured", Some(why)),
        };
        json!({
            "bar": self.name,
            "measured": (!self.measured.is_nan()).then_some(self.measured),
            "unit": self.unit,
            "at_most": most,
            "at_least": least,
            "verdict": verdict,
            "why": why,
            "detail": self.detail,
        })
    }
}

/// Prints all rows as a table.
pub(super) fn table(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    let head = ["bar", "measured", "limit", "verdict"].map(str::to_owned);
    let lines: Vec<[String; 4]> = std::iter::once(head).chain(rows.iter().map(Row::cells)).collect();
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..3).map(|column| width(column).unwrap_or_default()).collect();
    for line in &lines {
        let mut text = String::new();
        for (cell, width) in line.iter().zip(widths.iter().copied().chain([0])) {
            // Writing into a string cannot fail.
            let _ = write!(text, "{cell:width$} | ");
        }
        writeln!(out, "{}", text.trim_end_matches([' ', '|']))?;
    }
    Ok(())
}

/// Keeps the run under `bench/`, by the commit's name and as the latest.
pub(super) fn write(root: &Path, rows: &[Row], machine: &Value) -> io::Result<()> {
    let commit = process::said("git", &["-C", &root.to_string_lossy(), "describe", "--always", "--dirty"]);
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    let run = json!({
        "schema_version": "loopx_bench_v1",
        "commit": commit,
        "at": process::said("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"]),
        "machine": machine,
        "bars": rows.iter().map(Row::json).collect::<Vec<_>>(),
    });
    let text = format!("{run:#}\n");
    let folder = root.join("bench");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(format!("{}.json", commit.replace('/', "-"))), &text)?;
    fs::write(folder.join("latest.json"), &text)
}

#[cfg(test)]
mod tests {
    use super::{Limit, Row, table};

    #[test]
    fn a_bar_is_met_at_its_limit_and_missed_beyond() {
        assert!(Row::of("a", 2.0, "x", Limit::AtMost(2.0)).is_good());
        assert!(!Row::of("a", 2.001, "x", Limit::AtMost(2.0)).is_good());
        assert!(Row::of("a", 0.7, "x", Limit::AtLeast(0.7)).is_good());
        assert!(!Row::of("a", 0.69, "x", Limit::AtLeast(0.7)).is_good());
        assert!(!Row::of("a", f64::NAN, "x", Limit::AtLeast(0.7)).is_good());
        assert!(!Row::unmeasured("a", "it crashed").is_good());
        assert!(Row::skipped("a", "strace is missing").is_good());
    }

    #[test]
    fn the_table_names_what_was_missed_and_what_was_left_out() {
        let rows = [
            Row::of("claim", 3.0, "x", Limit::AtMost(2.5)),
            Row::skipped("turn, fsyncs", "strace is missing"),
        ];
        let mut out = Vec::new();
        table(&rows, &mut out).unwrap();
        let shown = String::from_utf8(out).unwrap();
        assert!(shown.contains("claim        | 3.000 x  | <= 2.500 x | MISSED\n"), "{shown}");
        assert!(shown.contains("skipped: strace is missing"), "{shown}");
    }
}
