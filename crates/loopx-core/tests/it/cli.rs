//! The command line as a process: pipes, a missing home, the manual's lint, the shells, what is touched.

use std::{
    io::Read as _,
    process::{Command, Output, Stdio},
};

use crate::desk::skipped;

/// Starts a program with an empty environment but `PATH`.
fn command(program: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "a test looks at the binary from outside")]
    let mut command = Command::new(program);
    #[expect(clippy::disallowed_methods, reason = "a test finds the programs it compares with")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).stdin(Stdio::null());
    command
}

#[expect(clippy::unwrap_used, reason = "a binary that does not start fails the test")]
fn loopx(words: &[&str]) -> Output {
    command(env!("CARGO_BIN_EXE_loopx-core")).args(words).output().unwrap()
}

/// Whether a program is there; a test that needs another one says that it is skipped.
fn has(program: &str) -> bool {
    command(program).arg("--version").output().is_ok() || skipped(&format!("no {program}"))
}

#[test]
fn a_broken_pipe_is_a_quiet_exit() {
    for words in
        [&["man"][..], &["completions", "zsh"], &["__reference"], &["--help"], &["nonsense", "--json"]]
    {
        let mut child = command(env!("CARGO_BIN_EXE_loopx-core"))
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0u8; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let ended = child.wait_with_output().unwrap();
        let wanted = if words[0] == "nonsense" { 2 } else { 0 };
        assert_eq!(ended.status.code(), Some(wanted), "{words:?}");
        assert_eq!(String::from_utf8_lossy(&ended.stderr), "", "{words:?}");
    }
}

#[test]
fn a_reader_that_is_gone_at_once_is_a_quiet_exit_too() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = command(env!("CARGO_BIN_EXE_loopx-core")).arg("man").stdout(writer).output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr.len()), (Some(0), 0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_stdout_is_typed() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = command(env!("CARGO_BIN_EXE_loopx-core")).arg("man").stdout(full).output().unwrap();
    assert_eq!(ended.status.code(), Some(7));
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "error: the answer could not be written to stdout\n");
}

#[test]
fn without_any_variable_the_pure_commands_work() {
    for words in [
        &["--help"][..],
        &["--version"],
        &["man", "todo", "add"],
        &["completions", "bash"],
        &["config", "get"],
    ] {
        let ended = loopx(words);
        assert_eq!(ended.status.code(), Some(0), "{words:?}: {}", String::from_utf8_lossy(&ended.stderr));
        assert!(ended.stderr.is_empty() && !ended.stdout.is_empty(), "{words:?}");
    }
    let ended = loopx(&["--version"]);
    assert!(String::from_utf8_lossy(&ended.stdout).starts_with("loopx-core "));
    let ended = loopx(&["stauts"]);
    assert_eq!(ended.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&ended.stderr),
        "error: there is no command `stauts`; did you mean `status`?\nhint: loopx-core status --help\n"
    );
}

#[test]
fn the_manual_has_no_warnings() {
    if !has("groff") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    for words in [
        &["man"][..],
        &["man", "todo"],
        &["man", "todo", "done"],
        &["man", "gate", "resolve"],
        &["man", "init"],
    ] {
        let page = place.path().join("page.1");
        std::fs::write(&page, loopx(words).stdout).unwrap();
        let ended = command("groff").args(["-man", "-Tutf8", "-ww", "-z"]).arg(&page).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ended.stderr), "", "{words:?}");
        assert!(ended.status.success());
    }
}

#[test]
fn each_shell_takes_its_completions() {
    let place = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        if !has(shell) {
            continue;
        }
        let script = place.path().join(shell);
        std::fs::write(&script, loopx(&["completions", shell]).stdout).unwrap();
        let ended = command(shell).arg("-n").arg(&script).output().unwrap();
        assert!(ended.status.success() && ended.stderr.is_empty(), "{shell}: {ended:?}");
    }
}

#[test]
fn bash_completes_verbs_flags_and_words() {
    if !has("bash") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("completions");
    std::fs::write(&script, loopx(&["completions", "bash"]).stdout).unwrap();
    let complete = |line: &str| {
        let words: Vec<_> = line.split(' ').map(|word| format!("'{word}'")).collect();
        let program = format!(
            "source {}\nfunction=$(complete -p loopx-core | sed 's/.*-F \\([^ ]*\\) .*/\\1/')\n\
             COMP_WORDS=({})\nCOMP_CWORD={}\n$function loopx-core \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"\n\
             echo \"${{COMPREPLY[*]}}\"",
            script.display(),
            words.join(" "),
            words.len() - 1
        );
        let ended = command("bash").args(["--norc", "-c", &program]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ended.stderr), "", "{line}");
        String::from_utf8(ended.stdout).unwrap()
    };
    let words = |line: &str| {
        let mut words: Vec<_> = complete(line).split_whitespace().map(str::to_owned).collect();
        words.sort();
        words
    };
    assert_eq!(words("loopx-core to"), ["todo", "token"]);
    assert_eq!(words("loopx-core todo un"), ["unblock", "unhold", "unlink"]);
    assert!(complete("loopx-core todo add --prio").contains("--priority"));
    assert!(complete("loopx-core todo add --priority P").contains("P0 P1 P2 P3 P4"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_whose_parents_may_not_be_searched_is_not_bound() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let binary = env!("CARGO_BIN_EXE_loopx-core");
    let drop = "exec setpriv --reuid=65534 --regid=65534 --clear-groups --";
    let line = format!("cd {} && {drop} {binary} config get profile", place.path().display());
    if !has("setpriv")
        || !command("sh")
            .args(["-c", &format!("{drop} {binary} --version")])
            .output()
            .unwrap()
            .status
            .success()
    {
        skipped("privileges cannot be dropped");
        return;
    }
    let ended = command("sh").args(["-c", &line]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "default\n");
}
