//! Owns the guess of what a mistyped word was meant to be.
//!
//! Knows nothing of what the words stand for.

/// The candidate closest to a word, if one is close enough to be a likely slip.
pub(in crate::cli) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let length = word.chars().count();
    // A long word is no slip of a short name; this also bounds the table below.
    if length == 0 || length > 40 {
        return None;
    }
    let allowed = 1 + length / 4;
    let graded = candidates.into_iter().map(|candidate| {
        let starts = length >= 2 && candidate.starts_with(word);
        (if starts { 1 } else { distance(word, candidate) }, candidate)
    });
    graded.filter(|(steps, _)| *steps <= allowed).min().map(|(_, candidate)| candidate)
}

/// Insertions, deletions, substitutions and swaps of neighbours that lead from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=from.len()).collect();
    let mut previous = None;
    for (row, target) in to.chars().enumerate() {
        let mut current = vec![row + 1];
        for (column, source) in from.iter().enumerate() {
            let at = |cells: &[usize], index: usize| cells.get(index).copied().unwrap_or(usize::MAX / 2);
            let change = at(&last, column) + usize::from(*source != target);
            let mut best = change.min(at(&last, column + 1) + 1).min(at(&current, column) + 1);
            let neighbour = column.checked_sub(1).and_then(|left| from.get(left));
            if neighbour == Some(&target) && previous == Some(*source) {
                best = best.min(at(&before_last, column - 1) + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
        previous = Some(target);
    }
    last.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted() {
        for (from, to, steps) in
            [("", "", 0), ("", "abc", 3), ("status", "stauts", 1), ("todo", "toto", 1), ("goal", "gate", 3)]
        {
            assert_eq!(distance(from, to), steps, "{from} → {to}");
            assert_eq!(distance(to, from), steps, "{to} → {from}");
        }
    }

    #[test]
    fn a_slip_is_found_and_a_stranger_is_not() {
        let names = ["goal", "todo", "status", "completions"];
        assert_eq!(nearest("stauts", names), Some("status"));
        assert_eq!(nearest("comp", names), Some("completions"));
        assert_eq!(nearest("tood", names), Some("todo"));
        assert_eq!(nearest("kubernetes", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(nearest(&"x".repeat(100_000), names), None);
    }
}
