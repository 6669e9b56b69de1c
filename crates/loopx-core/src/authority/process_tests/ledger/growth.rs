//! What ten thousand Todos cost whoever asks for one.

use std::time::Duration;

use super::*;
use crate::{
    authority::{View, clock::monotonic},
    kernel::{Depth, Facts, Read, Terms},
};

/// The shortest of several tries, which is what the work itself takes.
fn least(mut job: impl FnMut()) -> Duration {
    (0..9)
        .map(|_| {
            let begun = monotonic();
            job();
            monotonic().saturating_duration_since(begun)
        })
        .min()
        .unwrap()
}

fn ready(view: &mut dyn View) -> usize {
    let meta = view.meta().unwrap().unwrap();
    let mut facts = Facts::new(Terms {
        authority_id: meta.authority_id,
        incarnation: meta.incarnation,
        now: Timestamp::from_ms(meta.stamp.now_ms),
        clock_jump: false,
        strict: false,
        schema: 2,
    });
    view.load(&[Read::Ready(goal(), "a".parse().unwrap(), Depth::Whole)].into(), &mut facts).unwrap();
    facts.rows().todos.len()
}

/// A Goal with blocked Todos and ten that can be taken.
fn goal_of(home: &Path, blocked: u32) -> Authority {
    let mut authority = founded(home);
    add_agent(&mut authority, "a");
    add_todos(&mut authority, "open", 10);
    let add = |n: u32| {
        let mut new = NewTodo::titled(format!("later {n}").parse().unwrap(), TodoKind::Advance);
        new.depends_on = [TodoId::new(goal(), 1)].into();
        BatchItem::Add { new: Box::new(new), after_items: [].into() }
    };
    authority.submit(operation("blocked", "user:ana", Wish::Batch((0..blocked).map(add).collect()))).unwrap();
    authority
}

#[test]
fn ten_thousand_todos_of_which_ten_are_ready_cost_what_ten_cost() {
    let (small, large) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut few = goal_of(small.path(), 10);
    let mut many = goal_of(large.path(), 9990);
    let goal = goal();
    let filter = TodoFilter { goal: &goal, live: true, bucket: None };
    let mut measure = |what: &str, job: &mut dyn FnMut(&mut dyn View) -> Result<()>| {
        let mut time = |authority: &mut Authority| least(|| authority.read(&mut *job).unwrap());
        let (few, many) = (time(&mut few), time(&mut many));
        println!("{what}: {few:?} of 20, {many:?} of 10,000");
        // A scan of all rows would take hundreds of times as long; the bar for speed is the bench's.
        assert!(many < few * 10 + Duration::from_millis(2), "{what}: {few:?}, {many:?}");
    };
    measure("ready", &mut |view| {
        assert_eq!(ready(view), 10);
        Ok(())
    });
    measure("counts", &mut |view| {
        assert!(view.counts(&goal)?["open"] >= 20);
        Ok(())
    });
    measure("a page", &mut |view| {
        assert_eq!(view.todos(&filter, 0, 10)?.len(), 10);
        Ok(())
    });
    // One completion frees ten thousand, by one statement.
    let complete = TodoCommand::Complete {
        todo_id: TodoId::new(goal.clone(), 1),
        continuation: Continuation::ActiveGoal,
        waive: None,
    };
    many.submit(operation("complete", "user:ana", Wish::Todo(complete))).unwrap();
    many.read(|view| {
        assert_eq!(ready(view), Facts::PAGE);
        faults::check_chain(view)
    })
    .unwrap();
}
