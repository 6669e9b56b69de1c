//! Owns the tests of deadlines, limits, ticks and results.

use rustix::time::{ClockId, clock_gettime};

use super::{Control, script, text};
use crate::process::{Capture, Ended, Overflow, ResultRule};

fn is_braces(bytes: &[u8]) -> bool {
    bytes.trim_ascii() == b"{}"
}

#[test]
fn an_exit_code_and_both_streams_come_back() {
    let outcome = script("echo out; echo err >&2; exit 7").run();
    assert_eq!(outcome.ended, Ended::Exited(7));
    assert_eq!((text(&outcome.stdout), text(&outcome.stderr)), ("out\n", "err\n"));
    assert_eq!(outcome.outlived, []);
}

#[test]
fn a_signal_is_told_apart_from_a_code() {
    assert_eq!(script("kill -SEGV $$").run().ended, Ended::Signalled(11));
}

#[test]
fn a_hang_ends_at_the_wall_deadline() {
    let mut hang = script("echo begun; sleep MARK");
    hang.spec.wall_ms = 300;
    let outcome = hang.run();
    assert_eq!(outcome.ended, Ended::WallDeadline);
    assert_eq!(text(&outcome.stdout), "begun\n");
    assert!((300..20_000).contains(&outcome.wall_ms), "{}", outcome.wall_ms);
}

#[test]
fn silence_ends_at_the_idle_deadline() {
    let mut silent = script("echo begun; sleep MARK");
    silent.spec.idle_ms = Some(300);
    assert_eq!(silent.run().ended, Ended::IdleDeadline);
}

#[test]
fn output_on_either_stream_puts_the_idle_deadline_off() {
    let mut chatty = script("for i in 1 2 3; do echo o; sleep 0.3; echo e >&2; sleep 0.3; done");
    chatty.spec.idle_ms = Some(1500);
    let outcome = chatty.run();
    assert_eq!(outcome.ended, Ended::Exited(0));
    assert!(outcome.wall_ms > 1500, "{}", outcome.wall_ms);
}

#[test]
fn a_flood_is_cut_at_its_limit() {
    let outcome = script("exec yes flood").run();
    assert_eq!(outcome.ended, Ended::OutputTooLarge);
    assert_eq!(outcome.stdout.len(), 64 * 1024);
}

#[test]
fn output_of_exactly_the_limit_passes_and_one_byte_more_does_not() {
    for (bytes, ended) in [(1000, Ended::Exited(0)), (1001, Ended::OutputTooLarge)] {
        let mut exact = script(&format!("head -c {bytes} /dev/zero"));
        exact.spec.stdout.max_bytes = 1000;
        let outcome = exact.run();
        assert_eq!((outcome.ended, outcome.stdout.len()), (ended, 1000));
    }
}

#[test]
fn a_kept_tail_is_the_last_of_a_flood() {
    let mut long = script("head -c 3000000 /dev/zero; printf end");
    long.spec.stdout = Capture { max_bytes: 1000, overflow: Overflow::KeepTail };
    let outcome = long.run();
    assert_eq!(outcome.ended, Ended::Exited(0));
    assert_eq!((outcome.stdout.len(), outcome.stdout_seen_bytes), (1000, 3_000_003));
    assert!(outcome.stdout.ends_with(b"\0end"));
}

#[test]
fn a_flood_whose_tail_is_kept_still_meets_its_deadline() {
    let mut flood = script("exec yes MARK");
    flood.spec.stdout = Capture { max_bytes: 1000, overflow: Overflow::KeepTail };
    flood.spec.wall_ms = 300;
    let outcome = flood.run();
    assert_eq!((outcome.ended, outcome.stdout.len()), (Ended::WallDeadline, 1000));
}

#[test]
fn fault_e01_a_result_is_kept_when_the_host_hangs_after_it() {
    let mut host = script("echo '{}'; sleep MARK");
    host.spec.result = Some(ResultRule { is_complete: is_braces, linger_ms: 200 });
    let outcome = host.run();
    assert_eq!((outcome.ended, outcome.result_complete), (Ended::Lingered, true));
    assert_eq!(text(&outcome.stdout), "{}\n");
}

#[test]
fn fault_e01_a_result_outweighs_the_wall_and_the_idle_deadline() {
    let mut host = script("echo '{}'; sleep MARK");
    host.spec.result = Some(ResultRule { is_complete: is_braces, linger_ms: 60_000 });
    host.spec.wall_ms = 2000;
    host.spec.idle_ms = Some(1500);
    let outcome = host.run();
    assert_eq!(outcome.ended, Ended::Lingered);
    assert!(outcome.wall_ms >= 2000, "the idle deadline does not count after the result");
}

#[test]
fn an_exit_within_the_linger_is_an_exit() {
    let mut host = script("echo '{}'; exit 4");
    host.spec.result = Some(ResultRule { is_complete: is_braces, linger_ms: 30_000 });
    let outcome = host.run();
    assert_eq!((outcome.ended, outcome.result_complete), (Ended::Exited(4), true));
}

#[test]
fn a_wish_to_stop_ends_it_and_ticks_go_on_to_the_end() {
    let mut stubborn = script("trap '' TERM; echo up; while :; do sleep 0.05 MARK; done");
    stubborn.spec.tick_ms = 20;
    stubborn.spec.grace_ms = 300;
    let mut ticks = Vec::new();
    let outcome = stubborn.run_with(&mut |tick| {
        ticks.push(tick);
        if tick.stdout_seen_bytes > 0 { Control::Stop } else { Control::Continue }
    });
    assert_eq!(outcome.ended, Ended::Stopped);
    assert!(ticks.iter().any(|tick| tick.ending), "the lease is renewed during the grace too");
    assert!(ticks.windows(2).all(|two| two[0].elapsed_ms <= two[1].elapsed_ms && two[0].pid == two[1].pid));
}

#[test]
fn waiting_costs_no_processor() {
    let cpu_us = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        now.tv_sec * 1_000_000 + now.tv_nsec / 1000
    };
    let before = cpu_us();
    let outcome = script("sleep 1").run();
    let used = cpu_us() - before;
    assert!(outcome.wall_ms >= 1000);
    assert!(used < 300_000, "{used} us of processor time for a second of waiting");
}
