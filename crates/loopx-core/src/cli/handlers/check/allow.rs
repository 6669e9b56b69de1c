//! Owns the marker by which a line says that it may hold what `check` finds.
//!
//! Knows nothing of what is found. A marker names kinds, so that another secret that comes to the same line later is
//! found all the same.

use std::collections::BTreeSet;

/// What a marker begins with; kinds follow, divided by commas.
const MARKER: &str = "loopx:allow";

/// What is allowed at the line that is looked at.
#[derive(Debug, Default)]
pub(super) struct Allowing {
    line: u64,
    /// By a marker of this line.
    here: BTreeSet<String>,
    /// By a marker of the line before, which it had no use for itself.
    above: BTreeSet<String>,
    used: BTreeSet<String>,
}

impl Allowing {
    /// Goes on to a piece of a line; lines come in their order.
    pub(super) fn at(&mut self, line: u64, text: &str) {
        if line != self.line {
            let unused = std::mem::take(&mut self.here).into_iter().filter(|kind| !self.used.contains(kind));
            self.above = if line == self.line + 1 { unused.collect() } else { BTreeSet::new() };
            self.used.clear();
            self.line = line;
        }
        for (at, marker) in text.match_indices(MARKER) {
            let rest = text.get(at + marker.len()..).unwrap_or_default();
            self.here.extend(kinds(rest).map(str::to_owned));
        }
    }

    /// Whether such a finding is allowed here.
    pub(super) fn covers(&mut self, kind: &str) -> bool {
        if self.here.contains(kind) {
            self.used.insert(kind.to_owned());
            return true;
        }
        self.above.contains(kind)
    }
}

fn kinds(rest: &str) -> impl Iterator<Item = &str> {
    let is_kind = |c: char| c.is_ascii_lowercase() || c == '_';
    let list = rest.strip_prefix([' ', ':', '=']).unwrap_or_default().trim_start_matches(' ');
    let end = list.find(|c| !is_kind(c) && c != ',').unwrap_or(list.len());
    list.get(..end).unwrap_or_default().split(',').filter(|kind| !kind.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_covers_the_kinds_it_names_on_its_line_or_the_next() {
        let mut allowing = Allowing::default();
        allowing.at(1, "x // loopx:allow forge,private_path (a fixture)");
        assert!(allowing.covers("forge") && allowing.covers("private_path") && !allowing.covers("cloud"));
        // its line had use for it, so the next has not
        allowing.at(2, "x");
        assert!(!allowing.covers("forge"));
        allowing.at(3, "# loopx:allow forge");
        allowing.at(4, "x");
        assert!(allowing.covers("forge") && allowing.covers("forge") && !allowing.covers("cloud"));
        allowing.at(5, "x");
        assert!(!allowing.covers("forge"));
    }

    #[test]
    fn a_marker_without_a_kind_allows_nothing() {
        let mut allowing = Allowing::default();
        for (line, text) in (1..).zip(["loopx:allow", "loopx:allow *", "loopx:allow all", "loopx:allowforge"])
        {
            allowing.at(line, text);
            assert!(!allowing.covers("forge"), "{text}");
        }
    }
}
