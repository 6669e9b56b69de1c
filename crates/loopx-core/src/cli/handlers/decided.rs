//! Owns a decision in words: what it says, why, and the commands that do it or would change it.
//!
//! Knows no rule, and no verb that shows it.

use super::{desk::Desk, names};
use crate::{
    cli::table::{ASKS_USER, CLOSED, WAITS},
    error::{Code, Result},
    kernel::{Action, Ask, Decided, UnresolvedBy},
    model::{AgentId, GoalId, OwnId, TurnId},
    projection::{TurnRow, asked, left_of, plain},
};

/// The exit code of a decision: what is work for an agent is done, and each other answer has its own.
pub(super) fn exit(action: &Action) -> u8 {
    match action {
        Action::Run { .. } | Action::Repair { .. } | Action::Replan { .. } | Action::Reconcile { .. } => 0,
        Action::Wait { .. } => WAITS.0,
        Action::AskUser { .. } => ASKS_USER.0,
        Action::Closed => CLOSED.0,
    }
}

/// The command that looks at a Turn.
pub(super) fn turn_show(turn_id: TurnId) -> String {
    format!("turn show {turn_id}")
}

/// For whom a decision was made, as the commands of it name him.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    /// The Goal that it is about.
    pub(super) goal: &'a GoalId,
    /// The agent.
    pub(super) agent: &'a AgentId,
    /// Whether the call named the Goal.
    pub(super) one_goal: bool,
    /// The token that it presents.
    pub(super) own_id: Option<OwnId>,
}

/// The commands that do what a decision says, or would change it, the first one first.
pub(super) fn commands(desk: &mut Desk, asked: &Asked<'_>, decided: &Decided) -> Result<Vec<String>> {
    let Asked { goal, agent, one_goal, own_id } = *asked;
    Ok(match (&decided.action, own_id) {
        (Action::Run { todo_id, turn_id: Some(_) }, Some(own_id)) => {
            vec![format!("todo done {todo_id} --as agent:{agent} --own {own_id}")]
        }
        (Action::Run { .. } | Action::Repair { .. } | Action::Replan { .. }, _) => {
            let narrowed = if one_goal { format!(" --goal {goal}") } else { String::new() };
            vec![format!("next --claim --agent {agent}{narrowed}")]
        }
        (Action::Wait { turn_id: Some(turn_id), .. }, _) => vec![turn_show(*turn_id)],
        (Action::Wait { why, turn_id: None, .. }, _) => vec![match *why {
            why if why == Code::GoalStopped.as_str() => format!("goal resume {goal}"),
            "quota" => format!("status --goal {goal}"),
            _ => format!("todo list --goal {goal}"),
        }],
        (Action::Closed, _) => vec![format!("goal reopen {goal}")],
        (Action::Reconcile { .. } | Action::AskUser { .. }, _) => explain(desk, decided)?.1,
    })
}

/// The decision in words, and the commands that move it, the first one first.
pub(super) fn explain(desk: &mut Desk, decided: &Decided) -> Result<(Option<String>, Vec<String>)> {
    Ok(match &decided.action {
        Action::Run { .. } | Action::Closed => (None, Vec::new()),
        Action::Replan { todo_id, replan } => {
            let why = replan.as_ref().map_or_else(
                || format!("a plan has to change: {todo_id}"),
                |of| format!("the plan of {} has to change: {}", of.covers, plain(of.cause.as_str())),
            );
            (Some(why), Vec::new())
        }
        Action::Repair { failure, .. } => {
            let why = failure.as_ref().map_or_else(
                || "its last result was refused".to_owned(),
                |failure| format!("its last result was refused: {failure}"),
            );
            (Some(why), Vec::new())
        }
        Action::Reconcile { of: UnresolvedBy::Effect(effect_id), command } => {
            let why = format!("it is not known what the effect {} did", names::short(effect_id));
            (Some(why), vec![command.clone()])
        }
        Action::Reconcile { of: UnresolvedBy::Turn(turn_id), command } => {
            let left = desk.look(|view, terms| left_of(view, terms, *turn_id))?;
            (Some(left), vec![command.clone()])
        }
        Action::Wait { why, turn_id: Some(turn_id), .. } => {
            let row = TurnRow::of(&names::turn_row(desk, *turn_id)?);
            let on = row.todo_id.map(|id| format!(" on {id}")).unwrap_or_default();
            let turn = names::short(turn_id);
            (Some(format!("{}{on}, in the Turn {turn} by {}", plain(why), row.endpoint)), Vec::new())
        }
        Action::Wait { why, turn_id: None, .. } => (Some(plain(why).to_owned()), Vec::new()),
        Action::AskUser { asks } => {
            // What was never begun is not offered as done.
            let is_begun = !asks.iter().any(|ask| ask.why == Ask::NO_TODO);
            let asks: Vec<_> = asks.iter().filter(|ask| is_begun || ask.why != Ask::READY_TO_CLOSE).collect();
            let said: Vec<_> = asks.iter().map(|ask| asked(ask, &names::shown(&ask.about))).collect();
            (Some(said.join("; ")), asks.iter().map(|ask| ask.command.clone()).collect())
        }
    })
}
