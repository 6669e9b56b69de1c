//! A Turn of another boot of this machine, and one of another pid namespace on it.
//!
//! What says which boot and which namespace it is comes from the system: a mount and a process namespace of their own
//! show a process of the test another one. Nothing of an earlier boot lives, whoever has its numbers now; and what cannot
//! be seen is never said to be gone.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

use super::{
    guardians::{end, guardian, kill, over, state},
    place::{Answer, Place, answer, until, until_let_go},
};
use crate::desk::skipped;

const PID_SPACE: &[&str] = &["--pid", "--fork", "--kill-child", "--mount-proc"];
/// Another boot's name, and a word that puts it in the place of this one's.
const ANOTHER_BOOT: &str = "0b007ed0-0000-4000-8000-000000000001\n";
const BOOTED: &str = "mount --bind ../boot /proc/sys/kernel/random/boot_id && exec timeout 60 \"$@\"";
/// As the first process of a namespace that outlives what it runs.
const LIVED_IN: &str = "\"$@\"; sleep 300";
/// Past the end of an attempt of 30 minutes and its grace, and before the end of an ownership of 45.
const AFTER_DEADLINE: [(&str, &str); 1] = [("LOOPX_FAILPOINT_CLOCK", "boot=1862000,wall=1862000")];
/// Past any ownership.
const LATER: [(&str, &str); 1] = [("LOOPX_FAILPOINT_CLOCK", "boot=7200000,wall=7200000")];

/// A command in namespaces of its own, by a line of shell that runs it.
fn apart(plain: &Command, spaces: &[&str], script: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "a test starts the binary where it sees another system")]
    let mut apart = Command::new("unshare");
    apart.args(spaces).args(["sh", "-c", script, "sh"]).arg(plain.get_program()).args(plain.get_args());
    apart.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    apart.current_dir(plain.get_current_dir().unwrap());
    apart.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    apart
}

/// Whether this system lets a test have such namespaces; said aloud where it does not.
fn is_permitted(spaces: &[&str], script: &str, place: &Place) -> bool {
    #[expect(clippy::disallowed_methods, reason = "a test asks the system")]
    let mut nothing = Command::new("true");
    let tried = apart(nothing.current_dir(place.tree()), spaces, script).status();
    let permitted = tried.is_ok_and(|status| status.success());
    if !permitted {
        skipped(&format!("{spaces:?} is not permitted"));
    }
    permitted
}

/// A place that may be seen from another boot.
fn bootable(work: &str) -> Option<Place> {
    let place = Place::new("test -f answer && ! test -e ../twice").with_git();
    place.host(&format!("exec 9>../alone; flock -n 9 || touch ../twice; {work}"));
    fs::write(place.root().join("boot"), ANOTHER_BOOT).unwrap();
    is_permitted(&["--mount"], BOOTED, &place).then_some(place)
}

/// A call after the machine was started anew.
fn rebooted(place: &Place, actor: &str, words: &[&str]) -> Answer {
    answer(&apart(&place.command(actor, words, &[]), &["--mount"], BOOTED).output().unwrap())
}

/// A process of the present boot that has the number of the former boot's guardian, and holds its lock; it has nothing to
/// do with either.
struct Innocent(Child);

impl Innocent {
    fn with_the_number_and_the_lock(place: &Place) -> Self {
        let locks = fs::read_dir(place.root().join("home/profiles/default/locks")).unwrap().flatten();
        let file =
            locks.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|one| one == "guard"));
        // A guardian that was killed leaves its lock.
        let file = file.unwrap();
        #[expect(clippy::disallowed_methods, reason = "a test starts somebody else's process")]
        let mut command = Command::new("flock");
        let child = command.arg(&file).args(["sleep", "300"]).stdin(Stdio::null()).spawn().unwrap();
        #[expect(clippy::disallowed_methods, reason = "a test looks whether it holds")]
        let is_free = || Command::new("flock").arg("-n").arg(&file).arg("true").status().unwrap().success();
        until("it holds the lock", || !is_free());
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let started: u64 = stat.rsplit(") ").next().unwrap().split(' ').nth(19).unwrap().parse().unwrap();
        let mut noted: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        noted["process"] = serde_json::json!({ "pid": child.id(), "started": started });
        // In place: the lock is on this very file.
        fs::write(&file, noted.to_string()).unwrap();
        Self(child)
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Innocent {
    fn drop(&mut self) {
        let below =
            fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.0.id())).unwrap_or_default();
        below.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).for_each(kill);
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// All of a Turn dies at once, as when the power goes.
fn power_cut(place: &Place, run: Child) {
    let guardian = guardian(place).unwrap();
    end(run);
    kill(guardian);
    until("nothing is left", || state(guardian).is_none() && place.survivors().is_empty());
}

#[test]
fn what_was_at_work_when_the_machine_went_down_is_gone_and_is_started_again_where_nothing_changed() {
    let Some(place) = bootable(&until_let_go("touch answer")) else { return };
    let run = place.start("user:ana", &place.run("op"), &[]);
    until("the host began", || place.root().join("began").exists());
    power_cut(&place, run);
    let mut innocent = Innocent::with_the_number_and_the_lock(&place);
    let turn_id = place.turn_id();
    // On the boot of the attempt, whoever holds that lock is its guardian.
    let same = place.call("user:ana", &["turn", "recover", &turn_id, "--prove"]);
    assert_eq!((same.exit, same.code()), (Some(4), "executor_active"), "{}", same.json);
    rebooted(&place, "user:ana", &["turn", "recover", &turn_id, "--prove"]).ok();
    assert_eq!(place.events("turn.executor_gone").len(), 1);
    fs::write(place.root().join("go"), "").unwrap();
    rebooted(&place, "user:ana", &["turn", "recover", &turn_id, "--resume"]).ok();
    assert_eq!(place.runs(), 2);
    assert!(innocent.lives(), "a process of this boot was ended for its number");
    drop(innocent);
    over(&place, "another boot");
}

#[test]
fn what_changed_before_the_machine_went_down_is_a_persons_to_give_up_and_nobody_is_ended_for_its_number() {
    let Some(place) = bootable(&format!("touch half; {}", until_let_go("touch answer"))) else { return };
    let run = place.start("user:ana", &place.run("op"), &[]);
    until("the host began", || place.root().join("began").exists());
    power_cut(&place, run);
    let mut innocent = Innocent::with_the_number_and_the_lock(&place);
    let turn_id = place.turn_id();
    let lost = rebooted(&place, "user:ana", &["turn", "recover", &turn_id, "--resume"]);
    assert_eq!((lost.exit, lost.code(), place.runs()), (Some(5), "turn_unresolved", 1), "{}", lost.json);
    rebooted(&place, "proven:ana", &["turn", "abandon", &turn_id, "--reason", "the power went"]).ok();
    assert!(innocent.lives(), "a process of this boot was ended for its number");
    fs::write(place.root().join("go"), "").unwrap();
    rebooted(&place, "user:ana", &place.run("second")).ok();
    assert!(innocent.lives());
    drop(innocent);
    over(&place, "another boot, changed");
}

#[test]
fn a_result_that_was_kept_before_the_machine_went_down_settles_after_it() {
    let Some(place) = bootable("touch answer") else { return };
    let script = fs::read_to_string(place.tree().join("host.sh")).unwrap();
    place.script("host.sh", &format!("{script}\ntouch ../said; while :; do sleep 0.02; done\n"));
    let run = place.start("user:ana", &place.run("op"), &[("LOOPX_FAILPOINT", "guard.ended=stop")]);
    until("it reported", || place.root().join("said").exists());
    let spool = place.root().join("home/profiles/default/spool");
    until("the result is kept", || {
        let folders = fs::read_dir(&spool).into_iter().flatten().flatten();
        let kept = |file: PathBuf| fs::read_to_string(file).is_ok_and(|text| text.ends_with('}'));
        folders.map(|entry| entry.path().join("stdout")).any(kept)
    });
    power_cut(&place, run);
    let mut innocent = Innocent::with_the_number_and_the_lock(&place);
    let turn_id = place.turn_id();
    rebooted(&place, "user:ana", &["turn", "recover", &turn_id, "--resume"]).ok();
    assert_eq!(place.runs(), 1, "the result that was there is taken");
    assert!(innocent.lives(), "a process of this boot was ended for its number");
    drop(innocent);
    over(&place, "another boot, a result");
}

/// Which side of a namespace's border the Turn is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Inside,
    Outside,
}

/// A Turn that works on one side, and calls from the other.
struct Border {
    place: Place,
    turns: Side,
    run: Child,
}

impl Border {
    fn with_a_turn(turns: Side) -> Option<Self> {
        let place = Place::new("test -f answer && ! test -e ../twice").with_git();
        place.host(&format!(
            "exec 9>../alone; flock -n 9 || touch ../twice; {}",
            until_let_go("touch answer")
        ));
        if !is_permitted(PID_SPACE, "\"$@\"", &place) {
            return None;
        }
        let plain = place.command("user:ana", &place.run("op"), &[]);
        let run = match turns {
            Side::Inside => apart(&plain, PID_SPACE, LIVED_IN).spawn().unwrap(),
            Side::Outside => place.start("user:ana", &place.run("op"), &[]),
        };
        let border = Self { place, turns, run };
        until("the host began", || border.place.root().join("began").exists());
        Some(border)
    }

    /// A call from the other side.
    fn across(&self, actor: &str, words: &[&str], env: &[(&str, &str)]) -> Answer {
        let mut plain = self.place.command(actor, words, env);
        match self.turns {
            Side::Inside => answer(&plain.output().unwrap()),
            Side::Outside => answer(&apart(&plain, PID_SPACE, "\"$@\"; exit $?").output().unwrap()),
        }
    }

    /// Kills the driver alone. Its number is another one inside, so it is found by what it was told.
    fn kill_driver(&mut self) {
        if self.turns == Side::Outside {
            self.run.kill().unwrap();
            self.run.wait().unwrap();
            return;
        }
        let home = format!("LOOPX_HOME={}", self.place.root().join("home").display());
        let holds = |pid: &str, file: &str, word: &str| {
            let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&text).split('\0').any(|one| one == word)
        };
        let is_driver = |pid: &str| {
            let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
            program.ends_with("loopx-core") && holds(pid, "environ", &home) && holds(pid, "cmdline", "run")
        };
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|pid| is_driver(pid));
        let drivers: Vec<Pid> = pids.filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect();
        assert_eq!(drivers.len(), 1);
        kill_process(drivers[0], Signal::KILL).unwrap();
        until("the driver is gone", || state(drivers[0]).is_none());
    }

    /// All that is on the Turn's side dies.
    fn kill_all(&mut self) {
        if self.turns == Side::Inside {
            self.run.kill().unwrap();
            self.run.wait().unwrap();
        } else {
            kill(guardian(&self.place).unwrap());
        }
        until("nothing is left", || self.place.survivors().is_empty());
    }
}

fn refused_as_active(refused: &Answer, what: &str) {
    assert_eq!((refused.exit, refused.code()), (Some(4), "executor_active"), "{what}: {}", refused.json);
}

fn nobody_acts_across_the_border(turns: Side) {
    let Some(mut border) = Border::with_a_turn(turns) else { return };
    let (turn_id, head) = (border.place.turn_id(), border.place.head());
    let recoveries = [["turn", "recover", &turn_id, "--prove"], ["turn", "recover", &turn_id, "--resume"]];
    let host = border.place.survivors();
    assert!(!host.is_empty());
    for (actor, words) in [
        ("user:ana", &recoveries[0][..]),
        ("user:ana", &recoveries[1]),
        ("proven:ana", &["turn", "abandon", &turn_id, "--reason", "late"]),
        ("agent:b", &["todo", "claim", "g.1"]),
    ] {
        refused_as_active(&border.across(actor, words, &LATER), &format!("{turns:?} {words:?}"));
    }
    // Without its driver the host goes on under its guardian, whose number means somebody else on this side.
    border.kill_driver();
    refused_as_active(&border.across("user:ana", &recoveries[0], &[]), "a proof beside a guardian");
    refused_as_active(
        &border.across("agent:b", &["todo", "claim", "g.1"], &LATER),
        "a claim beside a guardian",
    );
    assert_eq!(border.place.head(), head, "{turns:?}: somebody wrote");
    let lives = border.place.survivors().into_iter().any(|pid| host.contains(&pid));
    assert!(lives, "{turns:?}: somebody ended the host");
    // All of it is gone, and from here nobody can tell.
    border.kill_all();
    for words in &recoveries {
        let refused = border.across("user:ana", words, &[]);
        let details = refused.json.pointer("/error/details/until_ms").and_then(serde_json::Value::as_u64);
        assert!(["executor_active", "not_ready"].contains(&refused.code()), "{turns:?} {}", refused.json);
        let shown = border.place.call("user:ana", &["turn", "show", &turn_id]).ok();
        let deadline = shown.json.pointer("/turn/attempts/0/deadline_at_ms").unwrap().as_u64();
        assert_eq!(details, deadline.map(|at| at + 60_000), "{turns:?} {}", refused.json);
    }
    assert_eq!(border.place.runs(), 1);
    fs::write(border.place.root().join("go"), "").unwrap();
    if turns == Side::Outside {
        // On its own side it is plain at once.
        border.place.call("user:ana", &recoveries[1]).ok();
        assert_eq!(border.place.runs(), 2);
    } else {
        // Its side is no more, so its time has to pass.
        let early =
            border.across("proven:ana", &["turn", "abandon", &turn_id, "--reason", "it is no more"], &[]);
        refused_as_active(&early, "too early");
        let give_up = ["turn", "abandon", &turn_id, "--reason", "it is no more"];
        border.across("proven:ana", &give_up, &AFTER_DEADLINE).ok();
        border.across("user:ana", &border.place.run("second"), &AFTER_DEADLINE).ok();
    }
    over(&border.place, "across a border");
}

#[test]
fn a_turn_in_a_container_is_not_acted_over_from_outside_and_ends_honestly_with_it() {
    nobody_acts_across_the_border(Side::Inside);
}

#[test]
fn a_turn_outside_is_not_acted_over_from_a_container_and_recovered_where_it_was() {
    nobody_acts_across_the_border(Side::Outside);
}
