//! Owns the whole content of a ledger, read through its trait alone.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{
    Count, EventFilter, GateFilter, Head, Meta, Meters, NounFilter, Record, TodoFilter, TurnFilter, View,
};
use crate::{
    error::Result,
    kernel::{Facts, Read, Rows, Terms},
    model::{GoalId, NounKind, Timestamp, TodoId},
};

/// Everything a ledger holds but its receipts, which are found only by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// Whose it is, and the time of its last commit.
    pub meta: Option<Meta>,
    /// Every row.
    pub rows: Rows,
    /// Every meter that holds anything.
    pub meters: Meters,
    /// The counts of each Goal.
    pub counts: BTreeMap<GoalId, Count>,
    /// The end of each chain.
    pub heads: BTreeMap<GoalId, Head>,
    /// Every event.
    pub events: BTreeMap<GoalId, Vec<Record>>,
}

/// Reads a ledger whole.
pub fn whole(view: &mut dyn View) -> Result<Whole> {
    let meta = view.meta()?;
    let mut all = Whole {
        rows: Rows::default(),
        meters: Meters::new(),
        counts: BTreeMap::new(),
        heads: BTreeMap::new(),
        events: BTreeMap::new(),
        meta,
    };
    for goal in view.goals(None, usize::MAX)? {
        let id = goal.goal_id.clone();
        goal_rows(view, &id, &mut all.rows)?;
        all.counts.insert(id.clone(), view.counts(&id)?);
        all.meters.extend(view.meters(&id)?);
        all.events.insert(id.clone(), view.events(&EventFilter { goal: &id, after: 0 }, usize::MAX)?);
        all.heads.extend(view.head(&id)?.map(|head| (id.clone(), head)));
        all.rows.goals.insert(id, goal);
    }
    let Some(meta) = &all.meta else { return Ok(all) };
    let mut facts = Facts::new(Terms {
        authority_id: meta.authority_id,
        incarnation: meta.incarnation,
        now: Timestamp::from_ms(meta.stamp.now_ms),
        clock_jump: false,
        strict: false,
        schema: 2,
    });
    let texts: BTreeSet<Read> = all.rows.todos.keys().cloned().map(Read::Text).collect();
    view.load(&texts, &mut facts)?;
    all.rows.texts.clone_from(&facts.rows().texts);
    Ok(all)
}

fn goal_rows(view: &mut dyn View, goal: &GoalId, rows: &mut Rows) -> Result<()> {
    let todos = view.todos(&TodoFilter { goal, live: false, bucket: None }, 0, usize::MAX)?;
    rows.todos.extend(todos.into_iter().map(|row| (row.todo_id.clone(), row)));
    let agents = view.agents(goal)?;
    rows.agents.extend(agents.into_iter().map(|row| ((goal.clone(), row.agent_id.clone()), row)));
    let turns = view.turns(&TurnFilter { goal, todo: None, agent: None, live: false }, None, usize::MAX)?;
    rows.turns.extend(turns.into_iter().map(|row| (row.turn_id, row)));
    let gates = view.gates(&GateFilter { goal, blocking: false }, None, usize::MAX)?;
    rows.gates.extend(gates.into_iter().map(|row| (row.gate_id, row)));
    let evidence = view.evidence(goal, None::<&TodoId>, None, usize::MAX)?;
    rows.evidence.extend(evidence.into_iter().map(|row| (row.evidence_id, row)));
    for kind in NounKind::ALL {
        let filter = NounFilter { kind: *kind, goal, todo: None, open: false };
        let nouns = view.nouns(&filter, None, usize::MAX)?;
        rows.nouns.extend(nouns.into_iter().map(|row| (row.key(), row)));
    }
    Ok(())
}
