//! The way of `docs/getting-started.md`, gone command by command in an empty home.
//!
//! What a block shows below a command is what that command prints; every other command succeeds. Names that the reader
//! takes from an earlier answer are taken from there.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test whose place cannot be made fails"
)]

use std::{fmt::Write as _, fs, os::unix::fs::symlink, path::Path};

use crate::desk::{Desk, has};

/// A command, and what is shown below it.
#[derive(Debug, Default)]
struct Step {
    command: String,
    shown: Vec<String>,
}

/// The commands of the page, but for those that build the program.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut inside, mut here_document) = (false, false);
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
            continue;
        }
        if !inside {
            continue;
        }
        if here_document {
            let last = steps.last_mut().unwrap();
            write!(last.command, "\n{line}").unwrap();
            here_document = line != "END";
        } else if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { command: command.to_owned(), shown: Vec::new() });
            here_document = command.contains("<<'END'");
        } else {
            steps.last_mut().unwrap().shown.push(line.to_owned());
        }
    }
    steps.retain(|step| !step.command.starts_with("cargo "));
    steps
}

/// One script of all steps: each leaves what it printed and how it ended.
fn script(steps: &[Step]) -> String {
    let mut script = "set -u\n".to_owned();
    for (at, step) in steps.iter().enumerate() {
        let taken = [("OWN_ID", "own_"), ("GATE_ID", "gate_"), ("TURN_ID", "(turn recover |trn_)")];
        let mut command = step.command.replace("OP_ID", "docs-1");
        for (name, prefix) in taken {
            if command.contains(name) {
                let newest =
                    format!("cat $(ls -t \"$OUT\"/*.out) | grep -oE '{prefix}[0-9a-z]{{8,}}' | head -1");
                writeln!(script, "{name}=$({newest})").unwrap();
                writeln!(script, "{name}=${{{name}##* }}").unwrap();
                command = command.replace(name, &format!("\"${name}\""));
            }
        }
        writeln!(script, "{{\n{command}\n}} > \"$OUT/{at:03}.out\" 2>&1\necho $? > \"$OUT/{at:03}.exit\"")
            .unwrap();
    }
    script
}

fn page(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

#[test]
fn every_command_of_the_page_does_what_the_page_says() {
    let desk = Desk::empty().var("LOOPX_ACTOR", "");
    if !has(&desk, "git") {
        return;
    }
    let (bin, out) = (desk.path("bin"), desk.path("out"));
    fs::create_dir_all(&bin).unwrap();
    fs::create_dir_all(&out).unwrap();
    symlink(env!("CARGO_BIN_EXE_loopx-core"), bin.join("loopx")).unwrap();
    let steps = steps(&page("docs/getting-started.md"));
    assert!(steps.len() > 20, "{steps:?}");
    fs::write(desk.path("script"), script(&steps)).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test finds the programs it needs")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = format!("{}:{}", bin.display(), path.to_str().unwrap());
    let done =
        desk.command("bash").arg(desk.path("script")).env("PATH", path).env("OUT", &out).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for (at, step) in steps.iter().enumerate() {
        let said = |name: &str| fs::read_to_string(out.join(format!("{at:03}.{name}"))).unwrap();
        let (printed, exit) = (said("out"), said("exit"));
        let refused = step.shown.iter().any(|line| line.starts_with("error: "));
        assert_eq!(exit.trim() != "0", refused, "`{}` exits {exit}{printed}", step.command);
        for line in &step.shown {
            assert!(printed.lines().any(|one| one == line), "`{}` shows {line}, not {printed}", step.command);
        }
        // What a command says comes next is a command as well.
        assert!(!printed.contains("internal"), "`{}`: {printed}", step.command);
    }
    // It ends where the page says.
    let parser = desk.folder().join("parser");
    let shown = desk
        .command(env!("CARGO_BIN_EXE_loopx-core"))
        .args(["goal", "show", "--json"])
        .current_dir(parser)
        .output()
        .unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["goal"]["state"], "closed", "{shown}");
    // Nothing of the user's was touched but what the page says.
    let home: Vec<_> =
        fs::read_dir(desk.path("home")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(home, [".local"]);
}
