//! Reading: beside a busy writer, from a folder that cannot be written, and without a trace.

use std::{collections::BTreeSet, io::Read as _, process::Stdio};

use crate::desk::{Desk, files, has, skipped};

const READS: &[&[&str]] = &[
    &["status"],
    &["status", "--agent", "coder"],
    &["next", "--agent", "coder"],
    &["next", "--agent", "coder", "--explain"],
    &["why"],
    &["why", "ship-it.1"],
    &["why", "--agent", "coder"],
    &["quota", "should-run", "--agent", "coder"],
    &["heartbeat-prompt", "--agent", "coder"],
    &["goal", "list"],
    &["goal", "show"],
    &["goal", "export"],
    &["todo", "list", "--all"],
    &["todo", "show", "ship-it.1"],
    &["agent", "list"],
    &["agent", "show", "coder"],
    &["gate", "list"],
    &["evidence", "list"],
    &["log"],
    &["find", "one"],
    &["doctor"],
    &["audit", "verify"],
    &["audit", "verify", "--chain-only"],
    &["audit", "export"],
    &["doctor", "--repair", "--dry-run"],
    &["check"],
    &["metrics"],
    &["quota", "show"],
    &["quota", "show", "--csv", "agent"],
    &["metrics", "--goal", "ship-it", "--window", "1h"],
    &["token", "list"],
    &["reward", "list"],
    &["proposal", "list"],
    &["attention", "list"],
    &["attention", "list", "--goal", "ship-it"],
    &["peer", "list"],
    &["handoff", "show", "ship-it.1"],
];

/// The verbs that the reference calls reading ones.
fn reading_verbs() -> BTreeSet<String> {
    let reference = include_str!("../../../../docs/reference/cli.md");
    let mut verbs = BTreeSet::new();
    let mut verb = "";
    for line in reference.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            verb = heading.trim_start_matches('#').trim();
        } else if line == "It reads and changes nothing." {
            verbs.insert(verb.to_owned());
        }
    }
    verbs
}

#[test]
fn a_read_changes_no_byte() {
    let desk = Desk::with_work();
    let claimed = desk.ok(&["todo", "claim", "ship-it.1", "--as", "agent:coder"]);
    let turn = claimed["turn_id"].as_str().unwrap();
    let opened = desk.ok(&["gate", "open", "Which?", "--blocks", "ship-it.2"]);
    let gate = opened["gate"]["gate_id"].as_str().unwrap();
    let added = desk.ok(&["evidence", "add", "https://example.org/1", "--kind", "url"]);
    let evidence = added["evidence"]["evidence_id"].as_str().unwrap();
    std::fs::write(desk.folder().join("chain.jsonl"), desk.call(&["audit", "export"]).out).unwrap();
    let own = claimed["own_id"].as_str().unwrap();
    let digest = "2".repeat(64);
    let intent =
        ["effect", "intend", "ship-it.1", "publish", "--key", "one", "--digest", &digest, "--own", own];
    let intended = desk.ok(&[&intent[..], &["--as", "agent:coder"]].concat());
    let effect = intended["effect"]["effect_id"].as_str().unwrap();
    let propose =
        ["proposal", "add", "--reason", "x", "--as", "agent:coder", "--", "todo", "hold", "ship-it.2"];
    let proposed = desk.ok(&propose);
    let proposal = proposed["proposal"]["proposal_id"].as_str().unwrap();
    desk.ok(&["agent", "add", "peer"]);
    desk.ok(&["todo", "update", "ship-it.3", "--coordinates", "ship-it.1"]);
    let peer = desk.ok(&["todo", "claim", "ship-it.3", "--as", "agent:peer"]);
    let peers = peer["own_id"].as_str().unwrap();
    let give = ["peer", "return", "ship-it.3", "it holds", "--evidence", evidence, "--own", peers];
    let given = desk.ok(&[&give[..], &["--as", "agent:peer"]].concat());
    let given = given["return"]["return_id"].as_str().unwrap();
    let prompt = ["heartbeat-prompt", "--agent", "coder", "--own", own];
    let basis = desk.ok(&prompt)["contract"]["basis"].as_str().unwrap().to_owned();
    let known = [&prompt[..], &["--basis", &basis]].concat();
    let more: [&[&str]; 15] = [
        &["proposal", "show", proposal],
        &["peer", "show", given],
        &prompt,
        &known,
        &["effect", "list"],
        &["effect", "show", effect],
        &["verify", "chain.jsonl"],
        &["turn", "list"],
        &["turn", "plan", "--agent", "coder"],
        &["turn", "show", turn],
        &["turn", "diff", turn],
        &["gate", "show", gate],
        &["evidence", "show", evidence],
        &["config", "get"],
        &["config", "explain", "list.page"],
    ];
    let reads: Vec<&[&str]> = READS.iter().copied().chain(more).collect();
    let verbs = reading_verbs();
    assert!(verbs.len() > 15, "{verbs:?}");
    for verb in verbs {
        assert!(reads.iter().any(|words| words.join(" ").starts_with(&verb)), "`{verb}` is not tried");
    }
    let shown = |desk: &Desk| {
        let mut all = files(&desk.path("home"));
        all.extend(files(&desk.path("run")));
        all.retain(|path, _| !path.to_string_lossy().ends_with("-shm"));
        all
    };
    let before = shown(&desk);
    assert!(
        before.keys().any(|path| path.ends_with("authority.db-wal")),
        "the log of the last writer is there"
    );
    for words in reads {
        // A decision that is no work has an exit code of its own.
        assert!(matches!(desk.json(words).exit, 0 | 10), "{words:?}");
        let after = shown(&desk);
        assert!(after.keys().eq(before.keys()), "{words:?} {:?}", after.keys());
        let changed: Vec<_> =
            after.iter().filter(|(path, bytes)| before[*path] != **bytes).map(|(path, _)| path).collect();
        assert!(changed.is_empty(), "{words:?} changes {changed:?}");
    }
}

#[test]
fn a_read_works_beside_a_busy_writer() {
    let desk = Desk::with_work();
    let line = format!(
        "i=0; while [ $i -lt 40 ]; do {} todo add more$i >/dev/null 2>&1 || exit 9; i=$((i+1)); done",
        env!("CARGO_BIN_EXE_loopx-core")
    );
    let mut writer = desk.command("sh").args(["-c", &line]).spawn().unwrap();
    let mut rounds = 0;
    while writer.try_wait().unwrap().is_none() {
        for words in [&["status"][..], &["todo", "list"], &["log"]] {
            let ended = desk.json(words);
            assert_eq!(ended.exit, 0, "{words:?}: {ended:?}");
        }
        rounds += 1;
    }
    assert!(writer.wait().unwrap().success() && rounds > 0);
    assert_eq!(desk.ok(&["todo", "list", "--all"])["items"].as_array().unwrap().len(), 43);
}

#[test]
fn a_read_works_from_a_read_only_mount_or_says_that_it_cannot() {
    let desk = Desk::with_work();
    if !has(&desk, "unshare") {
        return;
    }
    let home = desk.path("home");
    let run = |inner: &str| {
        let line = format!("mount --bind {0} {0} && mount -o remount,bind,ro {0} && {inner}", home.display());
        desk.command("unshare").args(["--mount", "sh", "-c", &line]).output().unwrap()
    };
    if !run("true").status.success() {
        skipped("mounting is not permitted here");
        return;
    }
    for words in ["status", "todo list", "log", "doctor"] {
        let ended = run(&format!("{} {words} --json", env!("CARGO_BIN_EXE_loopx-core")));
        let text = String::from_utf8_lossy(&ended.stdout).into_owned();
        let good = ended.status.success() || text.contains("store_unreadable");
        assert!(good, "{words}: {text}");
    }
    let write = run(&format!("{} todo add x --json", env!("CARGO_BIN_EXE_loopx-core")));
    assert_eq!(write.status.code(), Some(7), "{}", String::from_utf8_lossy(&write.stdout));
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_leaves_no_process() {
    let desk = Desk::with_work();
    for words in READS {
        let mut child = desk
            .command(env!("CARGO_BIN_EXE_loopx-core"))
            .args(*words)
            .env("LOOPX_TEST_MARK", desk.path("mark"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The pipe ends when the last process that holds it has ended.
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(child.wait().unwrap().success(), "{words:?}");
        let mark = format!("LOOPX_TEST_MARK={}", desk.path("mark").display());
        let left = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let environ = std::fs::read(entry.ok()?.path().join("environ")).ok()?;
            environ.split(|byte| *byte == 0).any(|one| one == mark.as_bytes()).then_some(())
        });
        assert_eq!(left.count(), 0, "{words:?}");
    }
}
