//! Owns admission: everything a claim checks, in order, and the one commit that makes ownership and Turn.

use super::{Event, scopes};
use crate::{
    error::{Code, Error, Result},
    kernel::{
        Concluded, Covered, Draft, Facts, Outcome, Reason, UnresolvedBy, Viewer, agent, effect, gate, goal,
        quota, reason, reason::PeerBy, recover_command, replan, seeded, todo, turn,
    },
    model::{
        AgentId, Attempt, Bucket, Digest, Duration, EndpointId, Executor, Goal, GoalId, GoalState, Key,
        Label, MachineId, OwnId, Ownership, ReplanRef, Slot, Spend, Todo, TodoId, Turn, TurnId, TurnKind,
        TurnState, Workspace,
    },
};

/// Who wants to be admitted to what.
#[derive(Debug, Clone)]
pub(in crate::kernel) struct Admission {
    pub(in crate::kernel) todo_id: TodoId,
    /// The replan that is claimed by its name; `todo_id` is then what it covers.
    pub(in crate::kernel) replan: Option<ReplanRef>,
    pub(in crate::kernel) agent_id: AgentId,
    pub(in crate::kernel) endpoint: EndpointId,
    pub(in crate::kernel) executor: Executor,
    pub(in crate::kernel) machine_id: Option<MachineId>,
    pub(in crate::kernel) ttl_ms: Duration,
    pub(in crate::kernel) workspace: Option<Workspace>,
}

impl Admission {
    fn viewer<'a>(&'a self, facts: &Facts) -> Result<Viewer<'a>> {
        let key = (self.todo_id.goal().clone(), self.agent_id.clone());
        let agent = agent::registered(facts, &key)?;
        Ok(Viewer {
            agent_id: &self.agent_id,
            capabilities: agent.capabilities.clone(),
            own_id: None,
            workspace: self.workspace.as_ref(),
        })
    }
}

/// Claims a Todo. The first check that fails decides the code; a missing approval opens its gate instead.
pub(in crate::kernel) fn admit(draft: &mut Draft<'_>, want: &Admission) -> Result<Concluded> {
    check_goal(draft.facts(), want)?;
    match &want.replan {
        // The Todo that it becomes is not there yet.
        Some(of) if of.covered().is_none() => todo::same_goal(draft, &want.todo_id)?,
        Some(_) | None => drop(todo::named(draft, &want.todo_id)?),
    }
    if want.replan.as_ref().is_some_and(|of| of.claimed() != want.todo_id) {
        return Err(Error::new(Code::InvalidArgument, "a replan is claimed with what it covers"));
    }
    let written;
    let want = match &want.replan {
        Some(of) => {
            check_replan(draft.facts(), want, of)?;
            written = Admission { todo_id: replan::write(draft, of)?, replan: None, ..want.clone() };
            &written
        }
        None => want,
    };
    if want.executor != Executor::Attached && want.machine_id.is_none() {
        return Err(Error::new(Code::InvalidArgument, "a hosted Turn names the machine of its driver"));
    }
    if want.endpoint.as_str() == want.agent_id.as_str() {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("the endpoint {} equals the agent it serves", want.endpoint),
        ));
    }
    let missing = check(draft.facts(), want)?;
    for turn_id in would_end(draft.facts(), &want.todo_id, &want.agent_id)? {
        turn::lapse(draft, turn_id)?;
    }
    if !missing.is_empty() {
        let gate_ids = gate::ask_approvals(draft, &want.todo_id, &missing)?;
        let outcome = Outcome {
            todo_ids: vec![want.todo_id.clone()],
            gate_id: gate_ids.first().copied(),
            ..Outcome::default()
        };
        return Ok((outcome, Some(Code::GateOpened)));
    }
    let spend = match room(draft.facts(), draft.facts().todo(&want.todo_id)?, want, &[]) {
        Err(full) if seeded!(WritesRefusals) => return Ok((Outcome::default(), Some(full.code()))),
        room => room?,
    };
    todo::settle_wake(draft, &want.todo_id)?;
    let todo = todo::named(draft, &want.todo_id)?;
    let (epoch, turn_no) = (todo.epoch + 1, todo.turn_no + 1);
    let turn_id = record(draft, want, epoch, turn_no, spend)?;
    Ok((turn::outcome(draft, turn_id)?, None))
}

/// Whether an admission would be accepted now, as [`admit`] would find it; approvals that are missing refuse.
pub(in crate::kernel) fn may_admit(facts: &Facts, want: &Admission) -> Result<()> {
    check_goal(facts, want)?;
    if let Some(of) = &want.replan {
        check_replan(facts, want, of)?;
        check_executor(facts, of.goal(), want)?;
        let ends = lapsed_of(facts, of.goal(), &want.agent_id)?;
        return room(facts, None, want, &ends).map(drop);
    }
    if let Some(key) = check(facts, want)?.first() {
        return Err(Error::new(Code::GateBlocked, format!("{key} needs an approval nobody gave"))
            .detail("key", key.to_string()));
    }
    let named = facts.todo(&want.todo_id)?.ok_or_else(|| Error::from(Code::NotFound))?;
    let (todo, ends) = taking(facts, named, false, &want.agent_id)?;
    room(facts, todo, want, &ends).map(drop)
}

/// Whose ceiling counts where a Todo is taken, or the replan that it obliges to, and which lapsed Turns that ends.
///
/// A replan that is only derived becomes a Todo of its own: it has no ceiling, and ends nothing but its agent's.
pub(in crate::kernel) fn taking<'f>(
    facts: &Facts,
    todo: &'f Todo,
    is_derived: bool,
    agent_id: &AgentId,
) -> Result<(Option<&'f Todo>, Vec<TurnId>)> {
    if is_derived {
        return Ok((None, lapsed_of(facts, todo.todo_id.goal(), agent_id)?));
    }
    Ok((Some(todo), would_end(facts, &todo.todo_id, agent_id)?))
}

/// What the Turn would reserve beside its slot, or why there is no room for it.
fn room(facts: &Facts, todo: Option<&Todo>, want: &Admission, ends: &[TurnId]) -> Result<Option<Box<Spend>>> {
    let wish = quota::Wish { todo, is_driven: want.executor != Executor::Attached, ends };
    quota::admit(facts, want.todo_id.goal(), &want.agent_id, &wish)
}

/// Whether the replan that is claimed by its name can be, as [`check`] looks at a Todo.
fn check_replan(facts: &Facts, want: &Admission, of: &ReplanRef) -> Result<()> {
    let goal = facts.goal(of.goal())?.ok_or_else(|| Error::from(Code::NotFound))?;
    let covered = match of.covered() {
        Some(todo_id) => Some(facts.todo(todo_id)?.ok_or_else(|| Error::from(Code::NotFound))?),
        None => None,
    };
    let by = covered.map_or(goal.covered_by.as_ref(), |covered| covered.replans.by.as_ref());
    if let Some(by) = by
        && let Some(taken) = facts.todo(by)?.filter(|taken| taken.ownership.is_some())
    {
        let error = Error::new(Code::AlreadyClaimed, format!("{of} is {by} by now, and somebody owns it"));
        return Err(holder(taken, error.detail("todo_id", by.to_string()).detail("reason", "replan")));
    }
    replan::check_stands(facts, of)?;
    let gap;
    let named = if let Some(covered) = covered {
        covered
    } else {
        gap = replan::offered(goal, None, of, facts.now())?;
        &gap
    };
    match reason(facts, named, &want.viewer(facts)?)? {
        Reason::Replan(Covered::Derived(_)) => Ok(()),
        other => Err(refusal(facts, named, &want.agent_id, &other)),
    }
}

/// Goes on with the next Turn of the same holder, in the commit that settled the last: same epoch, new token.
///
/// Returns the new Turn, or none where the rules do not allow it; then the settlement stands alone.
pub(in crate::kernel) fn admit_next(
    draft: &mut Draft<'_>,
    last: TurnId,
    ttl_ms: Duration,
) -> Result<Option<TurnId>> {
    let turn = draft.facts().turn(&last)?.ok_or_else(|| Error::from(Code::Internal))?.clone();
    let Some(todo_id) = turn.todo_id() else { return Ok(None) };
    let want = Admission {
        todo_id: todo_id.clone(),
        replan: None,
        agent_id: turn.agent_id.clone(),
        endpoint: turn.endpoint.clone(),
        executor: turn.executor,
        machine_id: turn.machine_id.clone(),
        ttl_ms,
        workspace: turn.workspace.clone(),
    };
    match may_admit(draft.facts(), &want) {
        Ok(()) => {}
        Err(error) if error.code() == Code::Internal => return Err(error),
        Err(_) => return Ok(None),
    }
    let spend = room(draft.facts(), draft.facts().todo(&want.todo_id)?, &want, &[])?;
    record(draft, &want, turn.epoch, turn.turn_no + 1, spend).map(Some)
}

/// The first checks of a claim: its agent is registered, its Goal admits.
fn check_goal(facts: &Facts, want: &Admission) -> Result<()> {
    let goal_id = want.todo_id.goal();
    agent::registered(facts, &(goal_id.clone(), want.agent_id.clone()))?;
    let goal = facts.goal(goal_id)?.ok_or_else(|| Error::from(Code::NotFound))?;
    goal::check_not_closed(goal)?;
    match goal.state {
        GoalState::Stopped => Err(Error::new(Code::GoalStopped, format!("the Goal {goal_id} is stopped"))
            .hint(format!("goal resume {goal_id}"))),
        GoalState::Active | GoalState::Closed { .. } => Ok(()),
    }
}

/// Checks the Todo and the executor, in the order of the claim rules; returns the approvals nobody gave yet.
fn check(facts: &Facts, want: &Admission) -> Result<Vec<Key>> {
    let goal_id = want.todo_id.goal();
    let viewer = want.viewer(facts)?;
    let goal = facts.goal(goal_id)?.ok_or_else(|| Error::from(Code::NotFound))?;
    let todo = facts.todo(&want.todo_id)?.ok_or_else(|| Error::from(Code::NotFound))?;
    let missing = match reason(facts, todo, &viewer)? {
        Reason::Claimable => Vec::new(),
        Reason::Approval(keys) => {
            if !todo.requires.capabilities.is_subset(&viewer.capabilities) {
                return Err(refusal(facts, todo, &want.agent_id, &Reason::Capability));
            }
            keys
        }
        Reason::Capability => {
            // What lacks a work tree says so.
            tree_of_claim(goal, todo, want)?;
            return Err(refusal(facts, todo, &want.agent_id, &Reason::Capability));
        }
        other => return Err(refusal(facts, todo, &want.agent_id, &other)),
    };
    tree_of_claim(goal, todo, want)?;
    check_executor(facts, goal_id, want)?;
    Ok(missing)
}

/// Refuses scopes without a work tree, in the words of whoever claims.
fn tree_of_claim(goal: &Goal, todo: &Todo, want: &Admission) -> Result<()> {
    let found = scopes::of_claim(goal, todo, want.workspace.as_ref());
    let hint = || format!("todo claim {} --as agent:{} --workspace .", todo.todo_id, want.agent_id);
    found.map(drop).map_err(|error| if error.hint_args().is_some() { error.hint(hint()) } else { error })
}

/// Maps a reason that is not `claimable` to the code of a claim.
pub(in crate::kernel) fn refusal(facts: &Facts, todo: &Todo, agent_id: &AgentId, reason: &Reason) -> Error {
    let id = &todo.todo_id;
    let because = |code, what: String| {
        Error::new(code, what).detail("todo_id", id.to_string()).detail("reason", reason.name())
    };
    match reason {
        Reason::User(why) if todo.is_done() => {
            because(Code::TodoAlreadyDone, format!("the Todo {id} is done")).detail("why", why.as_str())
        }
        Reason::User(why) => {
            because(Code::NotClaimable, format!("the Todo {id} waits for a person: {}", why.as_str()))
                .detail("why", why.as_str())
                .hint(format!("todo show {id}"))
        }
        Reason::Time(at) => {
            let error = because(Code::NotClaimable, format!("the Todo {id} is not due yet"))
                .hint(format!("todo show {id}"));
            match at {
                Some(at) => error.detail("due_at_ms", at.as_ms()),
                None => error,
            }
        }
        Reason::Deps => because(
            Code::NotClaimable,
            format!("the Todo {id} waits for {} others to be done", todo.counters.unmet),
        )
        .hint(format!("todo show {id}")),
        Reason::Capability => {
            because(Code::NotClaimable, format!("the agent lacks a capability that {id} requires"))
                .detail("requires", serde_json::to_value(&todo.requires.capabilities).unwrap_or_default())
                .hint(format!("agent show {agent_id} --goal {}", id.goal()))
        }
        Reason::Unresolved(UnresolvedBy::Effect(effect_id)) => {
            effect::in_the_way(facts, todo, *effect_id).detail("reason", reason.name())
        }
        Reason::Unresolved(UnresolvedBy::Turn(turn_id)) => {
            because(Code::TurnUnresolved, format!("what the Turn {turn_id} of {id} did is not known"))
                .detail("turn_id", turn_id.to_string())
                .hint(recover_command(*turn_id))
        }
        Reason::Held(turn_id, causes) => because(Code::Held, format!("the result of {id} is held"))
            .detail("turn_id", turn_id.to_string())
            .detail("causes", serde_json::to_value(causes).unwrap_or_default())
            .hint(format!("turn show {turn_id}")),
        Reason::Mine(_) => {
            holder(todo, because(Code::AlreadyClaimed, format!("this agent owns the Todo {id} already")))
        }
        Reason::Peer { by: PeerBy::Scope(other), until } => {
            because(Code::WriteScopeConflict, format!("the owner of {other} writes where {id} would"))
                .detail("other", other.to_string())
                .detail("until_ms", until.as_ms())
                .hint(format!("todo show {other}"))
        }
        Reason::Peer { by: PeerBy::Owner(agent), until } => {
            holder(todo, because(Code::AlreadyClaimed, format!("{agent} owns the Todo {id}")))
                .detail("until_ms", until.as_ms())
        }
        Reason::Peer { by: PeerBy::Reserved(agent), until } => {
            holder(todo, because(Code::AlreadyClaimed, format!("the Todo {id} is reserved for {agent}")))
                .detail("until_ms", until.as_ms())
        }
        Reason::Gate => because(Code::GateBlocked, format!("a gate blocks the Todo {id}"))
            .hint(format!("gate list --goal {}", id.goal())),
        Reason::Replan(covered) => {
            let error = because(Code::NotClaimable, format!("the plan of {id} has to change first"));
            match covered {
                Covered::Derived(of) => error
                    .detail("replan", of.to_string())
                    .hint(format!("todo claim {of} --as agent:{agent_id}")),
                Covered::By(by) => error.detail("replan", by.to_string()).hint(format!("todo show {by}")),
                Covered::Consumed(cause) => {
                    error.detail("cause", cause.as_str()).hint(format!("todo show {id}"))
                }
            }
        }
        Reason::Approval(_) | Reason::Claimable => Error::from(Code::Internal),
    }
}

fn holder(todo: &Todo, error: Error) -> Error {
    let error = error.hint(format!("todo show {}", todo.todo_id));
    match (&todo.ownership, &todo.reserved) {
        (Some(own), _) => error
            .detail("holder", format!("agent:{}@{}", own.agent_id, own.endpoint))
            .detail("expires_at_ms", own.expires_at.as_ms()),
        (None, Some(reserved)) => error
            .detail("holder", format!("agent:{}", reserved.agent_id))
            .detail("expires_at_ms", reserved.until.as_ms()),
        (None, None) => error,
    }
}

/// One executor an agent: no other endpoint of it executes, and no other work Turn.
fn check_executor(facts: &Facts, goal_id: &GoalId, want: &Admission) -> Result<()> {
    for other in facts.agent_turns(goal_id, &want.agent_id)? {
        if other.todo_id() == Some(&want.todo_id) || !turn::executes(facts, other)? {
            continue;
        }
        let is_work = matches!(other.kind, TurnKind::Work { .. });
        if seeded!(TwoExecutors) || !is_work && other.endpoint == want.endpoint {
            continue;
        }
        let error = Error::new(
            Code::ExecutorActive,
            format!(
                "the agent {} executes the Turn {} through {}",
                want.agent_id, other.turn_id, other.endpoint
            ),
        )
        .detail("turn_id", other.turn_id.to_string())
        .detail("endpoint", other.endpoint.as_str())
        .hint(format!("turn show {}", other.turn_id));
        return Err(match turn::ownership(facts, other)? {
            Some(own) => error.detail("until_ms", own.expires_at.as_ms()),
            None => error,
        });
    }
    Ok(())
}

/// The lapsed Turns that a claim of this Todo by this agent ends: what it takes over, and what its agent let lapse.
fn would_end(facts: &Facts, todo_id: &TodoId, agent_id: &AgentId) -> Result<Vec<TurnId>> {
    let mut lapsed = lapsed_of(facts, todo_id.goal(), agent_id)?;
    let of_todo = facts.todo(todo_id)?.map(|todo| facts.live_turn(todo)).transpose()?.flatten();
    if let Some(turn) = of_todo.filter(|turn| !lapsed.contains(&turn.turn_id))
        && turn::has_lapsed(facts, turn)?
    {
        lapsed.push(turn.turn_id);
    }
    Ok(lapsed)
}

/// The Turns that an agent let lapse.
fn lapsed_of(facts: &Facts, goal_id: &GoalId, agent_id: &AgentId) -> Result<Vec<TurnId>> {
    let mut lapsed: Vec<TurnId> = Vec::new();
    for turn in facts.agent_turns(goal_id, agent_id)? {
        if turn::has_lapsed(facts, turn)? {
            lapsed.push(turn.turn_id);
        }
    }
    Ok(lapsed)
}

/// Writes ownership, Turn and reservation.
fn record(
    draft: &mut Draft<'_>,
    want: &Admission,
    epoch: u64,
    turn_no: u64,
    spend: Option<Box<Spend>>,
) -> Result<TurnId> {
    let turn_id = TurnId::from_bytes(draft.mint());
    let own_id = OwnId::from_bytes(draft.mint());
    let now = draft.now();
    let facts = draft.facts();
    let goal = facts.goal(want.todo_id.goal())?.ok_or_else(|| Error::from(Code::NotFound))?;
    let todo = facts.todo(&want.todo_id)?.ok_or_else(|| Error::from(Code::NotFound))?;
    let (workspace, scopes) = scopes::of_claim(goal, todo, want.workspace.as_ref())?;
    let terms = facts.terms();
    let turn_key = Digest::of_parts(&[
        terms.authority_id.as_bytes(),
        terms.incarnation.as_bytes(),
        goal.goal_id.as_str().as_bytes(),
        goal.instance.as_bytes(),
        want.todo_id.to_string().as_bytes(),
        &epoch.to_be_bytes(),
        &turn_no.to_be_bytes(),
    ]);
    let decision = Digest::of_parts(&[
        &goal.revision.to_be_bytes(),
        &todo.revision.to_be_bytes(),
        &todo.requirement_revision.to_be_bytes(),
        want.agent_id.as_str().as_bytes(),
    ]);
    let attached = want.executor == Executor::Attached;
    let attempts = if attached { vec![attached_attempt(&want.endpoint, now)?] } else { Vec::new() };
    let turn = Turn {
        turn_id,
        goal_id: goal.goal_id.clone(),
        turn_key,
        kind: TurnKind::Work { todo_id: want.todo_id.clone() },
        agent_id: want.agent_id.clone(),
        endpoint: want.endpoint.clone(),
        own_id,
        executor: want.executor,
        incarnation: terms.incarnation,
        epoch,
        turn_no,
        machine_id: want.machine_id.clone(),
        workspace: workspace.clone(),
        admitted_at: now,
        decision,
        requirement_revision: todo.requirement_revision,
        bucket: Bucket::of(now),
        slot: Slot::Reserved,
        spend,
        state: if attached { TurnState::Dispatched } else { TurnState::Admitted },
        attempts,
        candidate: None,
        verdict: None,
        moved: 0,
        stop_wish: None,
        acceptance_gate: None,
        ended_at: None,
    };
    let ownership = Ownership {
        own_id,
        agent_id: want.agent_id.clone(),
        endpoint: want.endpoint.clone(),
        acquired_at: now,
        expires_at: now.plus(want.ttl_ms),
        ttl_ms: want.ttl_ms,
        frozen: false,
        turn_id,
        workspace,
        scopes,
    };
    let (ownership, turn) = (Box::new(ownership), Box::new(turn));
    draft.emit(Event::Claimed { todo_id: want.todo_id.clone(), ownership, turn })?;
    Ok(turn_id)
}

fn attached_attempt(endpoint: &EndpointId, now: crate::model::Timestamp) -> Result<Attempt> {
    let host: Label = endpoint.as_str().parse()?;
    Ok(Attempt {
        number: 1,
        host,
        host_version: None,
        machine_id: None,
        boot_id: None,
        pid_namespace: None,
        containment: None,
        guarantee: None,
        dispatched_at: now,
        deadline_at: None,
        tree: None,
        end: None,
    })
}
