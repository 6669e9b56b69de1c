//! A hosted Turn by the command host: every way its program can end, and what becomes of the Turn.

use std::{fs, time::Duration as Wait};

use super::bench::{Bench, limited, result, run, text};
use crate::{
    authority::{Authority, Envelope, EventFilter, MemoryLedger, clock::Deadline},
    error::Code,
    kernel::{Command, Event, GoalChange, GoalCommand, TurnCommand, TurnEvent},
    model::*,
    private::Kind,
    process, turn,
};

fn failed(failure: HostFailure) -> TurnState {
    TurnState::Failed { how: FailedBy::Host(failure) }
}

#[test]
fn work_proof_one_commit() {
    let mut bench = Bench::new(Some("test -f answer"));
    let todo_id = bench.todo(|_| {});
    let done = bench
        .run(
            &todo_id,
            &format!(
                "cat > request; env > environment; echo 42 > answer; {}",
                result("validated_completion")
            ),
        )
        .unwrap();
    let turn = done.turn();
    assert_eq!(turn.state, TurnState::Settled);
    assert!(bench.todo_row(&todo_id).is_done());
    assert_eq!((turn.attempts.len(), turn.verdict.as_ref().unwrap().outcome), (1, VerdictOutcome::Passed));
    // the host got the contract and nothing of our environment but the list
    let request = turn::wire::Request::parse(&fs::read(bench.tree().join("request")).unwrap()).unwrap();
    assert_eq!((request.turn_key, request.attempt), (turn.turn_key, 1));
    assert_eq!(request.turn_envelope.todo.todo_id, todo_id);
    let env = fs::read_to_string(bench.tree().join("environment")).unwrap();
    assert!(
        env.contains("LOOPX_ACTOR=agent:a@a.cli")
            && env.contains("LOOPX_CONTAINMENT=trn_")
            && !env.contains("SECRET")
    );
    // what it said lies in the private store, and the driver's lock is gone
    let kept = bench.private.latest(Kind::Result, &format!("{}.1", turn.turn_id)).unwrap().unwrap();
    assert_eq!(turn.candidate.as_ref().unwrap().digest, Digest::of(&kept.bytes));
    assert_eq!(fs::read_dir(bench.locks()).unwrap().count(), 0);
}

#[test]
fn what_a_host_measured_stands_in_its_turn_and_in_the_event() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let measured = r#""usage":[{"seq":0,"tokens_in":48210},{"seq":1,"tokens_out":7,"cost_micros":31000,"currency":"EUR"}],"path_delta_mode""#;
    let done = bench
        .run(&todo_id, &result("validated_completion").replace(r#""path_delta_mode""#, measured))
        .unwrap();
    assert_eq!(done.turn().state, TurnState::Settled);
    let of = |seq, tokens_in, tokens_out, cost_micros: Option<u64>| Usage {
        seq,
        tokens_in,
        tokens_out,
        cost_micros,
        currency: cost_micros.map(|_| text("EUR")),
        wall_ms: None,
    };
    let usage = vec![of(0, Some(48_210), None, None), of(1, None, Some(7), Some(31_000))];
    assert_eq!(done.turn().candidate.as_ref().unwrap().usage, usage);
    let filter = EventFilter { goal: &text("g"), after: 0 };
    let events = bench.authority.read(|view| view.events(&filter, usize::MAX)).unwrap();
    let recorded = events.iter().find_map(|record| match Envelope::decode(&record.payload).unwrap().body {
        Event::Turn(TurnEvent::CandidateRecorded { candidate, .. }) => Some(candidate.usage),
        _ => None,
    });
    assert_eq!(recorded, Some(usage));
}

#[test]
fn every_end_of_a_host_has_its_class() {
    for (script, state) in [
        ("exit 0".to_owned(), failed(HostFailure::ResultMissing)),
        ("echo hello".to_owned(), failed(HostFailure::ResultInvalid)),
        ("head -c 70000 /dev/zero".to_owned(), failed(HostFailure::OutputTooLarge)),
        (
            result("validated_completion").replace("it is done", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
            failed(HostFailure::ResultInvalid),
        ),
        (
            result("validated_completion").replace("result_v0", "result_v9"),
            failed(HostFailure::IncompatibleVersion),
        ),
        (result("wait"), TurnState::Stopped { why: Stopped::Wait }),
        (result("user_action_required"), TurnState::Stopped { why: Stopped::UserAction }),
        (result("repair_required"), TurnState::Settled),
        // whoever printed its result keeps it, whatever follows
        (format!("{}; exit 9", result("validated_completion")), TurnState::Settled),
    ] {
        let mut bench = Bench::new(Some("exit 0"));
        let todo_id = bench.todo(|_| {});
        let done = bench.run(&todo_id, &script).unwrap();
        assert_eq!(done.turn().state, state, "{script}");
        assert!(done.left.is_empty());
    }
}

#[test]
fn fault_e01_a_host_that_printed_its_result_and_hangs_keeps_it_and_is_ended() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let done = bench
        .run(&todo_id, &format!("{}; setsid sleep 300 & sleep 300", result("validated_completion")))
        .unwrap();
    assert_eq!(done.turn().state, TurnState::Settled);
    no_process(done.turn().turn_id);
}

#[test]
fn fault_e03_success_with_children_alive_is_proved_by_the_validator_and_ends_them() {
    let mut bench = Bench::new(Some("test -f late"));
    let todo_id = bench.todo(|_| {});
    let script = format!(
        "(setsid sh -c 'sleep 300; touch late' >/dev/null 2>&1 &); {}",
        result("validated_completion")
    );
    let done = bench.run(&todo_id, &script).unwrap();
    assert_eq!(done.turn().state, TurnState::Failed { how: FailedBy::Validate });
    no_process(done.turn().turn_id);
}

#[test]
fn fault_e08_stopped_turns_leave_no_process() {
    let mut bench = Bench::new(Some("exit 0"));
    for _ in 0..10 {
        let todo_id = bench.todo(|_| {});
        let (start, host) =
            (bench.start(&todo_id), bench.host("touch began; (setsid sleep 300 &); sleep 300", |_| {}));
        let began = bench.tree().join("began");
        let done = run(&mut bench.site(), &start, &host, &|| began.exists()).unwrap();
        assert_eq!(done.turn().state, TurnState::Stopped { why: Stopped::Stop });
        no_process(done.turn().turn_id);
        fs::remove_file(&began).unwrap();
    }
}

#[test]
fn fault_e09_settled_turns_leave_no_process() {
    let mut bench = Bench::new(Some("exit 0"));
    for _ in 0..50 {
        let todo_id = bench.todo(|_| {});
        let done = bench
            .run(&todo_id, &format!("(sleep 300 >/dev/null 2>&1 &); {}", result("validated_completion")))
            .unwrap();
        assert_eq!(done.turn().state, TurnState::Settled);
        no_process(done.turn().turn_id);
    }
    assert_eq!(fs::read_dir(bench.locks()).unwrap().count(), 0);
}

/// Nothing carries a mark of the Turn any more.
fn no_process(turn_id: TurnId) {
    for token in [turn::site::attempt_token(turn_id, 1), turn::site::validator_token(turn_id)] {
        assert!(process::alive_by_token(&token.unwrap()).unwrap().is_empty());
    }
}

#[test]
fn a_wrong_result_is_refused_by_the_validator_and_the_next_turn_repairs() {
    let mut bench = Bench::new(Some("test -f answer || { echo no answer; exit 1; }"));
    let todo_id = bench.todo(|_| {});
    let lie = bench.run(&todo_id, &result("validated_completion")).unwrap();
    assert_eq!(lie.turn().state, TurnState::Failed { how: FailedBy::Validate });
    assert_eq!(lie.turn().slot, Slot::Spent);
    let done = bench
        .run(&todo_id, &format!("cat > request; touch answer; {}", result("validated_completion")))
        .unwrap();
    assert_eq!(done.turn().state, TurnState::Settled);
    let request = turn::wire::Request::parse(&fs::read(bench.tree().join("request")).unwrap()).unwrap();
    assert_eq!(request.turn_envelope.effective_action, turn::wire::Action::Repair);
    assert!(request.turn_envelope.recommended_action.as_str().ends_with("sh -c …: exit 1: no answer"));
}

#[test]
fn a_crash_is_tried_again_and_three_are_the_end() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let twice =
        format!("if [ -f once ]; then {}; else touch once; kill -9 $$; fi", result("validated_completion"));
    let done = bench.run(&todo_id, &twice).unwrap();
    assert_eq!((&done.turn().state, done.turn().attempts.len()), (&TurnState::Settled, 2));
    assert_eq!(done.turn().attempts[0].end.as_ref().unwrap().failure, Some(HostFailure::Crashed));
    let other = bench.todo(|_| {});
    let start = bench.start(&other);
    let host = bench.host("exit 7", |hosting| hosting.attempts_max = 2);
    let done = run(&mut bench.site(), &start, &host, &|| false).unwrap();
    assert_eq!((&done.turn().state, done.turn().attempts.len()), (&failed(HostFailure::Crashed), 2));
    assert_eq!(done.turn().slot, Slot::Returned);
}

#[test]
fn a_deadline_ends_the_whole_tree() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let start = bench.start(&todo_id);
    let host = bench.host("setsid sleep 300 & sleep 300", |hosting| hosting.wall_ms = 300);
    let done = run(&mut bench.site(), &start, &host, &|| false).unwrap();
    assert_eq!(done.turn().state, failed(HostFailure::Timeout));
    let token =
        process::Token::parse(done.turn().attempts[0].containment.as_ref().unwrap().as_str()).unwrap();
    assert!(process::alive_by_token(&token).unwrap().is_empty());
}

#[test]
fn a_missing_program_is_no_crash_that_is_tried_again() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let start = bench.start(&todo_id);
    let host = bench.host("", |hosting| hosting.argv = vec!["/nowhere/host".into()]);
    let done = run(&mut bench.site(), &start, &host, &|| false).unwrap();
    assert_eq!((&done.turn().state, done.turn().attempts.len()), (&failed(HostFailure::Crashed), 1));
    assert_eq!(
        bench.todo_row(&todo_id).last_end.unwrap().note.unwrap().as_str(),
        "the host program is missing"
    );
}

/// Somebody else who asks for a stop once a Turn is as told.
fn stop_when(bench: &Bench, is_so: fn(&Turn) -> bool) -> std::thread::JoinHandle<()> {
    let mut other = Authority::new(Box::new(bench.ledger.clone()));
    let ledger = bench.ledger.clone();
    std::thread::spawn(move || {
        let deadline = Deadline::after(Wait::from_secs(20));
        loop {
            if let Some(turn) = ledger.rows().turns.into_values().find(is_so) {
                let operation = Operation {
                    operation_id: text("stop-1"),
                    actor: text("user:ana"),
                    provenance: Provenance { door: Door::Cli, assurance: Assurance::Stated, contained: None },
                    goal_id: text("g"),
                    command: Command::Turn(TurnCommand::Stop {
                        turn_id: turn.turn_id,
                        own_id: None,
                        reason: Some(text("too slow")),
                    }),
                    expected: Expected::default(),
                };
                other.submit(operation).unwrap();
                return;
            }
            assert!(!deadline.left().is_zero());
            process::pause(5);
        }
    })
}

#[test]
fn regress_a_wish_to_stop_between_two_attempts_ends_the_turn() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let asking = stop_when(&bench, |turn| turn.attempts.last().is_some_and(|attempt| attempt.end.is_some()));
    let done = bench.run(&todo_id, "exit 7").unwrap();
    asking.join().unwrap();
    assert_eq!(done.turn().state, TurnState::Stopped { why: Stopped::Stop });
    assert_eq!(done.turn().attempts.len(), 1, "no other host is started after the wish");
    assert_eq!(end_note(&mut bench).as_deref(), Some("too slow"));
}

/// What the end of the one Turn says.
fn end_note(bench: &mut Bench) -> Option<String> {
    let goal = text("g");
    let filter = EventFilter { goal: &goal, after: 0 };
    let events = bench.authority.read(|view| view.events(&filter, usize::MAX)).unwrap();
    events.iter().find_map(|record| match Envelope::decode(&record.payload).unwrap().body {
        Event::Turn(TurnEvent::Ended { note, .. }) => note.map(|note| note.to_string()),
        _ => None,
    })
}

/// A host that has its Turn stopped by somebody else, at the first question after which it is as told.
struct StoppedAt<'b> {
    host: turn::CommandHost,
    ledger: &'b MemoryLedger,
    is_so: fn(&Turn) -> bool,
    asked: std::cell::Cell<bool>,
}

impl std::fmt::Debug for StoppedAt<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoppedAt")
    }
}

impl StoppedAt<'_> {
    fn look(&self) {
        let found = self.ledger.rows().turns.into_values().find(self.is_so);
        let Some(turn) = found.filter(|_| !self.asked.replace(true)) else {
            return self.asked.set(false);
        };
        let stop = Command::Turn(TurnCommand::Stop {
            turn_id: turn.turn_id,
            own_id: None,
            reason: Some(text("too slow")),
        });
        let operation = Operation::embedded(text("stop-1"), text("user:ana"), text("g"), stop);
        Authority::new(Box::new(self.ledger.clone())).submit(operation).unwrap();
    }
}

impl turn::Host for StoppedAt<'_> {
    fn name(&self) -> &'static str {
        self.host.name()
    }

    fn hosting(&self) -> &turn::Hosting {
        self.look();
        self.host.hosting()
    }

    fn spec(&self, job: &turn::Job<'_>) -> process::Spec {
        self.host.spec(job)
    }

    fn is_complete(&self, stdout: &[u8]) -> bool {
        self.host.is_complete(stdout)
    }

    fn judge(&self, outcome: &process::Outcome, turn_key: &Digest) -> turn::Judged {
        self.look();
        self.host.judge(outcome, turn_key)
    }

    fn reread(&self, spooled: &[u8], turn_key: &Digest) -> turn::Judged {
        self.host.reread(spooled, turn_key)
    }
}

#[test]
fn regress_a_wish_to_stop_that_comes_between_a_look_and_a_commit_ends_the_turn() {
    let moments: [fn(&Turn) -> bool; 3] = [
        |turn| turn.state == TurnState::Admitted,
        |turn| turn.state == TurnState::Dispatched && turn.open_attempt().is_some(),
        |turn| turn.state == TurnState::Dispatched && turn.open_attempt().is_none(),
    ];
    for (at, is_so) in moments.into_iter().enumerate() {
        let mut bench = Bench::new(Some("exit 0"));
        let todo_id = bench.todo(|_| {});
        let start = bench.start(&todo_id);
        let work = if at == 2 { "exit 7".to_owned() } else { result("validated_completion") };
        let ledger = bench.ledger.clone();
        let host = StoppedAt { host: bench.host(&work, |_| {}), ledger: &ledger, is_so, asked: false.into() };
        let done = run(&mut bench.site(), &start, &host, &|| false).unwrap();
        assert_eq!(done.turn().state, TurnState::Stopped { why: Stopped::Stop }, "moment {at}");
        assert_eq!(end_note(&mut bench).as_deref(), Some("too slow"), "moment {at}");
        assert!(bench.todo_row(&todo_id).ownership.is_none());
        // given again, it returns what it returned
        let again = run(&mut bench.site(), &start, &host, &|| false).unwrap();
        assert_eq!(again.receipt.operation_id(), done.receipt.operation_id(), "moment {at}");
    }
}

#[test]
fn regress_a_completion_of_a_monitor_costs_the_host_its_result() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|new| new.kind = TodoKind::Monitor);
    let done = bench.run(&todo_id, &result("validated_completion")).unwrap();
    assert_eq!(done.turn().state, failed(HostFailure::ResultInvalid));
    assert!(bench.todo_row(&todo_id).ownership.is_none());
}

#[test]
fn regress_a_contract_that_is_too_large_is_found_before_a_host_is_dispatched() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let long: String = "x".repeat(512);
    let sources = (0..32).map(|_| text(&long)).collect();
    let change = GoalChange { authority_sources: Some(sources), ..GoalChange::default() };
    bench.user(Command::Goal(GoalCommand::Update(Box::new(change)))).unwrap();
    let error = bench.run(&todo_id, "touch ran").unwrap_err();
    assert_eq!(error.code(), Code::RequiredContextTooLarge);
    let turn = bench.ledger.rows().turns.into_values().next().unwrap();
    assert_eq!((turn.state, turn.attempts.len()), (TurnState::Stopped { why: Stopped::Stop }, 0));
    assert_eq!(turn.slot, Slot::Returned);
    assert!(bench.todo_row(&todo_id).ownership.is_none() && !bench.tree().join("ran").exists());
}

#[test]
fn a_wish_to_stop_ends_the_tree_and_then_the_turn() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let asking = stop_when(&bench, |turn| turn.state == TurnState::Dispatched);
    let done = bench.run(&todo_id, "sleep 300").unwrap();
    asking.join().unwrap();
    assert_eq!(done.turn().state, TurnState::Stopped { why: Stopped::Stop });
    let token =
        process::Token::parse(done.turn().attempts[0].containment.as_ref().unwrap().as_str()).unwrap();
    assert!(process::alive_by_token(&token).unwrap().is_empty());
}

#[test]
fn the_callers_own_stop_ends_it_as_well() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let (start, host) = (bench.start(&todo_id), bench.host("sleep 300", |_| {}));
    let deadline = Deadline::after(Wait::from_millis(300));
    let done = run(&mut bench.site(), &start, &host, &|| deadline.left().is_zero()).unwrap();
    assert_eq!(done.turn().state, TurnState::Stopped { why: Stopped::Stop });
    assert_eq!(done.turn().slot, Slot::Returned);
}

#[test]
fn given_again_the_same_verb_returns_its_last_receipt() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let (start, host) = (
        bench.start(&todo_id),
        bench.host(&format!("echo . >> runs; {}", result("validated_completion")), |_| {}),
    );
    let first = run(&mut bench.site(), &start, &host, &|| false).unwrap();
    let events = bench.events();
    let again = run(&mut bench.site(), &start, &host, &|| false).unwrap();
    assert_eq!(again.receipt.operation_id(), first.receipt.operation_id());
    assert!(again.receipt.is_replayed());
    assert_eq!(bench.events(), events);
    assert_eq!(fs::read_to_string(bench.tree().join("runs")).unwrap().lines().count(), 1);
}

#[test]
fn a_requirement_that_moves_meanwhile_gets_one_more_attempt() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let mut other = Authority::new(Box::new(bench.ledger.clone()));
    let (tree, changed) = (bench.tree(), todo_id.clone());
    let changing = std::thread::spawn(move || {
        let deadline = Deadline::after(Wait::from_secs(20));
        while !tree.join("began").exists() {
            assert!(!deadline.left().is_zero());
            process::pause(5);
        }
        let change =
            crate::kernel::Change { title: Some(text("mend it well")), ..crate::kernel::Change::default() };
        let operation = Operation {
            operation_id: text("update-1"),
            actor: text("user:ana"),
            provenance: Provenance { door: Door::Cli, assurance: Assurance::Proven, contained: None },
            goal_id: text("g"),
            command: Command::Todo(crate::kernel::TodoCommand::Update {
                todo_id: changed,
                change: Box::new(change),
            }),
            expected: Expected::default(),
        };
        other.submit(operation).unwrap();
        fs::write(tree.join("go"), "").unwrap();
    });
    let script = format!(
        "touch began; while [ ! -f go ]; do sleep 0.02; done; cat > request; {}",
        result("validated_completion")
    );
    let done = bench.run(&todo_id, &script).unwrap();
    changing.join().unwrap();
    assert_eq!((&done.turn().state, done.turn().attempts.len()), (&TurnState::Settled, 2));
    let request = turn::wire::Request::parse(&fs::read(bench.tree().join("request")).unwrap()).unwrap();
    assert_eq!(request.turn_envelope.todo.title.as_str(), "mend it well");
}

#[test]
fn an_overrun_meanwhile_settles_the_proven_result_and_blocks_the_next_admission() {
    let mut bench = Bench::new(Some("exit 0"));
    let (first, second) = (bench.todo(|_| {}), bench.todo(|_| {}));
    assert_eq!(bench.run(&first, &result("validated_completion")).unwrap().turn().state, TurnState::Settled);
    // While the second works, its Goal is given fewer Turns than it has used.
    let mut other = Authority::new(Box::new(bench.ledger.clone()));
    let tree = bench.tree();
    let lowering = std::thread::spawn(move || {
        let deadline = Deadline::after(Wait::from_secs(20));
        while !tree.join("began").exists() {
            assert!(!deadline.left().is_zero());
            process::pause(5);
        }
        let operation = Operation {
            operation_id: text("limit-1"),
            actor: text("user:ana"),
            provenance: Provenance { door: Door::Cli, assurance: Assurance::Proven, contained: None },
            goal_id: text("g"),
            command: limited(1),
            expected: Expected::default(),
        };
        other.submit(operation).unwrap();
        fs::write(tree.join("go"), "").unwrap();
    });
    let script =
        format!("touch began; while [ ! -f go ]; do sleep 0.02; done; {}", result("validated_progress"));
    let done = bench.run(&second, &script).unwrap();
    lowering.join().unwrap();
    assert_eq!((&done.turn().state, done.turn().slot), (&TurnState::Settled, Slot::Spent));
    let refused = bench.run(&second, &script).unwrap_err();
    assert_eq!(refused.code(), Code::QuotaExhausted, "{refused}");
}

#[test]
fn paths_outside_the_declared_scopes_are_listed_and_a_goal_without_scopes_lets_them_be() {
    let mut bench = Bench::new(Some("exit 0")).with_git();
    let todo_id = bench.todo(|new| new.requires.write_scopes = [text("src")].into());
    let good = format!("mkdir -p src; touch src/a; {}", result("validated_progress"));
    assert_eq!(bench.run(&todo_id, &good).unwrap().turn().state, TurnState::Settled);
    let done = bench.run(&todo_id, &format!("touch stray; {}", result("validated_progress"))).unwrap();
    let outside: Vec<_> = done.turn().candidate.as_ref().unwrap().outside.iter().map(Label::as_str).collect();
    assert_eq!(outside, ["stray"]);
    assert_eq!(done.turn().state, TurnState::Settled);
}

#[test]
fn a_turn_in_a_folder_of_its_tree_is_seen_wherever_it_writes() {
    let mut bench = Bench::new(Some("test -d ../.git")).with_git();
    let sub = bench.tree().join("sub");
    fs::create_dir(&sub).unwrap();
    bench.workspace = turn::identify(&bench.machine.machine_id, &sub).unwrap().0;
    let todo_id = bench.todo(|new| new.requires.write_scopes = [text("src")].into());
    for (work, expected) in
        [("mkdir -p src; touch src/a", &[] as &[&str]), ("touch stray ../beside", &["beside", "sub/stray"])]
    {
        let (start, script) = (bench.start(&todo_id), format!("{work}; {}", result("validated_progress")));
        let host = bench.host(&script, |hosting| hosting.folder.clone_from(&sub));
        let done = run(&mut bench.site(), &start, &host, &|| false).unwrap();
        let outside: Vec<_> =
            done.turn().candidate.as_ref().unwrap().outside.iter().map(Label::as_str).collect();
        assert_eq!((outside.as_slice(), &done.turn().state), (expected, &TurnState::Settled), "{work}");
    }
}

#[test]
fn an_agent_that_is_not_registered_runs_nothing() {
    let mut bench = Bench::new(Some("exit 0"));
    let todo_id = bench.todo(|_| {});
    let start = turn::Start { executor: (text("nobody"), text("nobody.cli")), ..bench.start(&todo_id) };
    let host = bench.host("touch ran", |_| {});
    assert_eq!(run(&mut bench.site(), &start, &host, &|| false).unwrap_err().code(), Code::NotFound);
    assert!(bench.ledger.rows().turns.is_empty() && !bench.tree().join("ran").exists());
}

#[test]
fn regress_a_result_that_names_what_is_not_there_costs_the_host_its_result() {
    let completion = result("validated_completion");
    let wait = result("wait");
    for (said, more) in [
        (&completion, r#","continuation":{"kind":"successor","todo_ids":["g.99"]}"#),
        (&completion, r#","continuation":{"kind":"successor","todo_ids":["other.1"]}"#),
        (&completion, r#","continuation":{"kind":"successor","todo_ids":["g.1"]}"#),
        (&wait, r#","wake":"todo_done:g.77""#),
        (&wait, r#","wake":"todo_done:g.1""#),
        (&wait, r#","wake":"gate:gate_00000000000000000000000000""#),
    ] {
        let mut bench = Bench::new(Some("exit 0"));
        let todo_id = bench.todo(|_| {});
        let script = said.replace("}' \"$LOOPX", &format!("{more}}}' \"$LOOPX"));
        assert_ne!(&script, said);
        let done = bench.run(&todo_id, &script).unwrap();
        assert_eq!(done.turn().state, failed(HostFailure::ResultInvalid), "{more}");
        assert!(!bench.todo_row(&todo_id).is_done());
        assert!(bench.todo_row(&todo_id).ownership.is_none());
    }
}

#[test]
fn regress_a_verb_given_again_to_a_held_turn_writes_a_verdict_of_its_own() {
    let mut bench = Bench::new(Some("echo x >> runs; exit 0")).with_git();
    let todo_id = bench.todo(|_| {});
    // The tree before the host is not the driver's any more after a crash; then every change counts.
    let (start, host) = (
        bench.start(&todo_id),
        bench.host(&format!("echo y >> runs; {}", result("validated_completion")), |_| {}),
    );
    let first = run(&mut bench.site(), &start, &host, &|| false).unwrap();
    assert_eq!(first.turn().state, TurnState::Held { tree_busy: true });
    let lines = |bench: &Bench| fs::read_to_string(bench.tree().join("runs")).unwrap().lines().count();
    for _ in 0..3 {
        let (before, events) = (lines(&bench), bench.events());
        let again = run(&mut bench.site(), &start, &host, &|| false).unwrap();
        assert!(matches!(again.turn().state, TurnState::Held { .. }), "{:?}", again.turn().state);
        let ran = lines(&bench) - before;
        assert!(ran <= 2, "{ran} examinations");
        assert!(ran == 0 || bench.events() > events);
    }
}
