//! Host, validator and guardian, each killed, or stopped until its Turn is long late, at every stage of its own work.
//!
//! One table: who drives, which process it happens to, at which stage, by which signal, and what becomes of the driver.
//! After each case there is one settlement and one spend, nothing of the Turn lives, and no host and no validator ever
//! ran beside another of its kind: each has a lock for itself while it lives, stopped or not. A Turn whose driver lives is
//! never recovered over.

use std::{
    fs,
    process::Child,
    sync::{Mutex, PoisonError},
};

use rustix::process::{Pid, Signal, kill_process};

use super::{
    guardians::{end, is_stopped, over, points, state, stopped_guardians},
    place::{Place, REPORT, answer, until},
};

/// Two hours later than it is: past any ownership.
const LATER: [(&str, &str); 1] = [("LOOPX_FAILPOINT_CLOCK", "boot=7200000,wall=7200000")];
/// How many cases are gone through at once.
const AT_ONCE: usize = 4;

/// Who starts the host, or the validators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Run,
    Loop,
    /// A recovery of what a kill left.
    Recovery,
    /// An attached owner; it has no host.
    Owner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Host,
    Validator,
}

impl Role {
    /// The stages of its script.
    const fn stages(self) -> &'static [&'static str] {
        match self {
            Self::Host => &["began", "heard", "worked", "said"],
            Self::Validator => &["began", "looked", "decided"],
        }
    }
}

/// What happens to it, and then to its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Killed,
    /// Stopped until it is late, and woken under its living driver.
    Woken,
    /// Stopped, and its driver killed; another agent takes over when it is late.
    TakenOver,
    /// Stopped, and its driver killed; the Turn is recovered in time.
    Recovered,
}

#[derive(Debug, Clone, Copy)]
struct Case {
    by: By,
    role: Role,
    stage: &'static str,
    fate: Fate,
}

/// A word of a script: its process is signalled there, the first time that it comes by.
fn halting(case: Case, role: Role) -> String {
    let signal = if case.fate == Fate::Killed { "KILL" } else { "STOP" };
    let stage = if case.role == role { case.stage } else { "-" };
    format!(
        "halt() {{ [ $1 = {stage} ] && mkdir ../halted 2> /dev/null || return 0; \
         echo $$ > ../halted/new; mv ../halted/new ../halted/pid; kill -{signal} $$; }}\n"
    )
}

impl Case {
    fn place(self) -> Place {
        let check = halting(self, Role::Validator)
            + "exec 8> ../checking; flock -n 8 || touch ../twice\nhalt began\ntest -f answer; found=$?\n\
               halt looked\n[ $found = 0 ] && [ ! -e ../twice ]; found=$?\nhalt decided\nexit $found\n";
        let place = Place::new(&check);
        let host = halting(self, Role::Host)
            + "exec 9> ../alone; flock -n 9 || touch ../twice\nhalt began\ncat > /dev/null\necho . >> ../runs\n\
               halt heard\ntouch answer\nhalt worked\n"
            + REPORT
            + "\nhalt said\n";
        place.script("host.sh", &host);
        place
    }

    fn start(self, place: &Place) -> Child {
        match self.by {
            By::Run => place.start("user:ana", &place.run("op"), &[]),
            By::Loop => {
                let words = ["loop", "run", "--agent", "a", "--host", "sh host.sh", "--turns", "1"];
                place.start("user:ana", &words, &[])
            }
            By::Recovery => {
                let point =
                    if self.role == Role::Host { "turn.dispatched=kill" } else { "turn.candidate=kill" };
                place.call_with("user:ana", &place.run("first"), &[("LOOPX_FAILPOINT", point)]);
                let turn_id = place.turn_id();
                place.start("user:ana", &["turn", "recover", &turn_id, "--resume"], &[])
            }
            By::Owner => {
                let own = place.own("agent:a");
                fs::write(place.tree().join("answer"), "").unwrap();
                place.start("agent:a", &["todo", "done", "g.1", "--own", &own], &[])
            }
        }
    }

    /// Whether it is ended by its guardian a moment after it stopped: it has said all that it had to say.
    fn is_done(self) -> bool {
        self.stage == "said"
    }

    fn go(self) {
        let what = format!("{self:?}");
        let place = self.place();
        let run = self.start(&place);
        if self.fate == Fate::Killed {
            let ended = answer(&run.wait_with_output().unwrap());
            assert!(place.root().join("halted/pid").exists(), "{what}: never came by: {}", ended.json);
            recovered(&place, &what);
            self.over(&place, &what);
            return;
        }
        let halted = place.root().join("halted/pid");
        until(&format!("{what} comes by"), || halted.exists());
        let pid = fs::read_to_string(&halted).unwrap().trim().parse().ok().and_then(Pid::from_raw).unwrap();
        until(&format!("{what} stops"), || is_stopped(pid) || self.is_done());
        match self.fate {
            Fate::Killed => {}
            Fate::Woken => {
                late(&place);
                if !self.is_done() {
                    never_recovered_over(&place, self.by, &what);
                    assert!(is_stopped(pid), "{what}: somebody woke or ended it");
                }
                wake(pid);
                answer(&run.wait_with_output().unwrap());
                self.over(&place, &what);
            }
            Fate::TakenOver => {
                end(run);
                taken_over(&place, pid, &what);
            }
            Fate::Recovered => {
                end(run);
                let turn_id = place.turn_id();
                let recovery = place.start("user:ana", &["turn", "recover", &turn_id, "--resume"], &[]);
                if self.role == Role::Host {
                    // Its guardian lives, so it is waited for; a validator is ended and asked again.
                    wake(pid);
                }
                let ended = answer(&recovery.wait_with_output().unwrap()).ok();
                assert_eq!(state(pid), None, "{what}: {}", ended.json);
                self.over(&place, &what);
            }
        }
    }

    fn over(self, place: &Place, what: &str) {
        over(place, what);
        let turns = place.turns();
        assert_eq!(turns.len(), 1, "{what}: {turns:?}");
        assert_eq!(place.events("turn.candidate_recorded").len(), 1, "{what}: no result is lost");
        // What was killed before it said a word is started again, and nothing else is.
        let again = self.fate == Fate::Killed && ["heard", "worked"].contains(&self.stage);
        let runs = usize::from(self.by != By::Owner) + usize::from(again);
        assert_eq!(place.runs(), runs, "{what}: how often the host ran");
    }
}

fn wake(pid: Pid) {
    // It may have been ended already.
    let _ = kill_process(pid, Signal::CONT);
}

/// Moves the ledger's own time past the end of every ownership.
fn late(place: &Place) {
    place.call_with("user:ana", &["todo", "add", "something else"], &LATER).ok();
}

/// Whoever lives, stopped or late, is let be, and nothing is written.
fn never_recovered_over(place: &Place, by: By, what: &str) {
    let (turn_id, head) = (place.turn_id(), place.head());
    let shown = place.call("user:ana", &["turn", "show", &turn_id]).ok();
    let is_dispatched = shown.json.pointer("/turn/attempts/0").is_some();
    for (actor, words) in [
        ("user:ana", &["turn", "recover", &turn_id, "--prove"][..]),
        ("user:ana", &["turn", "recover", &turn_id, "--resume"]),
        ("proven:ana", &["turn", "abandon", &turn_id, "--reason", "late"]),
        ("agent:b", &["todo", "claim", "g.1"]),
    ] {
        // What an attached owner leaves past its time is anybody's; it is fenced when it comes back. And a person may
        // give up what was never dispatched.
        let is_lapsing = by == By::Owner && (actor == "agent:b" || words[3] == "--prove");
        if is_lapsing || words[1] == "abandon" && !is_dispatched {
            continue;
        }
        let refused = place.call_with(actor, words, &LATER);
        assert_eq!(
            (refused.exit, refused.code()),
            (Some(4), "executor_active"),
            "{what} {words:?}: {}",
            refused.json
        );
        assert_eq!(place.head(), head, "{what} {words:?}");
    }
}

/// Brings a Turn on whose validator was killed: its result is asked about again.
fn recovered(place: &Place, what: &str) {
    let turns = place.turns();
    if turns[0]["state"] != "settled" {
        assert_eq!(turns[0]["state"], "unresolved", "{what}");
        place.call("user:ana", &["turn", "recover", &place.turn_id(), "--resume"]).ok();
    }
}

/// Another agent takes over what is late: first all of it is ended.
fn taken_over(place: &Place, pid: Pid, what: &str) {
    late(place);
    let claimed = place.call_with("agent:b", &["todo", "claim", "g.1"], &LATER);
    assert_eq!(claimed.exit, Some(0), "{what}: {}", claimed.json);
    assert_eq!(state(pid), None, "{what}: it lives beside its successor");
    assert!(place.survivors().is_empty(), "{what}");
    let turns = place.turns();
    fs::write(place.tree().join("answer"), "").unwrap();
    let own = claimed.text("/own_id").to_owned();
    let done = place.call_with("agent:b", &["todo", "done", "g.1", "--own", &own], &LATER);
    assert_eq!(done.exit, Some(0), "{what}: {} {turns:?}", done.json);
    let states: Vec<_> =
        place.turns().iter().map(|turn| turn["state"].as_str().unwrap().to_owned()).collect();
    assert_eq!(states.iter().filter(|state| *state == "settled").count(), 1, "{what}: {states:?}");
    assert!(
        states.iter().all(|state| ["settled", "fenced", "stopped"].contains(&state.as_str())),
        "{what}: {states:?}"
    );
    assert!(place.runs() <= 1 && !place.root().join("twice").exists(), "{what}");
    assert!(place.survivors().is_empty(), "{what}");
}

/// Goes through cases, several at once; all that fail are named.
fn each<C: Copy + Send + Sync + std::fmt::Debug>(
    cases: &[C],
    go: impl Fn(C) + Sync + std::panic::RefUnwindSafe,
) {
    let (next, failed) = (Mutex::new(cases.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let case = next.lock().unwrap_or_else(PoisonError::into_inner).next().copied();
                    let Some(case) = case else { break };
                    let went = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| go(case)));
                    if went.is_err() {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{case:?}"));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

fn cases(role: Role, drivers: &[By], fates: &[Fate]) -> Vec<Case> {
    let mut all = Vec::new();
    for &by in drivers {
        for &stage in role.stages() {
            all.extend(fates.iter().map(|&fate| Case { by, role, stage, fate }));
        }
    }
    all
}

const STOPPED: [Fate; 3] = [Fate::Woken, Fate::TakenOver, Fate::Recovered];

#[test]
fn v04_a_host_killed_at_each_of_its_stages_under_each_driver_leaves_one_settlement() {
    each(&cases(Role::Host, &[By::Run, By::Loop, By::Recovery], &[Fate::Killed]), Case::go);
}

#[test]
fn v04_a_host_stopped_past_its_time_at_each_of_its_stages_is_never_doubled_and_leaves_one_settlement() {
    each(&cases(Role::Host, &[By::Run, By::Loop, By::Recovery], &STOPPED), Case::go);
}

#[test]
fn v04_a_validator_killed_at_each_of_its_stages_under_each_driver_leaves_one_settlement() {
    each(&cases(Role::Validator, &[By::Run, By::Loop, By::Recovery, By::Owner], &[Fate::Killed]), Case::go);
}

#[test]
fn v04_a_validator_stopped_past_its_time_at_each_of_its_stages_is_never_doubled_and_leaves_one_settlement() {
    each(&cases(Role::Validator, &[By::Run, By::Loop, By::Recovery, By::Owner], &STOPPED), Case::go);
}

#[test]
fn v04_a_guardian_stopped_past_its_time_at_each_point_is_waited_for_while_its_driver_lives() {
    let all: Vec<&str> = points().collect();
    each(&all, |point| {
        let place = super::guardians::ready("touch answer");
        let spec = format!("{point}=stop");
        let run = place.start("user:ana", &place.run("op"), &[("LOOPX_FAILPOINT", &spec)]);
        until(point, || !stopped_guardians(&place).is_empty());
        // One that said that it is ready is dispatched meanwhile, and that would begin the ownership's time anew.
        until(point, || point == "guard.locked" || place.turns()[0]["state"] == "dispatched");
        late(&place);
        never_recovered_over(&place, By::Run, point);
        stopped_guardians(&place).into_iter().for_each(wake);
        let ended = answer(&run.wait_with_output().unwrap());
        assert_eq!((ended.exit, place.runs()), (Some(0), 1), "{point}: {}", ended.json);
        over(&place, point);
    });
}
