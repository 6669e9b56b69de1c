//! Owns the tests of whole trees: whatever a program leaves behind is ended, and a stranger's never.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    process::{Child, Command, Stdio},
};

use super::{Control, Script, script, text};
use crate::process::{Containment, Ended, ResultRule, Token, alive_by_token, boot_ms, end_by_token, run};

#[test]
fn a_tree_that_ignores_term_is_killed_after_the_grace() {
    let mut stubborn = script("trap '' TERM; sleep MARK & while :; do sleep 0.05; done");
    stubborn.spec.wall_ms = 300;
    stubborn.spec.grace_ms = 300;
    let outcome = stubborn.run();
    assert_eq!(outcome.ended, Ended::WallDeadline);
    assert!(outcome.wall_ms >= 600, "the grace was given: {}", outcome.wall_ms);
}

#[test]
fn what_a_program_says_while_it_ends_is_kept() {
    let mut polite = script("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.02; done");
    polite.spec.wall_ms = 300;
    polite.spec.grace_ms = 20_000;
    let outcome = polite.run();
    assert_eq!((outcome.ended, text(&outcome.stdout)), (Ended::WallDeadline, "up\nbye\n"));
    assert!(outcome.wall_ms < 15_000, "nobody waits out the grace for an empty tree");
}

#[test]
fn a_stopped_program_gets_its_term_too() {
    let mut stopped = script("echo up; kill -STOP $$; sleep MARK");
    stopped.spec.wall_ms = 300;
    stopped.spec.grace_ms = 20_000;
    assert!(stopped.run().wall_ms < 15_000);
}

#[test]
fn a_child_in_a_session_of_its_own_is_found_by_the_token() {
    let outcome = script("setsid sleep MARK >/dev/null 2>&1 & sleep 0.2; exit 0").run();
    assert_eq!(outcome.ended, Ended::Exited(0));
    assert_eq!(outcome.outlived.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["sleep"]);
    assert_eq!(outcome.containment, Containment::Token);
}

#[test]
fn a_double_fork_is_found_by_the_token() {
    let mut daemon = script(
        "setsid sh -c 'trap \"\" TERM; (sleep MARK & exec sleep MARK) & exit 0' >/dev/null 2>&1; sleep 0.2; echo up",
    );
    daemon.spec.grace_ms = 200;
    let outcome = daemon.run();
    assert_eq!((outcome.ended, text(&outcome.stdout)), (Ended::Exited(0), "up\n"));
    assert_eq!(outcome.outlived.len(), 2, "{:?}", outcome.outlived);
}

#[test]
fn a_child_that_cleared_its_environment_is_found_below_its_parent() {
    let mut hidden = script("env -i setsid sleep MARK & wait");
    hidden.spec.wall_ms = 500;
    hidden.spec.containment = None;
    let outcome = hidden.run();
    assert_eq!((outcome.ended, outcome.containment), (Ended::WallDeadline, Containment::Children));
}

#[test]
fn a_grandchild_that_holds_our_pipe_open_does_not_hold_us() {
    for text in ["sleep MARK & exit 0", "setsid sleep MARK & sleep 0.2; exit 0"] {
        let mut holder = script(text);
        holder.spec.grace_ms = 10_000;
        let outcome = holder.run();
        assert_eq!(outcome.ended, Ended::Exited(0));
        assert_eq!(outcome.outlived.len(), 1);
        assert!(outcome.wall_ms < 8000, "{}", outcome.wall_ms);
    }
}

#[test]
fn fault_e03_success_with_children_alive_names_and_ends_them() {
    let outcome = script("sleep MARK >/dev/null 2>&1 & sleep MARK >/dev/null 2>&1 & echo ok; exit 0").run();
    assert_eq!((outcome.ended, text(&outcome.stdout)), (Ended::Exited(0), "ok\n"));
    assert_eq!(outcome.outlived.len(), 2);
}

#[test]
fn fault_e05_a_flooding_grandchild_goes_with_the_group() {
    let outcome = script("sh -c 'yes MARK; :' & sh -c 'setsid yes MARK; :' & wait").run();
    assert_eq!(outcome.ended, Ended::OutputTooLarge);
}

#[test]
fn fault_e08_e09_two_hundred_runs_leave_the_process_count_as_it_was() {
    let mut cycle = script("exec 2>&-; sleep MARK >&- & setsid sleep MARK >&- & echo '{}'; exit 0");
    cycle.spec.result = Some(ResultRule { is_complete: |bytes| bytes == b"{}\n", linger_ms: 5000 });
    let mut pids = Vec::new();
    for _ in 0..200 {
        let outcome = cycle.run_with(&mut |tick| {
            pids.push(tick.pid);
            Control::Continue
        });
        assert_eq!((outcome.ended, outcome.result_complete), (Ended::Exited(0), true));
    }
    let parent = format!("PPid:\t{}\n", std::process::id());
    let uncollected = |pid: &i32| {
        fs::read_to_string(format!("/proc/{pid}/status"))
            .is_ok_and(|status| status.contains(&parent) && status.contains("State:\tZ"))
    };
    pids.dedup();
    assert!(pids.len() >= 200);
    // A pid may be a neighbour test's by now; a zombie of ours that stays one is a leak.
    let until = boot_ms() + 20_000;
    while pids.iter().any(uncollected) {
        assert!(boot_ms() < until, "leaders were not collected");
        crate::process::clock::pause(5);
    }
}

#[test]
fn a_tick_that_panics_leaves_nothing_behind() {
    let hang = script("setsid sleep MARK & echo up; sleep MARK");
    let ran = catch_unwind(AssertUnwindSafe(|| {
        run(&hang.spec, &mut |tick| {
            assert!(tick.stdout_seen_bytes == 0, "as a test would fail");
            Control::Continue
        })
    }));
    assert!(ran.is_err());
    let until = boot_ms() + 20_000;
    while !hang.alive().is_empty() {
        assert!(boot_ms() < until, "left behind: {:?}", hang.alive());
        crate::process::clock::pause(5);
    }
}

/// A tree whose driver has died: started beside the code under test, with its token in the environment.
fn orphan(of: &Script) -> Child {
    #[expect(clippy::disallowed_methods, reason = "the tree must not be one that `run` owns")]
    let mut command = Command::new("setsid");
    command.args(of.spec.argv.iter()).env("LOOPX_CONTAINMENT", of.token().as_str());
    command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn fault_e06_the_tree_of_a_dead_driver_is_ended_by_its_token() {
    let tree = script("trap '' TERM; setsid sleep MARK & env -i sleep MARK & sh -c 'sleep MARK; :' & wait");
    let bystander = script("exec sleep MARK");
    let mut child = orphan(&tree);
    let mut other = orphan(&bystander);
    tree.await_alive(5);
    bystander.await_alive(1);
    assert!(alive_by_token(&tree.token()).unwrap().len() >= 5);

    let swept = end_by_token(&tree.token(), None, 100).unwrap();

    assert_eq!(swept.survivors, []);
    assert!(swept.found.len() >= 5, "{:?}", swept.found);
    assert_eq!(tree.alive(), Vec::<String>::new());
    assert_eq!(alive_by_token(&tree.token()).unwrap(), []);
    assert_eq!(bystander.alive().len(), 1, "a stranger's tree is not touched");
    child.wait().unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_token_matches_whole_or_not_at_all() {
    let tree = script("exec sleep MARK");
    let mut child = orphan(&tree);
    tree.await_alive(1);
    let token = tree.token();
    let shorter = Token::parse(&token.as_str()[..token.as_str().len() - 1]).unwrap();
    let longer = Token::parse(&format!("{token}0")).unwrap();
    for near in [shorter, longer] {
        assert_eq!(end_by_token(&near, None, 0).unwrap().found, []);
    }
    assert_eq!(tree.alive().len(), 1);
    assert_eq!(end_by_token(&token, None, 0).unwrap().found.len(), 1);
    child.wait().unwrap();
}

#[test]
fn a_token_is_plain_and_bounded() {
    for bad in ["", "short", "with space", "equals=sign", "null\0null", &"x".repeat(129)] {
        assert!(Token::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_program_that_leaves_nothing_is_proved_by_its_group_alone() {
    let mut alone = script("echo out");
    alone.spec.alone = true;
    let outcome = alone.run();
    assert_eq!((outcome.ended, outcome.containment), (Ended::Exited(0), Containment::Group));
    assert_eq!(text(&outcome.stdout), "out\n");
}

#[test]
fn whoever_is_left_of_a_program_said_to_leave_nothing_is_named_and_ended() {
    let mut liar = script("sleep MARK > /dev/null 2>&1 & echo out");
    liar.spec.alone = true;
    liar.spec.containment = None;
    let outcome = liar.run();
    assert_eq!(outcome.ended, Ended::Exited(0));
    assert_eq!(outcome.outlived.len(), 1, "{:?}", outcome.outlived);
}
