//! Owns the tests of starting, the environment and input.

use std::{fs, path::PathBuf};

use super::{Control, script, text};
use crate::process::{Ended, NotStarted, Outcome, Spec, run};

fn start(argv: &[&str], cwd: PathBuf) -> Outcome {
    let mut spec = Spec::new(argv.iter().map(Into::into).collect(), cwd);
    spec.env.insert("PATH".into(), "/usr/bin:/bin".into());
    spec.wall_ms = 60_000;
    run(&spec, &mut |_| Control::Continue)
}

fn refusal(argv: &[&str], cwd: PathBuf) -> NotStarted {
    match start(argv, cwd).ended {
        Ended::NotStarted(kind) => kind,
        other => panic!("{argv:?} ran: {other:?}"),
    }
}

#[test]
fn a_missing_program_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["no-such-program-at-all", "./nothing", "/nothing/at/all", ""] {
        assert_eq!(refusal(&[name], folder.path().into()), NotStarted::Missing, "{name}");
    }
    assert_eq!(refusal(&[], folder.path().into()), NotStarted::Missing);
}

#[test]
fn what_cannot_be_executed_says_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plain"), "echo hi").unwrap();
    // Written by another process: no test beside this one can hold it open for writing.
    let mut writer = script("echo echo hi > headless; chmod 755 headless");
    writer.spec.cwd = folder.path().into();
    assert_eq!(writer.run().ended, Ended::Exited(0));
    for name in ["./plain", "./headless", "/"] {
        assert_eq!(refusal(&[name], folder.path().into()), NotStarted::NotExecutable, "{name}");
    }
}

#[test]
fn a_missing_folder_is_not_a_missing_program() {
    assert_eq!(refusal(&["sh"], "/no/such/folder".into()), NotStarted::FolderUnavailable);
    assert_eq!(refusal(&["sh"], "/etc/passwd".into()), NotStarted::FolderUnavailable);
}

#[test]
fn a_name_with_a_nul_is_refused_without_a_panic() {
    assert!(matches!(refusal(&["sh", "a\0b"], "/".into()), NotStarted::Other(_)));
}

#[test]
fn the_environment_is_exactly_what_was_given() {
    let mut plain = script("");
    plain.spec.argv = vec!["env".into()];
    plain.spec.env.insert("LOOPX_CONTAINMENT".into(), "forged".into());
    let outcome = plain.run();
    let mut lines: Vec<&str> = text(&outcome.stdout).lines().collect();
    lines.sort_unstable();
    let token = format!("LOOPX_CONTAINMENT={}", plain.token());
    assert_eq!(lines, [token.as_str(), "PATH=/usr/bin:/bin"]);
}

#[test]
fn input_arrives_whole_and_ends() {
    let mut cat = script("cat");
    cat.spec.stdin = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
    cat.spec.stdout.max_bytes = 2_000_000;
    let outcome = cat.run();
    assert_eq!(outcome.ended, Ended::Exited(0));
    assert!(outcome.stdout == cat.spec.stdin, "the bytes differ");
}

#[test]
fn input_larger_than_a_pipe_that_nobody_reads_blocks_nobody() {
    for text in ["exit 3", "exec <&-; exit 3", "head -c 1 >/dev/null; exit 3"] {
        let mut deaf = script(text);
        deaf.spec.stdin = vec![b'x'; 4 * 1024 * 1024];
        assert_eq!(deaf.run().ended, Ended::Exited(3), "{text}");
    }
}

#[test]
fn no_input_is_an_immediate_end_of_file() {
    assert_eq!(text(&script("cat; echo done").run().stdout), "done\n");
}

#[test]
fn output_that_is_no_utf8_comes_back_as_it_was() {
    assert_eq!(script(r"printf '\377\376\000\200'").run().stdout, [0xff, 0xfe, 0, 0x80]);
}
