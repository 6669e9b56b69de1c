//! Owns the moves of a random history that make Todos and change them.
//!
//! Knows nothing of who executes them.

use super::{
    super::world::{text, validator},
    Player,
};
use crate::{
    kernel::{BatchItem, Change, Command, NewTodo, TodoCommand},
    model::*,
};

impl Player {
    pub(super) fn new_todo(&self, x: u16, y: u16) -> NewTodo {
        let kinds =
            [TodoKind::Advance, TodoKind::Advance, TodoKind::Monitor, TodoKind::Blocker, TodoKind::Action];
        let mut new = NewTodo::titled(text(&format!("todo {x}")), kinds[usize::from(x) % 5]);
        new.priority = Priority::ALL[usize::from(y) % 5];
        new.depends_on =
            [x, y].into_iter().filter(|by| by.is_multiple_of(3)).filter_map(|by| self.todo(by / 3)).collect();
        match x % 11 {
            0 => {
                new.wake = Some(Wake::After(Timestamp::from_ms(1_800_000_000_000 + i64::from(y) * 60_000)));
            }
            1 => new.wake = self.todo(y).map(Wake::TodoDone),
            2 => new.wake = self.gate(y).map(Wake::Gate),
            3 => new.blocked = Some(text("no key")),
            4 => new.hold = true,
            5 => new.requires.capabilities = [text("gpu")].into(),
            6 => new.excluded_agents = [text("a")].into(),
            7 => new.requires.write_scopes = [text(["src", "docs", "src/x"][usize::from(y) % 3])].into(),
            8 => new.validators = vec![validator()],
            9 => new.detail = Some(text("at length")),
            _ => {}
        }
        new
    }

    pub(super) fn add(&mut self, x: u16, y: u16) {
        if x.is_multiple_of(13) {
            let mut items: Vec<BatchItem> = (0..=y % 5)
                .map(|n| BatchItem::Add {
                    new: Box::new(self.new_todo(x.wrapping_add(n), y)),
                    after_items: (0..u32::from(n)).filter(|m| m.is_multiple_of(2)).collect(),
                })
                .collect();
            if let Some(todo) = self.todo(y) {
                items.push(BatchItem::Complete { todo: crate::kernel::BatchRef::Todo(todo) });
            }
            return self.as_user(Command::Batch(items));
        }
        let add = TodoCommand::Add(Box::new(self.new_todo(x, y)));
        if y.is_multiple_of(4) {
            self.as_agent(x, Command::Todo(add));
        } else {
            self.as_user(Command::Todo(add));
        }
    }

    pub(super) fn change(&mut self, x: u16, y: u16) {
        let (Some(todo_id), Some(other)) = (self.todo(x / 16), self.todo(y)) else {
            return;
        };
        let command = match x % 16 {
            0 | 1 => TodoCommand::Link { todo_id, depends_on: other },
            2 => TodoCommand::Unlink { todo_id, depends_on: other },
            3 => TodoCommand::Defer { todo_id, own_id: None, wake: Wake::TodoDone(other) },
            4 => {
                let at = Timestamp::from_ms(1_800_000_000_000 + i64::from(y) * 100_000);
                TodoCommand::Defer { todo_id, own_id: None, wake: Wake::After(at) }
            }
            5 => TodoCommand::Block { todo_id, own_id: None, reason: text("stuck") },
            6 => TodoCommand::Unblock { todo_id },
            7 => TodoCommand::Hold { todo_id },
            8 => TodoCommand::Unhold { todo_id },
            9 => TodoCommand::Resolve { todo_id, evidence: Vec::new() },
            10 => TodoCommand::Cancel {
                todo_id,
                reason: text("no"),
                superseded_by: y.is_multiple_of(2).then_some(other),
            },
            11 | 12 => TodoCommand::Reopen { todo_id },
            13 => {
                let waive = y.is_multiple_of(2).then(|| text("seen"));
                TodoCommand::Complete { todo_id, continuation: Continuation::ActiveGoal, waive }
            }
            _ => {
                let mut change = Change { title: Some(text(&format!("now {y}"))), ..Change::default() };
                change.priority = Some(Priority::ALL[usize::from(y) % 5]);
                TodoCommand::Update { todo_id, change: Box::new(change) }
            }
        };
        self.as_user(Command::Todo(command));
    }
}
