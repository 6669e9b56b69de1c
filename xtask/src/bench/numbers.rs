//! Owns the arithmetic of a measurement: medians, shares, and pairs that ran in turn.
//!
//! Knows nothing of what was measured.

use std::{io, time::Duration};

/// A count as a number to reckon with.
#[expect(clippy::cast_precision_loss, reason = "no figure here has more than 52 bits that matter")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

/// The value below which a share of the values lies; not a number of none.
pub(super) fn share(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

/// The middle value.
pub(super) fn median(values: &[f64]) -> f64 {
    share(values, 50)
}

/// What two programs took, run in turn.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// Ours.
    pub(super) ours: Vec<f64>,
    /// The comparator's.
    pub(super) theirs: Vec<f64>,
}

impl Pairs {
    /// Runs both in turn, so that a noisy moment meets both.
    pub(super) fn take(
        rounds: usize,
        mut ours: impl FnMut() -> io::Result<f64>,
        mut theirs: impl FnMut() -> io::Result<f64>,
    ) -> io::Result<Self> {
        // The first of each fills caches.
        ours()?;
        theirs()?;
        let mut pairs = Self::default();
        for _ in 0..rounds {
            pairs.ours.push(ours()?);
            pairs.theirs.push(theirs()?);
        }
        Ok(pairs)
    }

    fn ratios(&self) -> Vec<f64> {
        self.ours.iter().zip(&self.theirs).map(|(ours, theirs)| ours / theirs).collect()
    }

    /// The median of the ratios of all pairs.
    pub(super) fn ratio(&self) -> f64 {
        median(&self.ratios())
    }

    /// Where the middle half of the ratios lies.
    pub(super) fn quartiles(&self) -> (f64, f64) {
        let ratios = self.ratios();
        (share(&ratios, 25), share(&ratios, 75))
    }
}

/// A time in milliseconds.
pub(super) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::{Pairs, median, share};

    #[test]
    fn a_share_of_a_list_is_one_of_its_values() {
        let values = [4.0, 1.0, 3.0, 2.0];
        let shown = format!("{} {} {}", share(&values, 25), median(&values), share(&values, 100));
        assert_eq!(shown, "1 2 4");
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn one_noisy_moment_does_not_move_the_ratio_of_pairs() {
        let pairs = Pairs { ours: vec![2.0, 200.0, 2.0], theirs: vec![1.0, 100.0, 1.0] };
        assert!((pairs.ratio() - 2.0).abs() < 1e-9);
        assert_eq!(pairs.quartiles(), (2.0, 2.0));
    }

    #[test]
    fn both_programs_run_in_turn() {
        let order = std::cell::RefCell::new(String::new());
        let run = |name| {
            order.borrow_mut().push(name);
            Ok(1.0)
        };
        Pairs::take(2, || run('a'), || run('b')).unwrap();
        assert_eq!(*order.borrow(), "ababab");
    }
}
