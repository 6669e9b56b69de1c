//! A Goal whose Todos and Turns stand everywhere they can, read before and after every process of LoopX died.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    guardians::end,
    place::{Answer, Place, REPORT, until},
};

const LATER: [(&str, &str); 1] = [("LOOPX_FAILPOINT_CLOCK", "boot=7200000,wall=7200000")];
/// The same machine, started anew.
const REBOOTED: [(&str, &str); 1] =
    [("LOOPX_FAILPOINT_CLOCK", "boot_id=0b007ed0-0000-4000-8000-000000000001")];

const TURN_STATES: [&str; 9] =
    ["admitted", "dispatched", "candidate", "held", "unresolved", "settled", "stopped", "failed", "fenced"];
const TODO_STATES: [&str; 5] = ["open", "deferred", "blocked", "done", "cancelled"];

/// The words that list all of a kind, wherever it stands.
fn listing(what: &'static str) -> Vec<&'static str> {
    let states: &[&str] = if what == "turn" { &TURN_STATES } else { &TODO_STATES };
    let mut words = vec![what, "list", "--all"];
    words.extend(states.iter().flat_map(|state| ["--state", *state]));
    words
}

/// A Goal that is being brought to everywhere at once; each Todo has an agent of its own.
struct Everywhere {
    place: Place,
}

impl Everywhere {
    fn write(&self, actor: &str, words: &[&str]) -> Answer {
        self.place.call(actor, words).ok()
    }

    /// A Todo and its agent.
    fn todo(&self, title: &str, more: &[&str]) -> (String, String) {
        let words = [&["todo", "add", title, "--detail", "all of it"], more].concat();
        let added = self.write("proven:ana", &words);
        let todo = added.text("/todo/todo_id").to_owned();
        assert!(!todo.is_empty(), "{}", added.json);
        let agent = format!("w{}", todo.trim_start_matches("g."));
        self.write("user:ana", &["agent", "add", &agent]);
        (todo, agent)
    }

    fn hosted(&self, todo: &(String, String), script: &str, env: &[(&str, &str)]) -> Answer {
        let host = format!("sh {script}");
        let words =
            ["turn", "run", "--todo", &todo.0, "--agent", &todo.1, "--host", &host, "--attempts", "1"];
        self.place.call_with("user:ana", &words, env)
    }

    /// A hosted Turn whose driver is killed at a point.
    fn cut(&self, title: &str, point: &str) -> (String, String) {
        let todo = self.todo(title, &[]);
        self.hosted(&todo, "done.sh", &[("LOOPX_FAILPOINT", &format!("{point}=kill"))]);
        todo
    }

    /// An attached Turn that something holds.
    fn held(&self, title: &str, holds: &dyn Fn(&str)) {
        let (todo, agent) = self.todo(title, &[]);
        let actor = format!("agent:{agent}");
        let own = self.write(&actor, &["todo", "claim", &todo]).text("/own_id").to_owned();
        holds(&todo);
        let held = self.place.call(&actor, &["todo", "done", &todo, "--own", &own]);
        assert_eq!(held.code(), "held", "{}", held.json);
    }

    fn todos(&self) {
        let all = |words: &[&str]| drop(self.write("proven:ana", words));
        self.todo("open", &[]);
        self.todo("deferred", &["--wake", "after:9h"]);
        self.todo("blocked", &["--blocked", "no key"]);
        self.todo("on hold", &["--hold"]);
        self.todo("a monitor", &["--kind", "monitor", "--every", "15m"]);
        let (todo, _) = self.todo("canceled", &[]);
        all(&["todo", "cancel", &todo, "--reason", "no"]);
        let (todo, _) = self.todo("waived", &[]);
        all(&["todo", "done", &todo, "--waive", "seen"]);
        let (todo, _) = self.todo("reopened", &[]);
        all(&["todo", "done", &todo, "--waive", "seen"]);
        all(&["todo", "reopen", &todo]);
        let (todo, agent) = self.todo("claimed", &[]);
        self.write(&format!("agent:{agent}"), &["todo", "claim", &todo]);
    }

    fn turns(&self) {
        let report = |kind: &str| REPORT.replace("validated_completion", kind);
        for (script, prints) in [
            ("done.sh", REPORT.to_owned()),
            ("part.sh", report("validated_progress")),
            ("repair.sh", report("repair_required")),
            ("asks.sh", report("user_action_required")),
            ("waits.sh", report("wait")),
            ("mute.sh", "exit 0".to_owned()),
        ] {
            self.place.script(script, &format!("cat > /dev/null\n{prints}\n"));
        }
        self.place.script("no.sh", "exit 1");
        self.place.script("lost.sh", "exit 127");
        self.place.script("works.sh", "cat > /dev/null; touch ../began; while :; do sleep 0.05; done");
        // First, since the ledger's time only goes on.
        let fenced = self.cut("fenced", "turn.candidate");
        self.write("user:ana", &["agent", "add", "late"]);
        let own = self.place.call_with("agent:late", &["todo", "claim", &fenced.0], &LATER).ok();
        let own = own.text("/own_id").to_owned();
        self.place.call_with("agent:late", &["todo", "release", &fenced.0, "--own", &own], &LATER).ok();
        self.cut("admitted", "turn.admitted");
        self.cut("dispatched", "turn.dispatched");
        self.cut("candidate", "turn.candidate");
        for script in ["done.sh", "part.sh", "repair.sh", "asks.sh", "waits.sh", "mute.sh"] {
            self.hosted(&self.todo(script, &[]), script, &[]);
        }
        self.hosted(&self.todo("refused", &["--validator", "sh no.sh"]), "done.sh", &[]);
        self.hosted(&self.todo("unresolved", &["--validator", "sh lost.sh"]), "done.sh", &[]);
        self.held("held by a gate", &|todo| {
            self.write("user:ana", &["gate", "open", "Which?", "--option", "one", "--blocks", todo]);
        });
        self.held("held by a hold", &|todo| drop(self.write("user:ana", &["todo", "hold", todo])));
    }

    fn rows(&self, what: &'static str, env: &[(&str, &str)]) -> Vec<Value> {
        let listed = self.place.call_with("user:ana", &listing(what), env).ok();
        listed.json["items"].as_array().cloned().unwrap()
    }

    /// All that can be read of it.
    fn read(&self, env: &[(&str, &str)]) -> BTreeMap<String, Value> {
        let mut said = BTreeMap::new();
        let mut say = |words: &[&str]| {
            let mut answer = self.place.call_with("user:ana", words, env).ok();
            // That a driver is gone is seen, and recorded nowhere.
            for item in answer.json["items"].as_array_mut().into_iter().flatten() {
                item.as_object_mut().map(|item| item.remove("left"));
            }
            said.insert(words.join(" "), answer.json);
        };
        for words in
            [&["goal", "show", "g"][..], &["agent", "list"], &["gate", "list"], &["evidence", "list"]]
        {
            say(words);
        }
        say(&["log", "--limit", "1000"]);
        for (what, id) in [("todo", "todo_id"), ("turn", "turn_id")] {
            say(&listing(what));
            for row in self.rows(what, env) {
                let id = row[id].as_str().unwrap();
                say(&[what, "show", id]);
                if what == "turn" {
                    say(&[what, "show", id, "--output"]);
                }
            }
        }
        said
    }

    /// Where each of them stands.
    fn states(&self, what: &'static str) -> BTreeMap<String, String> {
        let text = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
        let id = format!("{what}_id");
        self.rows(what, &[]).iter().map(|row| (text(row, &id), text(row, "state"))).collect()
    }
}

fn same(before: &BTreeMap<String, Value>, after: &BTreeMap<String, Value>, what: &str) {
    let differs = |(words, said): &(&String, &Value)| after.get(*words) != Some(*said);
    let differing: Vec<_> = before.iter().filter(differs).map(|(words, _)| words).collect();
    let first = differing.first().map(|words| (&before[*words], after.get(*words)));
    assert!(differing.is_empty() && before.len() == after.len(), "{what}: {differing:?}: {first:#?}");
}

#[test]
fn fault_i05_after_every_process_died_everything_is_as_it_was() {
    // given Todos and Turns everywhere they can be, one of them at work
    let all = Everywhere { place: Place::new("exit 0").with_git() };
    all.turns();
    all.todos();
    let at_work = all.todo("at work", &[]);
    let words = ["turn", "run", "--todo", &at_work.0, "--agent", &at_work.1, "--host", "sh works.sh"];
    let driver = all.place.start("user:ana", &words, &[]);
    until("the host began", || all.place.root().join("began").exists());
    let (turns, todos) = (all.states("turn"), all.states("todo"));
    let stand = |states: &BTreeMap<String, String>| states.values().cloned().collect::<BTreeSet<_>>();
    let every = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(stand(&turns), every(&TURN_STATES));
    assert_eq!(stand(&todos), every(&TODO_STATES));
    let before = all.read(&[]);
    // when its driver is killed, nothing that is recorded differs
    end(driver);
    same(&before, &all.read(&[]), "a killed driver");
    // nor when it is read on another boot of the machine
    same(&before, &all.read(&REBOOTED), "another boot");
    // when what can be proved is proved, each stands where it stood
    all.place.call("user:ana", &["turn", "recover", "--prove"]).ok();
    assert_eq!((all.states("turn"), all.states("todo")), (turns, todos));
    // and once more, nothing at all is written
    let (proved, head) = (all.read(&[]), all.place.head());
    all.place.call("user:ana", &["turn", "recover", "--prove"]).ok();
    assert_eq!(all.place.head(), head);
    same(&proved, &all.read(&[]), "a second proof");
    let turn = all.rows("turn", &[]).into_iter().find(|turn| turn["todo_id"] == *at_work.0).unwrap();
    all.place.call("user:ana", &["turn", "stop", turn["turn_id"].as_str().unwrap()]).ok();
}
