//! Owns the reading of clocks and the one rule by which `now` moves from commit to commit.
//!
//! Knows nothing of what expires. `advance` is pure; only `SystemClock` and `monotonic` read a clock. Source:
//! the kernel's "Clock and incarnation".

use std::{
    fmt,
    time::{Duration, Instant},
};

use crate::error::{Code, Error, Result};

/// A forward step of the wall clock across a reboot that nobody believes without being asked, in milliseconds.
pub const JUMP_MAX_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// What the machine's clocks say at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Names this boot of the machine; empty where the platform has no such name, and then equal to no other.
    pub boot_id: String,
    /// Time since that boot, suspend included, in milliseconds.
    pub boot_ms: i64,
    /// Wall time since the Unix epoch, in milliseconds.
    pub wall_ms: i64,
}

/// What the ledger remembers of its last commit's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The boot in which that commit was made.
    pub boot_id: String,
    /// Time since that boot, in milliseconds.
    pub boot_ms: i64,
    /// The ledger's `now` of that commit, in milliseconds since the Unix epoch.
    pub now_ms: i64,
    /// Whether a jump was seen that nobody has accepted yet. While it stands nothing expires.
    pub clock_jump: bool,
}

impl Stamp {
    /// Starts a ledger's time at the wall clock.
    pub fn first(reading: &Reading) -> Self {
        Self {
            boot_id: reading.boot_id.clone(),
            boot_ms: reading.boot_ms,
            now_ms: reading.wall_ms,
            clock_jump: false,
        }
    }
}

/// Moves `now` from the last commit to this one.
///
/// Invariant: the result's `now_ms` is never less than the last one's. Within one boot only the boot clock
/// counts, so a stepped wall clock changes nothing; a boot clock that ran back is another boot, whatever its name:
/// a machine that was put back to an earlier state. Across boots the wall clock is believed when it moved
/// forward by at most `JUMP_MAX_MS`; otherwise time goes on by the boot clock alone and `clock_jump` is set,
/// and stays set until `accept`.
pub fn advance(last: &Stamp, reading: &Reading) -> Stamp {
    let named = !last.boot_id.is_empty() && last.boot_id == reading.boot_id;
    let (now_ms, clock_jump) = if named && reading.boot_ms >= last.boot_ms {
        let passed_ms = reading.boot_ms.saturating_sub(last.boot_ms);
        (last.now_ms.saturating_add(passed_ms), last.clock_jump)
    } else {
        let step_ms = reading.wall_ms.saturating_sub(last.now_ms);
        if last.clock_jump || !(0..=JUMP_MAX_MS).contains(&step_ms) {
            (last.now_ms.saturating_add(reading.boot_ms.max(0)), true)
        } else {
            (reading.wall_ms, false)
        }
    };
    Stamp { boot_id: reading.boot_id.clone(), boot_ms: reading.boot_ms, now_ms, clock_jump }
}

/// Ends a clock jump: a person has looked at the wall clock and stands by it.
///
/// Invariant: `now_ms` still never goes back; a wall clock behind it is waited for.
pub fn accept(last: &Stamp, reading: &Reading) -> Stamp {
    Stamp {
        boot_id: reading.boot_id.clone(),
        boot_ms: reading.boot_ms,
        now_ms: advance(last, reading).now_ms.max(reading.wall_ms),
        clock_jump: false,
    }
}

/// Reads the machine's clocks; a test gives its own.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Reads all clocks at once.
    fn read(&self) -> Result<Reading>;
}

/// The clocks of this machine.
#[derive(Debug, Clone)]
pub struct SystemClock {
    boot_id: String,
}

impl SystemClock {
    /// Reads the boot's name, which does not change while a process lives.
    pub fn new() -> Self {
        Self { boot_id: boot_id() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn read(&self) -> Result<Reading> {
        let reading = Reading { boot_id: self.boot_id.clone(), boot_ms: boot_ms(), wall_ms: wall_ms()? };
        #[cfg(feature = "failpoints")]
        let reading = crate::failpoint::shift_clock(reading)?;
        Ok(reading)
    }
}

/// Reads the clock that measures waits within this process.
#[expect(clippy::disallowed_methods, reason = "this module reads the clock for everybody")]
pub fn monotonic() -> Instant {
    Instant::now()
}

/// A moment after which a wait gives up.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Instant);

impl Deadline {
    /// Starts a wait that may last this long.
    pub fn after(wait: Duration) -> Self {
        let now = monotonic();
        // A wait beyond what the clock can name is as good as the longest one it can.
        Self(now.checked_add(wait).unwrap_or_else(|| now + Duration::from_secs(u64::from(u32::MAX))))
    }

    /// What is left of the wait; zero once it is over.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(monotonic())
    }
}

#[expect(clippy::disallowed_methods, reason = "this module reads the clock for everybody")]
fn wall_ms() -> Result<i64> {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_millis()).ok())
        .ok_or_else(|| Error::new(Code::NotReady, "the wall clock stands before 1970"))
}

#[cfg(target_os = "linux")]
fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
fn boot_id() -> String {
    String::new()
}

fn boot_ms() -> i64 {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    // On Apple's systems the monotonic clock goes on during sleep.
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(clock);
    time.tv_sec.saturating_mul(1000).saturating_add(time.tv_nsec / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    const T: i64 = 1_800_000_000_000;

    fn reading(boot_id: &str, boot_ms: i64, wall_ms: i64) -> Reading {
        Reading { boot_id: boot_id.to_owned(), boot_ms, wall_ms }
    }

    fn stamp(boot_id: &str, boot_ms: i64, now_ms: i64, clock_jump: bool) -> Stamp {
        Stamp { boot_id: boot_id.to_owned(), boot_ms, now_ms, clock_jump }
    }

    #[test]
    fn now_moves_as_the_table_says() {
        let last = stamp("a", 1000, T, false);
        let rows = [
            // (what happened, reading, now, jump)
            ("nothing", reading("a", 1000, T), T, false),
            ("5 s passed", reading("a", 6000, T + 5000), T + 5000, false),
            ("wall stepped back a day", reading("a", 6000, T - DAY_MS), T + 5000, false),
            ("wall jumped forward a year", reading("a", 6000, T + 365 * DAY_MS), T + 5000, false),
            ("suspended for 8 h", reading("a", 1000 + DAY_MS / 3, T + DAY_MS / 3), T + DAY_MS / 3, false),
            ("put back to an earlier state, wall right", reading("a", 10, T + 7), T + 7, false),
            ("put back to an earlier state, wall too", reading("a", 10, T - 7), T + 10, true),
            ("put back after 47 days on a wrong wall", reading("a", 10, T - 47 * DAY_MS), T + 10, true),
            ("rebooted, wall 1 min on", reading("b", 20_000, T + 60_000), T + 60_000, false),
            ("rebooted, wall as it was", reading("b", 20_000, T), T, false),
            (
                "rebooted, wall exactly 30 days on",
                reading("b", 20_000, T + JUMP_MAX_MS),
                T + JUMP_MAX_MS,
                false,
            ),
            ("rebooted, wall beyond 30 days", reading("b", 20_000, T + JUMP_MAX_MS + 1), T + 20_000, true),
            ("rebooted, wall back", reading("b", 20_000, T - 1), T + 20_000, true),
            ("rebooted, clock battery dead", reading("b", 20_000, 0), T + 20_000, true),
        ];
        for (what, now, expected_ms, jump) in rows {
            let moved = advance(&last, &now);
            assert_eq!((moved.now_ms, moved.clock_jump), (expected_ms, jump), "{what}");
            assert_eq!(
                (moved.boot_id.as_str(), moved.boot_ms),
                (now.boot_id.as_str(), now.boot_ms),
                "{what}"
            );
        }
    }

    #[test]
    fn an_unnamed_boot_is_never_the_same_boot() {
        let moved = advance(&stamp("", 1000, T, false), &reading("", 5000, T + 60_000));
        assert_eq!(moved.now_ms, T + 60_000);
    }

    #[test]
    fn a_jump_stands_until_it_is_accepted() {
        // given a jump
        let jumped = advance(&stamp("a", 1000, T, false), &reading("b", 20_000, T - DAY_MS));
        assert!(jumped.clock_jump);
        // when time passes, and the machine boots again with a sound wall clock
        let later = advance(&jumped, &reading("b", 50_000, T - DAY_MS + 30_000));
        assert_eq!((later.now_ms, later.clock_jump), (T + 50_000, true));
        let rebooted = advance(&later, &reading("c", 9000, T + 120_000));
        assert_eq!((rebooted.now_ms, rebooted.clock_jump), (T + 59_000, true));
        // then only a person ends it, and time still does not go back
        let accepted = accept(&rebooted, &reading("c", 10_000, T + 300_000));
        assert_eq!((accepted.now_ms, accepted.clock_jump), (T + 300_000, false));
        let behind = accept(&rebooted, &reading("c", 10_000, T - DAY_MS));
        assert_eq!((behind.now_ms, behind.clock_jump), (T + 60_000, false));
    }

    #[test]
    fn the_machine_s_clocks_go_forward() {
        let clock = SystemClock::new();
        let (first, second) = (clock.read().unwrap(), clock.read().unwrap());
        assert_eq!(first.boot_id, second.boot_id);
        assert!(second.boot_ms >= first.boot_ms);
        assert!(first.wall_ms > 1_700_000_000_000);
        assert!(cfg!(not(target_os = "linux")) || first.boot_id.len() == 36);
    }
}
