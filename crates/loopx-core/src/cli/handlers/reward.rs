//! Owns the handlers of `reward`.

use serde_json::json;

use super::{
    desk::Desk,
    given, names,
    nouns::{self, List},
    schema, show,
    submit::{Wish, submit, written},
};
use crate::{
    cli::{Args, Context, Document, Rendered},
    error::{Code, Error, Result},
    kernel::{Command, RewardCommand},
    model::{Polarity, Reward},
};

/// `reward add`.
pub(in crate::cli) fn add(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let todo_id = args.text("todo").map(|word| names::todo(&mut desk, word)).transpose()?;
    let turn_id = args.text("turn").map(|word| names::turn(&mut desk, word)).transpose()?;
    let goal = match (&todo_id, turn_id) {
        (Some(todo), _) => todo.goal().clone(),
        (None, Some(turn_id)) => names::turn_row(&mut desk, turn_id)?.goal_id,
        (None, None) => names::goal(&mut desk, None)?,
    };
    let command = RewardCommand::Add {
        todo_id,
        turn_id,
        route: given::parsed(args, "route")?,
        polarity: if args.switch("good") { Polarity::Good } else { Polarity::Bad },
        reason: given::needed(args, "reason")?,
        lesson: given::parsed(args, "lesson")?,
    };
    let done = submit(context, args, &mut desk, Wish::new(goal.clone(), Command::Reward(command)))?;
    let id = done.outcome.reward_id.ok_or_else(|| Error::from(Code::Internal))?;
    let document = Document::new().line("recorded; no decision reads it");
    written(schema::REWARD, "reward", &json!({"reward_id": id, "goal_id": goal}), &done, &[], document)
}

/// `reward list`.
pub(in crate::cli) fn list(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let list = List {
        schema: schema::REWARD_LIST,
        head: &["WANTED", "OF", "BY", "WHEN", "WHY"],
        row: line,
        nothing: |of, _, program| {
            format!("Nobody judged work of {of} yet; `{program} reward add <TEXT> --good` does.")
        },
    };
    nouns::listed(context, args, false, &list)
}

fn line(reward: &Reward, now: crate::model::Timestamp) -> Vec<String> {
    let of = [
        reward.todo_id.as_ref().map(ToString::to_string),
        reward.turn_id.as_ref().map(names::short),
        reward.route.as_ref().map(ToString::to_string),
    ];
    let wanted = match reward.polarity {
        Polarity::Good => "more",
        Polarity::Bad => "less",
    };
    vec![
        wanted.to_owned(),
        of.into_iter().flatten().collect::<Vec<_>>().join(", "),
        reward.by.to_string(),
        show::when(reward.at, now),
        match &reward.lesson {
            Some(lesson) => format!("{}; lesson: {lesson}", reward.reason),
            None => reward.reason.to_string(),
        },
    ]
}
