//! Owns the counts of a run, and the reading of the two summaries that test runners print.

use std::{fmt, ops::AddAssign};

/// How many tests, or lanes without tests, ended how.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
}

/// Who prints a summary. A runner shows other programs' output too, so only its own form is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    /// cargo-nextest: `Summary [ 1.2s] 3 tests run: 3 passed, 0 skipped`.
    Nextest,
    /// The test harness: `test result: ok. 3 passed; 0 failed; …`, once a binary.
    Harness,
}

impl Runner {
    /// The part of a line that holds counts, if the line is a summary.
    fn summary(self, line: &str) -> Option<&str> {
        let line = line.trim_start();
        let (_, counts) = match self {
            Self::Nextest => {
                let rest = line.strip_prefix("Summary [")?;
                rest.split_once(" tests run: ").or_else(|| rest.split_once(" test run: "))?
            }
            Self::Harness => line.strip_prefix("test result: ")?.split_once(". ")?,
        };
        Some(counts)
    }
}

impl Counts {
    /// One thing that either passed or failed.
    pub(super) fn one(passed: bool) -> Self {
        Self { passed: u64::from(passed), failed: u64::from(!passed), skipped: 0 }
    }

    /// The counts, with one failure where a runner failed without naming a failed test.
    pub(super) fn or_one(mut self, succeeded: bool) -> Self {
        if !succeeded && self.failed == 0 {
            self.failed = 1;
        }
        self
    }

    /// Takes one test for skipped that its runner took for passed: it found that it cannot be run here.
    pub(super) fn leave_out(&mut self) {
        self.passed = self.passed.saturating_sub(1);
        self.skipped += 1;
    }

    /// What a line of a runner's output adds: nothing, unless it is a summary.
    pub(super) fn in_line(runner: Runner, line: &str) -> Self {
        let Some(parts) = runner.summary(line) else {
            return Self::default();
        };
        let mut counts = Self::default();
        for part in without_brackets(parts).split([',', ';']) {
            let mut words = part.split_ascii_whitespace();
            let Some(number) = words.next().and_then(|word| word.parse::<u64>().ok()) else {
                continue;
            };
            match (words.next(), words.next()) {
                (Some("passed"), None) => counts.passed += number,
                (Some("failed"), None) | (Some("timed" | "exec"), Some(_)) => counts.failed += number,
                (Some("ignored" | "skipped"), None) | (Some("filtered"), Some("out")) => {
                    counts.skipped += number;
                }
                _ => {}
            }
        }
        counts
    }
}

/// The text without what stands in round brackets: a runner's remarks on a count, which are no counts.
fn without_brackets(text: &str) -> String {
    let mut depth = 0_u32;
    text.chars()
        .filter(|c| {
            match c {
                '(' => depth += 1,
                ')' => {
                    depth = depth.saturating_sub(1);
                    return false;
                }
                _ => {}
            }
            depth == 0
        })
        .collect()
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Runner};

    fn counts(runner: Runner, line: &str) -> (u64, u64, u64) {
        let Counts { passed, failed, skipped } = Counts::in_line(runner, line);
        (passed, failed, skipped)
    }

    #[test]
    fn both_runners_are_understood() {
        use Runner::{Harness, Nextest};
        let table = [
            (Nextest, "     Summary [   0.5s] 10 tests run: 10 passed, 0 skipped", (10, 0, 0)),
            (Nextest, "     Summary [   1.0s] 1 test run: 1 passed (1 slow, 1 leaky), 3 skipped", (1, 0, 3)),
            (
                Nextest,
                "  Summary [ 9s] 9 tests run: 5 passed, 2 failed (1 due to being leaky), 1 timed out, 1 exec failed, 4 skipped",
                (5, 4, 4),
            ),
            (Nextest, "     Summary [   9s] 5/9 tests run: 4 passed, 1 failed, 2 skipped", (4, 1, 2)),
            (
                Harness,
                "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0s",
                (3, 0, 3),
            ),
            (
                Harness,
                "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
                (3, 2, 0),
            ),
            (Harness, "test tests::says_10_passed ... ok", (0, 0, 0)),
            (Nextest, "", (0, 0, 0)),
        ];
        for (runner, line, expected) in table {
            assert_eq!(counts(runner, line), expected, "{line}");
        }
    }

    #[test]
    fn what_a_failed_test_printed_under_nextest_is_not_counted_again() {
        let shown = "    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 16 filtered out";
        assert_eq!(counts(Runner::Nextest, shown), (0, 0, 0));
    }

    #[test]
    fn a_runner_that_fails_without_a_count_is_one_failure() {
        assert_eq!(Counts::default().or_one(false).failed, 1);
        assert_eq!(Counts { failed: 2, ..Counts::default() }.or_one(false).failed, 2);
        assert_eq!(Counts::default().or_one(true).failed, 0);
    }
}
