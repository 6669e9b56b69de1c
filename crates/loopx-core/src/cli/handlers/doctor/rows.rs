//! Owns the look at the rows of a small ledger: whether they are what their events come to.
//!
//! Knows no rule: the audit says it. Changes nothing.

use super::{EVENTS_MAX, Finding, GOALS_MAX, REPAIR, Standing};
use crate::cli::handlers::desk::Desk;

/// Whether rows are what their events come to, in a ledger that is folded in no time.
pub(super) fn rows(desk: &mut Desk) -> Finding {
    let whole = desk.look(|view, _| {
        let goals = view.chains(None, GOALS_MAX + 1)?;
        Ok((goals.len(), goals.iter().map(|(_, head)| head.seq).sum::<u64>()))
    });
    let (goals, events) = match whole {
        Ok(whole) => whole,
        Err(error) => return Finding::bad("rows", &error),
    };
    if goals > GOALS_MAX || events > EVENTS_MAX {
        let text =
            "the ledger is large: whether its rows are what its events come to, `audit verify` alone says";
        return Finding::good("rows", text);
    }
    let audited = match desk.authority.audit(None, false, &mut |_| {}) {
        Ok(audited) => audited,
        Err(error) => return Finding::bad("rows", &error),
    };
    let flaws: Vec<_> = audited.iter().filter_map(|audited| audited.flaw.as_ref()).collect();
    let Some(first) = flaws.first() else {
        return Finding::good("rows", "they are what the events come to");
    };
    let whose = first.goal_id.as_ref().map_or_else(|| "the ledger itself".to_owned(), ToString::to_string);
    let more = if flaws.len() > 1 { format!("; and {} more", flaws.len() - 1) } else { String::new() };
    Finding::new("rows", Standing::Bad, format!("{whose}: {}{more}", first.text)).command(REPAIR)
}
