//! Owns the claims of one process in a loop, through the authority: one registered agent a Todo.
//!
//! Knows nothing of who else claims. Words: `home=`, `run=`, `from=`, `last=`, `warm=` (claims before the clock
//! starts), `count=` or `window_ms=`, `barrier`.

use loopx_core::sdk::Code;
use serde_json::json;

use super::stage::{Operations, Outcome, Words, answer, cpu_ns, meet, now_ns, share};

pub(crate) fn run(words: &Words) -> Outcome<()> {
    let (from, warm): (u32, u32) = (words.get("from")?, words.get("warm")?);
    let count: u32 = words.get_or("count", u32::MAX)?;
    let window_ns = words.get_or("window_ms", u64::from(u32::MAX))? * 1_000_000;
    let last: u32 = words.get("last")?;
    let mut authority = words.authority()?;
    let mut operations = Operations::new()?;
    let mut numbers = from..=last;
    for number in numbers.by_ref().take(usize::try_from(warm)?) {
        authority.submit(operations.claim(number, number)?)?;
    }
    meet(words)?;
    let (mut took_ns, mut busy) = (Vec::new(), 0_u32);
    let (started_ns, started_cpu_ns) = (now_ns(), cpu_ns());
    let mut ended_ns = started_ns;
    for number in numbers.take(usize::try_from(count)?) {
        let began_ns = ended_ns;
        match authority.submit(operations.claim(number, number)?) {
            Ok(_) => {}
            Err(error) if error.code() == Code::StoreBusy => busy += 1,
            Err(error) => return Err(error.into()),
        }
        ended_ns = now_ns();
        took_ns.push(ended_ns - began_ns);
        if ended_ns - started_ns >= window_ns {
            break;
        }
    }
    let cpu_ns = cpu_ns() - started_cpu_ns;
    let ran_out = count == u32::MAX && ended_ns - started_ns < window_ns;
    took_ns.sort_unstable();
    answer(&json!({
        "ops": took_ns.len(),
        "wall_ns": ended_ns - started_ns,
        "cpu_ns": cpu_ns,
        "p50_ns": share(&took_ns, 50),
        "p99_ns": share(&took_ns, 99),
        "longest_ns": share(&took_ns, 100),
        "busy": busy,
        "ran_out": ran_out,
    }))
}
