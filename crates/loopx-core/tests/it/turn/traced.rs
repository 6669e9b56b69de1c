//! What a Turn writes through to the disk, as the system sees it.
#![cfg(target_os = "linux")]

use std::{
    fs,
    process::{Command, Stdio},
};

use super::{guardians::ready, place::answer};

#[test]
fn a_result_lasts_with_its_name_and_a_turn_syncs_at_most_twelve_times() {
    let place = ready("touch answer");
    let plain = place.command("user:ana", &place.run("op"), &[]);
    let log = place.root().join("trace");
    #[expect(clippy::disallowed_methods, reason = "a test looks at the binary from outside")]
    let mut traced = Command::new("strace");
    traced.args(["-f", "-y", "-e", "trace=fsync,fdatasync,sync_file_range,syncfs,sync", "-o"]).arg(&log);
    traced.arg(plain.get_program()).args(plain.get_args());
    traced.env_clear().current_dir(place.tree()).stdin(Stdio::null());
    traced.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    answer(&traced.output().unwrap()).ok();
    let text = fs::read_to_string(log).unwrap();
    // An unfinished call is told a second time when it ends.
    let calls: Vec<&str> =
        text.lines().filter(|line| line.contains("sync(") || line.contains("sync_")).collect();
    let at = |what: String| calls.iter().position(|call| call.contains(&what));
    let folder = format!("/spool/{}.1", place.turn_id());
    let (content, name) = (at(format!("{folder}/stdout>")), at(format!("{folder}>")));
    assert!(content.is_some() && name > content, "{calls:#?}");
    assert!(calls.len() <= 12, "{calls:#?}");
}
