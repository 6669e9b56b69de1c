//! What a Turn and an undo write through to the disk, as the system sees it.
#![cfg(target_os = "linux")]

use std::{
    fs,
    process::{Command, Stdio},
};

use super::{
    guardians::ready,
    place::{Place, answer},
    snapshots,
};

/// The calls of these kinds that a command made, each as it began.
fn traced(place: &Place, words: &[&str], kinds: &str) -> Vec<String> {
    let plain = place.command("user:ana", words, &[]);
    let log = place.root().join("trace");
    #[expect(clippy::disallowed_methods, reason = "a test looks at the binary from outside")]
    let mut traced = Command::new("strace");
    traced.args(["-f", "-y", "-s", "4096", "-e", &format!("trace={kinds}"), "-o"]).arg(&log);
    traced.arg(plain.get_program()).args(plain.get_args());
    traced.env_clear().current_dir(place.tree()).stdin(Stdio::null());
    traced.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    answer(&traced.output().unwrap()).ok();
    let text = fs::read_to_string(log).unwrap();
    // An unfinished call is told a second time when it ends.
    text.lines().filter(|line| !line.contains(" resumed>")).map(str::to_owned).collect()
}

const SYNCS: &str = "fsync,fdatasync,sync_file_range,syncfs,sync";

#[test]
fn a_result_lasts_with_its_name_and_a_turn_syncs_at_most_twelve_times() {
    let place = ready("touch answer");
    let calls = traced(&place, &place.run("op"), SYNCS);
    let calls: Vec<&String> =
        calls.iter().filter(|line| line.contains("sync(") || line.contains("sync_")).collect();
    let at = |what: String| calls.iter().position(|call| call.contains(&what));
    let folder = format!("/spool/{}.1", place.turn_id());
    let (content, name) = (at(format!("{folder}/stdout>")), at(format!("{folder}>")));
    assert!(content.is_some() && name > content, "{calls:#?}");
    assert!(calls.len() <= 12, "{calls:#?}");
}

#[test]
fn what_an_undo_puts_back_lasts_before_its_trace_says_so() {
    let files: [(&str, &[u8]); 3] = [("a", b"1\n"), ("dir/b", b"1\n"), ("gone/deep/c", b"1\n")];
    let place = snapshots::place(&files, "echo 2 > a; echo 2 > dir/b; rm -r gone; mkdir new; echo 2 > new/d");
    let turn = snapshots::run(&place);
    let kinds = format!("{SYNCS},rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir");
    for (words, folders) in [
        (vec!["turn", "undo", &turn], vec!["", "/dir", "/gone", "/gone/deep"]),
        (vec!["turn", "undo", &turn, "--redo"], vec!["", "/dir", "/new"]),
    ] {
        let calls = traced(&place, &words, &kinds);
        let root = place.tree().canonicalize().unwrap().display().to_string();
        let trace = calls
            .iter()
            .rposition(|call| call.contains("sync(") && call.contains(&format!("{turn}.json.new-")));
        let last = trace.expect("the trace is written through to the disk");
        for folder in folders {
            let at = format!("<{root}{folder}>");
            let synced: Vec<usize> =
                (0..calls.len()).filter(|i| calls[*i].contains(&format!("{at})"))).collect();
            let changed = calls.iter().rposition(|call| call.contains(&at) && !call.contains("sync("));
            assert_eq!(synced.len(), 1, "{words:?} {folder}: once; {calls:#?}");
            assert!(
                changed < synced.first().copied(),
                "{words:?} {folder}: after it was changed; {calls:#?}"
            );
            assert!(synced[0] < last, "{words:?} {folder}: before the trace; {calls:#?}");
        }
    }
}
