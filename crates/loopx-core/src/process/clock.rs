//! Owns the clock that deadlines of processes are measured with: time since boot, suspended time included.
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
    let now = clock_gettime(CLOCK);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let millis = u64::try_from(now.tv_nsec / 1_000_000).unwrap_or(0);
    seconds.saturating_mul(1000).saturating_add(millis)
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
