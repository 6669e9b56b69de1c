//! Owns the cases of the suite that go through the authority, each on a ledger of its own.

use std::{sync::mpsc, thread, time::Duration};

use super::{
    super::{
        Asked, Authority, EventFilter, GateFilter, Head, MemoryLedger, TodoFilter, TurnFilter, View, chain,
        clock::monotonic,
    },
    Room, Twin, ask_everything,
    stage::{Stage, text},
    whole,
};
use crate::{
    error::{Code, Error, Result},
    kernel::{Command, Depth, Facts, GateCommand, GoalCommand, NewTodo, Read, Terms, TodoCommand},
    model::{
        AgentId, Assurance, Blocks, CloseKind, Door, GateKind, GoalId, Limit, Priority, Provenance,
        Timestamp, TodoId, TodoKind,
    },
};

pub(super) fn founding(room: &dyn Room) {
    let mut early = Authority::new(room.open());
    assert_eq!(early.read(|view| view.meta()).unwrap(), None);
    let mut stage_less = Authority::new(room.open());
    assert!(stage_less.found().unwrap());
    assert!(!early.found().unwrap(), "founded twice");
    let meta = early.read(|view| view.meta()).unwrap().unwrap();
    assert_eq!(Authority::new(room.open()).read(|view| view.meta()).unwrap().unwrap(), meta);
}

pub(super) fn an_unfounded_ledger_takes_no_write(room: &dyn Room) {
    let mut stage = Stage::set(Box::new(MemoryLedger::new()));
    let operation = stage.operation("user:ana", Command::Goal(GoalCommand::Stop));
    let refused = Authority::new(room.open()).submit(operation).unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
}

pub(super) fn a_receipt_is_kept_for_ever(room: &dyn Room) {
    let mut stage = Stage::set(room.open());
    let add = Command::Todo(TodoCommand::Add(Box::new(NewTodo::titled(text("x"), TodoKind::Advance))));
    let operation = stage.operation("user:ana", add);
    let first = stage.authority.submit(operation.clone()).unwrap();
    stage.play();
    let mut other = Authority::new(room.open());
    let again = other.submit(operation.clone()).unwrap();
    assert!(again.is_replayed() && !first.is_replayed());
    let facts = |receipt: &crate::model::Receipt| {
        (receipt.digest(), receipt.at(), receipt.accepted_revision(), receipt.outcome.clone())
    };
    assert_eq!(facts(&again), facts(&first));
    // Another wish, or another person, under the same id.
    let mut changed = operation.clone();
    changed.command = Command::Goal(GoalCommand::Stop);
    assert_eq!(other.submit(changed).unwrap_err().code(), Code::OperationConflict);
    let mut foreign = operation;
    foreign.actor = text("user:eve");
    assert_eq!(other.submit(foreign).unwrap_err().code(), Code::OperationConflict);
    assert_eq!(other.read(|view| view.receipt(&text("never"))).unwrap(), None);
}

pub(super) fn a_chain_holds_and_ends_at_its_head(room: &dyn Room) {
    let mut stage = Stage::set(room.open());
    stage.play();
    stage.start("h", "another");
    for goal in ["g", "h"].map(text::<GoalId>) {
        let filter = EventFilter { goal: &goal, after: 0 };
        let (records, head) = stage
            .authority
            .read(|view| Ok((view.events(&filter, usize::MAX)?, view.head(&goal)?.unwrap())))
            .unwrap();
        assert!(records.iter().map(|record| record.seq).eq(1..=head.seq), "{goal}: numbers");
        assert_eq!(chain::verify(Head::START, &records).unwrap(), head);
        for record in &records {
            assert_eq!(chain::Envelope::decode(&record.payload).unwrap().seq, record.seq);
        }
    }
    assert_eq!(stage.authority.read(|view| view.head(&text("nowhere"))).unwrap(), None);
}

pub(super) fn the_own_chain_ends_at_its_head_and_where_it_was_cut(room: &dyn Room) {
    let mut stage = Stage::set(room.open());
    let mut own = |n: Option<u32>| {
        if let Some(n) = n {
            let provenance =
                Provenance { door: Door::Library, assurance: Assurance::Proven, contained: None };
            let (operation_id, actor) = (text(&format!("own-{n}")), text("user:ana"));
            let limit = Limit::of_turns(n, crate::model::Duration::from_mins(60));
            stage.authority.set_limit(&Asked { operation_id, actor, provenance }, Some(limit)).unwrap();
        }
        let (head, records) =
            stage.authority.read(|view| Ok((view.own_head()?, view.own_events(0, usize::MAX)?))).unwrap();
        assert_eq!(chain::verify(Head::START, &records).unwrap(), head.unwrap_or(Head::START));
        head
    };
    let cut = |head| room.open().write(&mut |tx| tx.cut_own(head, None)).unwrap();
    assert_eq!(own(None), None);
    let first = own(Some(1)).unwrap();
    assert_eq!(own(Some(2)).map(|head| head.seq), Some(2));
    own(Some(3));
    cut(first);
    assert_eq!(own(None), Some(first));
    assert_eq!(own(Some(4)).map(|head| head.seq), Some(2), "it goes on from there");
    cut(Head::START);
    assert_eq!(own(None), None);
    assert_eq!(own(Some(5)).map(|head| head.seq), Some(1));
}

pub(super) fn every_answer_is_that_of_the_ledger_in_memory(room: &dyn Room) {
    let mut stage = Stage::set(Box::new(Twin::new(MemoryLedger::new(), room.open())));
    stage.play();
    stage.start("h", "Ship more");
    stage.play();
    for minutes in [0, 46, 60 * 24] {
        stage.clock.pass(minutes * 60_000);
        let operations = stage.operations.clone();
        stage.authority.read(|view| ask_everything(view, &operations)).unwrap();
    }
}

pub(super) fn lists_are_filtered_and_paged(room: &dyn Room) {
    let mut stage = Stage::set(room.open());
    stage.play();
    let goal = stage.goal.clone();
    let numbers = |view: &mut dyn View, live, bucket: Option<&str>, after, limit| {
        let todos = view.todos(&TodoFilter { goal: &goal, live, bucket }, after, limit).unwrap();
        todos.iter().map(|todo| todo.todo_id.number()).collect::<Vec<_>>()
    };
    stage
        .authority
        .read(|view| {
            assert_eq!(numbers(view, false, None, 0, usize::MAX), (1..=14).collect::<Vec<_>>());
            assert_eq!(numbers(view, false, None, 2, 3), [3, 4, 5]);
            assert_eq!(numbers(view, true, None, 0, 3), [3, 4, 5]);
            assert_eq!(numbers(view, false, Some("done"), 0, 9), [1]);
            assert_eq!(numbers(view, false, Some("cancelled"), 0, 9), [2]);
            assert_eq!(numbers(view, true, Some("done"), 0, 9), [] as [u32; 0]);
            let counts = view.counts(&goal)?;
            assert_eq!(counts.values().sum::<u64>(), 14);
            for (bucket, n) in &counts {
                let listed = numbers(view, false, Some(bucket), 0, usize::MAX).len();
                assert_eq!(u64::try_from(listed).unwrap(), *n, "{bucket}");
            }
            assert_eq!(view.gates(&GateFilter { goal: &goal, blocking: false }, None, 9)?.len(), 3);
            assert_eq!(view.gates(&GateFilter { goal: &goal, blocking: true }, None, 9)?.len(), 2);
            assert_eq!(view.evidence(&goal, None, None, 9)?.len(), 3);
            let turns =
                view.turns(&TurnFilter { goal: &goal, todo: None, agent: None, live: false }, None, 9)?;
            assert_eq!(turns.len(), 2);
            assert!(turns[0].turn_id > turns[1].turn_id, "newest first");
            for bad in ["", "x", "gate_0"] {
                let filter = GateFilter { goal: &goal, blocking: false };
                assert_eq!(view.gates(&filter, Some(bad), 1).unwrap_err().code(), Code::InvalidId);
            }
            Ok(())
        })
        .unwrap();
}

pub(super) fn a_text_is_found_whatever_its_case(room: &dyn Room) {
    let mut stage = Stage::set(room.open());
    stage.play();
    let goal = stage.goal.clone();
    stage
        .authority
        .read(|view| {
            let ids = |found: Vec<(String, String)>| found.into_iter().map(|(id, _)| id).collect::<Vec<_>>();
            assert_eq!(ids(view.find("THE DOCS", None, 9)?), ["g.1"]);
            assert_eq!(ids(view.find("\u{e4}NDERN", None, 9)?), ["g.2"]);
            assert_eq!(ids(view.find("SHIP", Some(&goal), 9)?), ["g"]);
            assert_eq!(ids(view.find("g.1", None, 2)?), ["g.1", "g.10"]);
            assert_eq!(ids(view.find("%", None, 9)?), [] as [String; 0]);
            assert_eq!(view.find("the", None, 9)?[1].1, "in the way");
            let asked = view.find("MAY WE", Some(&goal), 9)?;
            assert_eq!(asked.iter().map(|(_, title)| title.as_str()).collect::<Vec<_>>(), ["may we?"; 3]);
            let (first, tail) = (asked[0].clone(), asked[0].0[20..].to_owned());
            assert_eq!(view.find(&tail.to_uppercase(), None, 9)?, [first]);
            let gate = view.gates(&GateFilter { goal: &goal, blocking: false }, None, 1)?.remove(0).gate_id;
            let id = gate.to_string();
            assert_eq!(view.tails("gate_", &id[15..20], 9)?, std::slice::from_ref(&id));
            assert_eq!(view.tails("trn_", &id[15..], 9)?, [] as [String; 0]);
            Ok(())
        })
        .unwrap();
}

/// What a ledger answers to one question at the moment of its last commit.
fn answered(view: &mut dyn View, read: Read) -> Result<Facts> {
    let meta = view.meta()?.unwrap();
    let mut facts = Facts::new(Terms {
        authority_id: meta.authority_id,
        incarnation: meta.incarnation,
        now: Timestamp::from_ms(meta.stamp.now_ms),
        clock_jump: false,
        strict: false,
        schema: 2,
    });
    view.load(&[read].into(), &mut facts)?;
    Ok(facts)
}

pub(super) fn a_page_of_ready_todos_is_the_best_the_agent_may_take(room: &dyn Room) {
    let mut stage = Stage::set(room.open());
    let goal = stage.goal.clone();
    let items = (0..600_u32).map(|n| {
        let mut new = NewTodo::titled(text(&format!("todo {n}")), TodoKind::Advance);
        match n % 3 {
            0 => new.excluded_agents = [text("b")].into(),
            1 => new.requires.capabilities = [text("gpu")].into(),
            _ => new.priority = if n > 590 { Priority::P0 } else { Priority::P2 },
        }
        crate::kernel::BatchItem::Add { new: Box::new(new), after_items: [].into() }
    });
    stage.user(Command::Batch(items.collect()));
    stage.todo("the last", TodoKind::Advance, |new| new.priority = Priority::P4);
    let mut page = |agent: &str| -> Vec<u32> {
        let agent: AgentId = text(agent);
        let asked = Read::Ready(goal.clone(), agent, Depth::Whole);
        let facts = stage.authority.read(|view| answered(view, asked.clone())).unwrap();
        facts.rows().todos.keys().map(TodoId::number).collect()
    };
    // An agent that may take a third of them sees all of that third, to the last.
    let for_b = page("b");
    assert_eq!(for_b.len(), 201);
    assert!(for_b.iter().all(|n| n % 3 == 0 || *n == 601));
    // One that may take all sees the first 256 in order, the urgent ones among them.
    let for_a = page("a");
    assert_eq!(for_a.len(), Facts::PAGE);
    assert!(for_a.contains(&594) && for_a.contains(&600) && !for_a.contains(&601) && for_a.contains(&1));
}

pub(super) fn a_gate_on_the_last_of_many_todos_keeps_the_goal_open(room: &dyn Room) {
    let mut stage = Stage::set(room.open());
    let items = (1..=300).map(|n| crate::kernel::BatchItem::Add {
        new: Box::new(NewTodo::titled(text(&format!("by hand {n}")), TodoKind::Action)),
        after_items: [].into(),
    });
    stage.user(Command::Batch(items.collect()));
    let goal = stage.goal.clone();
    let last = Blocks::Todos([TodoId::new(goal.clone(), 300)].into());
    let gates = [(); 2].map(|()| stage.gate(GateKind::Decision, last.clone(), None));
    for gate_id in gates {
        let close = |stage: &mut Stage| {
            let (reason, waive, waive_effects) = (None, Vec::new(), Vec::new());
            stage.submit(
                "user:ana",
                Command::Goal(GoalCommand::Close { kind: CloseKind::Achieved, reason, waive, waive_effects }),
            )
        };
        assert_eq!(close(&mut stage).unwrap_err().code(), Code::GateBlocked);
        stage.user(Command::Gate(GateCommand::Withdraw { gate_id }));
    }
    stage
        .authority
        .read(|view| {
            let facts = answered(view, Read::Gated(goal.clone()))?;
            assert!(facts.rows().todos.is_empty(), "no gate is left");
            Ok(())
        })
        .unwrap();
    stage.user(Command::Goal(GoalCommand::Close {
        kind: CloseKind::Achieved,
        reason: None,
        waive: Vec::new(),
        waive_effects: Vec::new(),
    }));
}

pub(super) fn a_failed_job_leaves_nothing(room: &dyn Room) {
    let mut stage = Stage::set(room.open());
    stage.play();
    let before = stage.authority.read(whole).unwrap();
    // A wish that is refused, and a job that fails after it stored.
    let refused = stage.submit("agent:b", Command::Goal(GoalCommand::Stop)).unwrap_err();
    assert_eq!(refused.code(), Code::UserOnly);
    let lost = text("lost");
    let receipt = super::raw::receipt(&stage.goal);
    let failed = room.open().write(&mut |tx| {
        let mut commit = super::raw::commit(tx, &stage.goal, &lost, &receipt);
        commit.head.seq += 1;
        commit.writes.rows.goals = before.rows.goals.clone();
        commit.writes.rows.goals.values_mut().for_each(|goal| goal.revision += 1);
        tx.store(commit)?;
        assert_eq!(
            tx.head(&stage.goal)?.unwrap().seq,
            before.heads[&stage.goal].seq + 1,
            "its own write is seen"
        );
        Err(Error::new(Code::NotReady, "no"))
    });
    assert_eq!(failed.unwrap_err().code(), Code::NotReady);
    assert_eq!(stage.authority.read(whole).unwrap(), before);
    assert_eq!(stage.authority.read(|view| view.receipt(&lost)).unwrap(), None);
    stage.user(Command::Goal(GoalCommand::Stop));
}

pub(super) fn handles_see_each_other_and_a_read_stands_still(room: &dyn Room) {
    let mut stage = Stage::set(room.open());
    let goal = stage.goal.clone();
    let mut reader = room.open();
    let count = |view: &mut dyn View| {
        view.todos(&TodoFilter { goal: &goal, live: false, bucket: None }, 0, usize::MAX).unwrap().len()
    };
    for n in 0..3 {
        reader
            .read(&mut |view| {
                assert_eq!(count(view), n);
                stage.todo("more", TodoKind::Advance, |_| {});
                assert_eq!(count(view), n, "a state moved while it was read");
                Ok(())
            })
            .unwrap();
    }
}

pub(super) fn a_waiter_wakes_with_the_commit_and_not_without(room: &dyn Room) {
    let mut stage = Stage::set(room.open());
    let mut waiting = room.open();
    let goal = stage.goal.clone();
    let mut asked = 0;
    let changed = waiting.wait(Duration::from_millis(20), &mut |_| {
        asked += 1;
        Ok(false)
    });
    assert!(!changed.unwrap() && asked >= 1);
    assert!(waiting.wait(Duration::ZERO, &mut |_| Ok(true)).unwrap());
    let failed = waiting.wait(Duration::from_secs(20), &mut |_| Err(Error::new(Code::NotReady, "no")));
    assert_eq!(failed.unwrap_err().code(), Code::NotReady);
    let (asked, heard) = mpsc::channel();
    thread::scope(|scope| {
        let goal = &goal;
        let waiter = scope.spawn(move || {
            let woken = waiting.wait(Duration::from_secs(20), &mut |view| {
                let filter = TodoFilter { goal, live: false, bucket: None };
                let found = !view.todos(&filter, 0, 1)?.is_empty();
                // Nobody listens any more once the first word was heard.
                let _ = asked.send(());
                Ok(found)
            });
            (woken, monotonic())
        });
        heard.recv().unwrap();
        stage.todo("news", TodoKind::Advance, |_| {});
        let told = monotonic();
        let (woken, at) = waiter.join().unwrap();
        assert!(woken.unwrap());
        assert!(at.saturating_duration_since(told) < Duration::from_secs(5), "woken late");
    });
}
