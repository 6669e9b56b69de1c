//! Owns every question that can be put to a ledger: each read of the kernel, each list, filter and page.
//!
//! On a `Twin` asking is comparing.

use std::collections::BTreeSet;

use super::{
    super::{EventFilter, GateFilter, NounFilter, TodoFilter, TurnFilter, View},
    whole::{Whole, whole},
};
use crate::{
    error::Result,
    kernel::{Depth, Facts, Read, Terms, index},
    model::{
        Bucket, Effect, EffectKey, GoalId, MeterScope, NounKey, NounKind, OneNoun as _, OperationId,
        Timestamp, TodoId,
    },
};

/// Puts every question to a state, about each row, about what is not there, and by pages of several sizes.
pub fn ask_everything(view: &mut dyn View, operations: &[OperationId]) -> Result<Whole> {
    let all = whole(view)?;
    for id in operations {
        view.receipt(id)?;
    }
    reads(view, &all)?;
    let nowhere: GoalId = "nowhere".parse()?;
    for goal in all.rows.goals.keys().chain([&nowhere]) {
        pages(view, goal, &all)?;
    }
    for limit in [0, 1, usize::MAX] {
        view.goals(None, limit)?;
        view.goals(all.rows.goals.keys().next(), limit)?;
        for text in ["", "o", "O", ".1", "SHIP", "\u{e4}", "%", "_"] {
            view.find(text, None, limit)?;
        }
    }
    Ok(all)
}

fn reads(view: &mut dyn View, all: &Whole) -> Result<()> {
    let Some(meta) = &all.meta else { return Ok(()) };
    let terms = |now_ms| Terms {
        authority_id: meta.authority_id,
        incarnation: meta.incarnation,
        now: Timestamp::from_ms(now_ms),
        clock_jump: false,
        strict: false,
        schema: 2,
    };
    let mut asked = BTreeSet::new();
    let rows = &all.rows;
    let mut goals: BTreeSet<GoalId> = rows.goals.keys().cloned().collect();
    goals.insert("nowhere".parse()?);
    for goal in &goals {
        let each: [fn(GoalId) -> Read; 7] = [
            Read::Goal,
            Read::LiveTurns,
            Read::GoalGates,
            Read::Approvals,
            Read::Unfinished,
            Read::Gated,
            Read::Live,
        ];
        asked.extend(each.map(|read| read(goal.clone())));
        asked.extend(NounKind::ALL.iter().map(|kind| Read::OpenNouns(goal.clone(), *kind)));
        let agents = rows.agents.keys().filter(|(of, _)| of == goal).map(|(_, agent)| agent.clone());
        for agent in agents.chain(["nobody".parse()?]) {
            asked.insert(Read::Agent(goal.clone(), agent.clone()));
            asked.insert(Read::AgentTurns(goal.clone(), agent.clone()));
            for depth in [Depth::First, Depth::Whole] {
                asked.insert(Read::Ready(goal.clone(), agent.clone(), depth));
            }
            for since in [i64::MIN, meta.stamp.now_ms / 300_000, i64::MAX] {
                let since = Bucket::from_number(since);
                asked.insert(Read::Used(MeterScope::Goal(goal.clone()), since));
                asked.insert(Read::Used(MeterScope::Authority, since));
                asked.insert(Read::Used(MeterScope::Agent(goal.clone(), agent.clone()), since));
            }
        }
        let todos = rows.todos.keys().filter(|id| id.goal() == goal).cloned();
        for id in todos.chain([TodoId::new(goal.clone(), u32::MAX)]) {
            let each: [fn(TodoId) -> Read; 8] = [
                Read::Author,
                Read::Proven,
                Read::Todo,
                Read::Text,
                Read::TodoGates,
                Read::DoneDependants,
                Read::CancelledDeps,
                Read::Ancestors,
            ];
            asked.extend(each.map(|read| read(id.clone())));
        }
    }
    asked.insert(Read::AuthorityLimit);
    asked.extend(rows.turns.keys().map(|id| Read::Turn(*id)));
    asked.extend(rows.gates.keys().map(|id| Read::Gate(*id)));
    asked.extend(rows.evidence.keys().map(|id| Read::Evidence(*id)));
    let nobody: EffectKey = "nobody".parse()?;
    let effects = rows.nouns.values().filter_map(Effect::of);
    asked.extend(effects.map(|effect| Read::EffectOf(effect.goal_id.clone(), effect.key.clone())));
    asked.extend(goals.iter().map(|goal| Read::EffectOf(goal.clone(), nobody.clone())));
    let absent = NounKind::ALL.iter().map(|kind| NounKey { kind: *kind, id: [1; 16] });
    asked.extend(rows.nouns.keys().copied().chain(absent).map(Read::Noun));
    asked.extend(rows.todos.values().filter_map(|todo| index(todo).writes_in).map(Read::Writers));
    asked.insert(Read::Writers("0000000000000000".parse()?));
    // Each alone, at several moments, and all together on top of what is loaded already.
    for now_ms in [0, meta.stamp.now_ms, meta.stamp.now_ms + 600_000, i64::MAX - 1] {
        for read in &asked {
            view.load(&BTreeSet::from([read.clone()]), &mut Facts::new(terms(now_ms)))?;
        }
    }
    let mut facts = Facts::new(terms(meta.stamp.now_ms));
    view.load(&asked, &mut facts)?;
    view.load(&asked, &mut facts)
}

fn pages(view: &mut dyn View, goal: &GoalId, all: &Whole) -> Result<()> {
    let todos: Vec<TodoId> = all.rows.todos.keys().filter(|id| id.goal() == goal).cloned().collect();
    let absent = TodoId::new(goal.clone(), u32::MAX);
    let first_gate = all.rows.gates.keys().next().map(ToString::to_string);
    let first_evidence = all.rows.evidence.keys().next().map(ToString::to_string);
    let last_turn = all.rows.turns.keys().next_back().map(ToString::to_string);
    view.head(goal)?;
    view.counts(goal)?;
    view.agents(goal)?;
    for limit in [0, 1, 2, usize::MAX] {
        let buckets = [
            "open",
            "owned",
            "action",
            "blocker",
            "monitor",
            "deferred",
            "blocked",
            "done",
            "cancelled",
            "?",
        ];
        for bucket in buckets.map(Some).into_iter().chain([None]) {
            for live in [false, true] {
                for after in [0, 1, 3, u32::MAX] {
                    view.todos(&TodoFilter { goal, live, bucket }, after, limit)?;
                }
            }
        }
        for blocking in [false, true] {
            for after in [None, first_gate.as_deref()] {
                view.gates(&GateFilter { goal, blocking }, after, limit)?;
            }
        }
        for todo in todos.iter().chain([&absent]).map(Some).chain([None]) {
            for after in [None, first_evidence.as_deref()] {
                view.evidence(goal, todo, after, limit)?;
            }
            for open in [false, true] {
                nouns(view, goal, todo, open, limit, all)?;
            }
            for live in [false, true] {
                for before in [None, last_turn.as_deref()] {
                    view.turns(&TurnFilter { goal, todo, agent: None, live }, before, limit)?;
                    for agent in [&"a".parse()?, &"b".parse()?] {
                        view.turns(&TurnFilter { goal, todo, agent: Some(agent), live }, before, limit)?;
                    }
                }
            }
        }
        for after in [0, 1, 5, u64::MAX] {
            view.events(&EventFilter { goal, after }, limit)?;
        }
        for text in ["", "o", ".2"] {
            view.find(text, Some(goal), limit)?;
        }
    }
    tails(view, all)
}

fn nouns(
    view: &mut dyn View,
    goal: &GoalId,
    todo: Option<&TodoId>,
    open: bool,
    limit: usize,
    all: &Whole,
) -> Result<()> {
    for kind in NounKind::ALL.iter().copied() {
        if let Some(todo) = todo {
            view.last_noun(kind, todo)?;
        }
        let first = all.rows.nouns.keys().find(|key| key.kind == kind).map(|key| kind.id(key.id));
        for after in [None, first.as_deref()] {
            view.nouns(&NounFilter { kind, goal, todo, open }, after, limit)?;
        }
    }
    Ok(())
}

fn tails(view: &mut dyn View, all: &Whole) -> Result<()> {
    let turns = all.rows.turns.keys().map(|id| ("trn_", id.to_string()));
    let gates = all.rows.gates.keys().map(|id| ("gate_", id.to_string()));
    let evidence = all.rows.evidence.keys().map(|id| ("evd_", id.to_string()));
    let nouns = all.rows.nouns.keys().map(|key| (key.kind.prefix(), key.kind.id(key.id)));
    for (prefix, id) in turns.chain(gates).chain(evidence).chain(nouns) {
        let tail = id.get(prefix.len() + 10..).unwrap_or_default();
        for letters in [0, 1, 2, 5, 16] {
            view.tails(prefix, tail.get(..letters).unwrap_or_default(), usize::MAX)?;
        }
        view.tails(prefix, &format!("{tail}0"), 1)?;
        view.tails(prefix, "A", 1)?;
        view.tails(prefix, "", 2)?;
    }
    Ok(())
}
