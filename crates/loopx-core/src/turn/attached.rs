//! Owns the verbs by which an attached owner begins its Turn and ends it: a claim; a candidate, its validators, a verdict.
//!
//! Knows nothing of hosts. Each commit has an id derived from the verb's own, so that the same verb given again finds
//! the receipts that exist and goes on at the first that is missing.

use std::path::Path;

use super::{
    commits::{Commit, ROUNDS},
    examine::{examine, needed_folder, scopes},
    lock::DriverLock,
    opening::{Opening, Outside},
    renewal::Renewal,
    site::{Around, Site},
    snapshot::UndoLock,
    watch::Watcher,
};
use crate::{
    authority::{Authority, StepRight, last_terms},
    boundary,
    error::{Code, Error, Result},
    failpoint,
    kernel::{ClaimCommand, Command, Facts, Outcome, Read, Step},
    model::{
        Actor, Candidate, Continuation, Digest, Expected, GoalId, Operation, OperationId, OwnId, Pointer,
        Provenance, Receipt, ResultKind, Timestamp, TodoId, Turn, TurnId, TurnState, Workspace,
    },
    process::Process,
};

/// What an owner says of its work.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The verb's id.
    pub operation_id: OperationId,
    /// The owner.
    pub actor: Actor,
    /// How it came.
    pub provenance: Provenance,
    /// The Goal.
    pub goal_id: GoalId,
    /// The Todo.
    pub todo_id: TodoId,
    /// The token the owner presents.
    pub own_id: Option<OwnId>,
    /// What it says.
    pub kind: ResultKind,
    /// What follows a completion.
    pub continuation: Continuation,
    /// Whether it wants to go on with the next Turn.
    pub goes_on: bool,
    /// In short, what was done; screened here.
    pub summary: Option<String>,
    /// What it points at.
    pub evidence: Vec<Pointer>,
}

/// Where a verb left its Turn.
#[derive(Debug, Clone)]
pub struct Done {
    /// What the last commit returned.
    pub receipt: Receipt,
    /// The Turn as it stands now.
    pub around: Around,
    /// Processes of it that could not be ended.
    pub left: Vec<Process>,
}

impl Done {
    /// The Turn.
    pub fn turn(&self) -> &Turn {
        &self.around.turn
    }
}

/// Submits the claim of an agent that comes by itself, unless an undo changes the work tree it would write in.
///
/// Errors: those of the claim; `write_scope_conflict` during an undo, and then nothing was written; `store_*`.
pub fn submit_claim(
    authority: &mut Authority,
    locks: &Path,
    workspace: Option<&Workspace>,
    operation: Operation<Command>,
) -> Result<Receipt> {
    let workspace = match workspace {
        Some(workspace) => Some(workspace.clone()),
        None => authority.read_first(|view| {
            let mut facts = Facts::new(last_terms(view)?);
            view.load(&[Read::Goal(operation.goal_id.clone())].into(), &mut facts)?;
            Ok(facts.goal(&operation.goal_id)?.and_then(|goal| goal.workspace.clone()))
        })?,
    };
    authority.submit_holding(operation, &mut |outcome: &Outcome| match (&workspace, outcome.own_id) {
        (Some(workspace), Some(_)) => UndoLock::check(locks, workspace),
        (Some(_) | None, _) => Ok(()),
    })
}

/// Ends an attached Turn by its owner's word and its validators' proof.
///
/// Errors: those of the kernel for what the owner presents; `not_ready` where this machine does not know the work tree.
/// A result that was refused, or is held, is no error here: the Turn's state tells.
pub fn finish(site: &mut Site<'_>, wish: &Wish, watcher: &dyn Watcher) -> Result<Done> {
    let candidate_id = Commit::OwnCandidate.of(&wish.operation_id)?;
    let turn_id = match site.receipt(&candidate_id)? {
        // Given again: the Turn it was given for, whoever has the Todo now.
        Some(receipt) => receipt.outcome::<Outcome>()?.turn_id,
        None => present_turn(site, wish)?,
    };
    let Some(turn_id) = turn_id else { return refuse(site, wish) };
    let around = site.around(turn_id)?;
    if around.turn.is_driven() {
        let message =
            format!("a host works on the Todo {}; its result comes through its own pipe", wish.todo_id);
        return Err(Error::new(Code::InvalidTransition, message).hint(format!("turn show {turn_id}")));
    }
    // Two that prove one result would end each other's validators.
    let right = Proving::take(site, &around.turn)?;
    let finished = finish_by(site, wish, &around, candidate_id, &right, watcher);
    right.close();
    finished
}

/// The right to prove the result of an attached Turn; there is no other driver of it. One that has ended needs no lock, and
/// takes nothing.
#[derive(Debug)]
pub(super) struct Proving {
    turn_id: TurnId,
    lock: Option<DriverLock>,
}

impl Proving {
    /// Takes it, unless another process has it, whose lock's file may have been taken away.
    ///
    /// Errors: `executor_active` while another process of this machine proves it; `disk_full`, `store_unavailable`.
    pub(super) fn take(site: &Site<'_>, turn: &Turn) -> Result<Self> {
        let turn_id = turn.turn_id;
        let lock = (!turn.is_terminal()).then(|| DriverLock::take_over(&site.machine.locks, turn_id));
        let lock = lock.transpose().map_err(|error| proved_elsewhere(error, turn_id))?;
        Ok(Self { turn_id, lock })
    }

    /// Keeps its name, where that was taken away; who has it then is found at the next commit.
    pub(super) fn keep(&self) {
        self.lock.as_ref().map(DriverLock::hold);
    }

    /// Lets go of it.
    pub(super) fn close(self) {
        if let Some(lock) = self.lock {
            lock.close();
        }
    }
}

impl StepRight for Proving {
    fn turn_id(&self) -> TurnId {
        self.turn_id
    }

    fn stands(&self) -> Result<()> {
        let stands = self.lock.as_ref().map_or(Ok(()), StepRight::stands);
        stands.map_err(|error| proved_elsewhere(error, self.turn_id))
    }
}

fn proved_elsewhere(error: Error, id: TurnId) -> Error {
    match error.code() {
        Code::ExecutorActive => {
            Error::new(Code::ExecutorActive, format!("another process proves the result of the Turn {id}"))
                .detail("turn_id", id.to_string())
                .hint(format!("turn show {id}"))
        }
        _ => error, // wildcard: every other error stands as it is
    }
}

fn finish_by(
    site: &mut Site<'_>,
    wish: &Wish,
    around: &Around,
    candidate_id: OperationId,
    right: &Proving,
    watcher: &dyn Watcher,
) -> Result<Done> {
    let turn_id = around.turn.turn_id;
    let step = candidate_step(site, wish, around)?;
    let receipt = site.authority.submit_step(right, operation(wish, candidate_id, step))?;
    failpoint::reach!(OwnerCandidate);
    if receipt.negative().is_some() {
        site.snapshots_of_ended();
        return Ok(Done { receipt, around: site.around(turn_id)?, left: Vec::new() });
    }
    prove(site, wish, right, receipt, watcher)
}

/// Runs the validators, at most twice where the tree moves under them, and records what they said.
fn prove(
    site: &mut Site<'_>,
    wish: &Wish,
    right: &Proving,
    mut last: Receipt,
    watcher: &dyn Watcher,
) -> Result<Done> {
    let turn_id = right.turn_id();
    let mut keeper = site.machine.keeper();
    for round in ROUNDS {
        let around = site.around(turn_id)?;
        let id = Commit::OwnVerdict(round).of(&wish.operation_id)?;
        if let Some(receipt) = site.receipt(&id)? {
            last = receipt;
            continue;
        }
        if !matches!(around.turn.state, TurnState::Candidate) || around.turn.own_id != own(wish, &around) {
            break;
        }
        let mut renewal = Renewal::of(&around);
        let step = examine(site, &around, &mut keeper, &mut |site, phase| {
            watcher.sees(phase);
            right.keep();
            renewal.keep(site, &around, &|id, command| operation(wish, id, command));
            watcher.wants_stop()
        })?;
        failpoint::reach!(OwnerJudged);
        let Some(step) = step else { break };
        last = site.authority.submit_step(right, operation(wish, id, step))?;
        failpoint::reach!(OwnerVerdict);
    }
    site.snapshots_around(&last);
    Ok(Done { receipt: last, around: site.around(turn_id)?, left: Vec::new() })
}

fn own(wish: &Wish, around: &Around) -> OwnId {
    wish.own_id.unwrap_or(around.turn.own_id)
}

pub(super) fn operation<C>(wish: &Wish, operation_id: OperationId, command: C) -> Operation<C> {
    Operation {
        operation_id,
        actor: wish.actor.clone(),
        provenance: wish.provenance,
        goal_id: wish.goal_id.clone(),
        command,
        expected: Expected::default(),
    }
}

/// The Turn that the Todo has now.
fn present_turn(site: &mut Site<'_>, wish: &Wish) -> Result<Option<TurnId>> {
    let reads = [Read::Todo(wish.todo_id.clone())].into();
    let terms = site.authority.present()?;
    site.authority.read(|view| {
        let mut facts = Facts::new(terms.clone());
        view.load(&reads, &mut facts)?;
        Ok(facts.todo(&wish.todo_id)?.and_then(|todo| todo.turn_id))
    })
}

/// Without a Turn there is nothing to end; the kernel says why this token does not count any more.
fn refuse(site: &mut Site<'_>, wish: &Wish) -> Result<Done> {
    let command = Command::Claim(ClaimCommand::Renew { todo_id: wish.todo_id.clone(), own_id: wish.own_id });
    let receipt =
        site.authority.submit(operation(wish, Commit::OwnCandidate.of(&wish.operation_id)?, command))?;
    // Between our read and this, somebody gave the owner its Todo back; asking again finds its Turn.
    Err(Error::new(Code::ReconciliationRequired, format!("the Todo {} has just changed hands", wish.todo_id))
        .detail("operation_id", receipt.operation_id().as_str())
        .hint(format!("todo show {}", wish.todo_id)))
}

pub(super) fn candidate_step(site: &mut Site<'_>, wish: &Wish, around: &Around) -> Result<Step> {
    let validates = !matches!(wish.kind, ResultKind::LookChanged | ResultKind::LookUnchanged);
    let tree = if validates {
        needed_folder(site, around)?;
        site.picture(&around.turn)?
    } else {
        None
    };
    let (outside, shared) =
        if validates { Opening::outside(site, around, tree.as_ref())? } else { Outside::default() };
    let summary = wish.summary.as_deref();
    let summary =
        summary.map(|text| boundary::said("summary", text, boundary::SAID_MAX_BYTES)).transpose()?;
    let said = serde_json::json!({
        "kind": wish.kind, "continuation": wish.continuation, "goes_on": wish.goes_on,
        "summary": summary, "evidence": wish.evidence,
    });
    let candidate = Candidate {
        kind: wish.kind,
        digest: Digest::of_value(&said)?,
        requirement_revision: 0,
        at: Timestamp::default(),
        summary,
        classification: None,
        next_action: None,
        continuation: wish.continuation.clone(),
        evidence: wish.evidence.clone(),
        usage: Vec::new(),
        goes_on: wish.goes_on,
        tree: tree.map(|tree| tree.digest(&scopes(around))),
        outside,
        shared,
    };
    Ok(Step::Candidate {
        turn_id: around.turn.turn_id,
        own_id: wish.own_id,
        candidate: Box::new(candidate),
        wake: None,
        held_by: None,
        awake_ms: None,
    })
}
