//! Owns the clocks of processes: deadlines are measured with the time since boot, suspended time included; what is charged
//! with the time that the machine was awake.
//!
//! Knows nothing of wall time; what a fact records comes from the authority.

use rustix::{
    event::poll,
    time::{ClockId, Timespec, clock_gettime},
};

#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: ClockId = ClockId::Boottime;
/// macOS counts suspended time in its monotonic clock.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: ClockId = ClockId::Monotonic;

/// Milliseconds since boot.
pub fn boot_ms() -> u64 {
    millis(CLOCK)
}

fn millis(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let millis = u64::try_from(now.tv_nsec / 1_000_000).unwrap_or(0);
    seconds.saturating_mul(1000).saturating_add(millis)
}

/// Milliseconds that the machine was awake since it was started; none where no clock of the system tells.
pub(super) fn awake_ms() -> Option<u64> {
    // Linux' monotonic clock stands still while the machine sleeps.
    cfg!(any(target_os = "linux", target_os = "android")).then(|| millis(ClockId::Monotonic))
}

/// What passed between two readings of a clock that may tell nothing.
pub(super) fn between(from: Option<u64>, to: Option<u64>) -> Option<u64> {
    from.zip(to).map(|(from, to)| to.saturating_sub(from))
}

/// Gives the processor away for about this long. Only between two looks at a condition that has a deadline.
pub fn pause(for_ms: u64) {
    // An interrupted pause is a shorter one.
    let _ = poll(&mut [], Some(&timeout(for_ms)));
}

/// A span in the form `poll` takes.
pub(super) fn timeout(for_ms: u64) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(for_ms / 1000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(for_ms % 1000).unwrap_or(0) * 1_000_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_machine_slept_is_not_charged_and_what_no_clock_tells_is_unknown() {
        // given a minute at work, then an hour asleep, then a second at work, by each clock
        let (boot, awake) =
            ((100_000, 100_000 + 60_000 + 3_600_000 + 1000), (90_000, 90_000 + 60_000 + 1000));
        assert_eq!(between(Some(boot.0), Some(boot.1)), Some(3_661_000), "deadlines count all of it");
        assert_eq!(between(Some(awake.0), Some(awake.1)), Some(61_000));
        for (from, to) in [(None, Some(7)), (Some(7), None), (None, None)] {
            assert_eq!(between(from, to), None);
        }
        assert_eq!(between(Some(9), Some(7)), Some(0), "no clock takes anything back");
    }

    #[test]
    fn this_machine_was_awake_no_longer_than_it_is_up() {
        let awake = awake_ms();
        assert!(awake.is_none_or(|awake| awake <= boot_ms()), "{awake:?}");
        assert_eq!(awake.is_some(), cfg!(any(target_os = "linux", target_os = "android")));
    }
}
