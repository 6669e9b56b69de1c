//! Owns what is shown of a Goal's history: each event as one line for people, and its parts for programs.
//!
//! The body of an event is not printed: it holds ownership tokens and the paths of validators.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    budget::{amounts, limited},
    goal::named,
    page::{Listed, STEP, Slice, bad_cursor},
    turn::word,
    words::plain,
};
use crate::{
    authority::{Envelope, EventFilter, Flaw, Head, Record, View, chain_flaw, verify},
    boundary::OwnerView,
    error::{Code, Result},
    kernel::{
        AgentEvent, AttentionEvent, ClaimEvent, EffectEvent, Event, EvidenceEvent, Facts, GateEvent,
        GoalEvent, HandoffEvent, PeerEvent, ProposalEvent, QuotaEvent, Read, ReplanEvent, RewardEvent, Terms,
        TodoEvent, TurnEvent,
    },
    model::{
        About, Actor, Answer, Blocks, Effect, EffectId, End, FailedBy, GateId, GoalId, NounKey, OneNoun,
        OperationId, PeerReturn, Provenance, ReturnId, ShortText, StopWish, Stopped, Timestamp, TodoId,
        TurnId, Verdict, VerdictOutcome, Wake,
    },
};

/// Whose word a verdict is, in [`LogRow::said_by`].
const VALIDATOR: &str = "validator";
/// How many of the things that were seen at once are named.
const SEEN_NAMED: usize = 4;
/// How the note of a Turn begins that wrote where it may not.
const BOUNDARY: &str = Code::BoundaryViolation.as_str();

/// One event, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogRow {
    /// Its number in the Goal.
    pub seq: u64,
    /// When it was committed.
    pub at_ms: Timestamp,
    /// Its stable name.
    pub kind: String,
    /// Who asked; for what a driver or an owner's verb commits, the agent it works for.
    pub actor: Actor,
    /// Whose word it is, where that is not the actor's: `validator`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_by: Option<&'static str>,
    /// Through which door, how surely.
    pub provenance: Provenance,
    /// The operation that made it.
    pub operation_id: OperationId,
    /// The Todos it is about.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub todo_ids: BTreeSet<TodoId>,
    /// The Turn it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The gate it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate_id: Option<GateId>,
    /// The effect it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect_id: Option<EffectId>,
    /// What happened, in one line.
    pub text: String,
}

/// Which part of a Goal's history is shown.
#[derive(Debug, Clone)]
pub struct LogQuery<'a> {
    /// Of which Goal.
    pub goal: &'a GoalId,
    /// Only what is about this Todo.
    pub todo: Option<&'a TodoId>,
    /// Nothing before this moment.
    pub since: Option<Timestamp>,
}

/// A page of a Goal's history.
#[derive(Debug, Serialize)]
pub struct History {
    /// Its rows, newest first, and where the next page starts.
    #[serde(flatten)]
    pub page: Listed<OwnerView<LogRow>>,
    /// Why events from a number on are not shown: the chain does not hold there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<Flaw>,
}

/// A page of a Goal's history for its owner, newest first; the cursor is the number of the last event that was shown.
///
/// Where an event that would be shown does not follow from the one before it, or cannot be read, only those before the
/// first bad one are shown, and that is said. Errors: `not_found`, `store_*`.
pub fn log(view: &mut dyn View, terms: &Terms, query: &LogQuery<'_>, slice: Slice<'_>) -> Result<History> {
    named(view, terms, query.goal)?;
    let head = view.head(query.goal)?.unwrap_or(Head::START);
    if let Some(page) = page(view, terms, query, slice, head)? {
        return Ok(History { page, finding: None });
    }
    let finding = chain_flaw(view, query.goal)?;
    let last = finding.as_ref().and_then(|flaw| flaw.seq).map_or(0, |bad| bad.saturating_sub(1));
    let before = view.events(&EventFilter { goal: query.goal, after: last.saturating_sub(1) }, 1)?.pop();
    let head = before
        .filter(|record| record.seq == last)
        .map_or(Head::START, |record| Head { seq: record.seq, hash: record.hash });
    let page = page(view, terms, query, slice, head)?;
    Ok(History { page: page.unwrap_or(Listed { items: Vec::new(), next_cursor: None }), finding })
}

/// A page of a chain that ends at `end`; none where an event on it does not hold.
fn page(
    view: &mut dyn View,
    terms: &Terms,
    query: &LogQuery<'_>,
    slice: Slice<'_>,
    end: Head,
) -> Result<Option<Listed<OwnerView<LogRow>>>> {
    let head = end.seq;
    // Events below this number are still to be looked at.
    let mut below = match slice.after {
        Some(text) => text.parse::<u64>().map_err(|_| bad_cursor(text))?.min(head.saturating_add(1)),
        None => head.saturating_add(1),
    };
    let step = slice.limit.map_or(STEP, |limit| limit.saturating_add(1).min(STEP));
    let mut items = Vec::new();
    while below > 1 {
        let first = below.saturating_sub(u64::try_from(step).unwrap_or(u64::MAX)).max(1);
        let count = usize::try_from(below - first).unwrap_or(STEP);
        // One event more tells what the first of the page follows from.
        let after = first.saturating_sub(2);
        let more = usize::from(first > 1);
        let records = view.events(&EventFilter { goal: query.goal, after }, count + more)?;
        let Some(mut records) = linked(records, after, count, end) else { return Ok(None) };
        records.reverse();
        for record in records {
            let Ok(envelope) = Envelope::decode(&record.payload) else { return Ok(None) };
            if query.since.is_some_and(|since| envelope.at < since) {
                return Ok(Some(Listed { items, next_cursor: None }));
            }
            if slice.is_full(items.len()) {
                let next_cursor = Some((envelope.seq + 1).to_string());
                return Ok(Some(Listed { items, next_cursor }));
            }
            let row = row(view, terms, envelope)?;
            if query.todo.is_none_or(|todo| row.todo_ids.contains(todo)) {
                items.push(OwnerView::new(row));
            }
        }
        below = first;
    }
    Ok(Some(Listed { items, next_cursor: None }))
}

/// The last `count` of some records, if each follows from the one before it and the last is the end where it has to be.
fn linked(records: Vec<Record>, after: u64, count: usize, end: Head) -> Option<Vec<Record>> {
    let mut shown = records;
    let mut link = Head::START;
    if shown.len() > count {
        let before = shown.remove(0);
        link = Head { seq: before.seq, hash: before.hash };
        if before.seq != after + 1 {
            return None;
        }
    }
    verify(link, &shown).ok()?;
    let last = shown.last()?;
    let reaches = last.seq < end.seq || (last.seq, last.hash) == (end.seq, end.hash);
    (shown.len() == count && reaches).then_some(shown)
}

fn row(view: &mut dyn View, terms: &Terms, envelope: Envelope) -> Result<LogRow> {
    let mut subject = Subject::default();
    let mut text = line(&envelope.body, &mut subject);
    let Subject { mut todo_ids, mut turn_id, gate_id, effect_id, return_id, said_by } = subject;
    if let Some(id) = return_id
        && let Some(given) = noun_of::<PeerReturn>(view, terms, *id.as_bytes())?
    {
        todo_ids.extend([given.todo_id, given.from]);
        turn_id = Some(given.turn_id);
        text = format!("{text} ({})", given.summary);
    }
    if let Some(id) = effect_id
        && let Some(effect) = noun_of::<Effect>(view, terms, *id.as_bytes())?
    {
        todo_ids.extend(effect.blocks.todos);
        text = format!("{text} ({})", effect.what);
    }
    if todo_ids.is_empty() {
        let wished;
        (todo_ids, wished) = behind(view, terms, turn_id, gate_id)?;
        if let Event::Turn(TurnEvent::Ended { end: End::Stopped(Stopped::Stop), note, .. }) = &envelope.body {
            // A driver ends the Turn for the agent; whoever wished it is named.
            let by = wished.map_or_else(|| envelope.actor.clone(), |wish| wish.by);
            text = because(format!("Turn stopped, {by} asked for it"), note.as_ref());
        }
    }
    Ok(LogRow {
        seq: envelope.seq,
        at_ms: envelope.at,
        kind: envelope.kind.into(),
        actor: envelope.actor,
        said_by,
        provenance: envelope.provenance,
        operation_id: envelope.operation_id,
        todo_ids,
        turn_id,
        gate_id,
        effect_id,
        text,
    })
}

/// The Todos behind an event that names only a Turn or a gate, and who wished that Turn to stop.
fn behind(
    view: &mut dyn View,
    terms: &Terms,
    turn_id: Option<TurnId>,
    gate_id: Option<GateId>,
) -> Result<(BTreeSet<TodoId>, Option<StopWish>)> {
    let mut reads = BTreeSet::new();
    reads.extend(turn_id.map(Read::Turn));
    reads.extend(gate_id.map(Read::Gate));
    let mut facts = Facts::new(terms.clone());
    view.load(&reads, &mut facts)?;
    let mut todo_ids = BTreeSet::new();
    let mut wish = None;
    if let Some(turn_id) = turn_id
        && let Some(turn) = facts.turn(&turn_id)?
    {
        todo_ids.extend(turn.todo_id().cloned());
        wish.clone_from(&turn.stop_wish);
    }
    if let Some(gate_id) = gate_id
        && let Some(Blocks::Todos(ids)) = facts.gate(&gate_id)?.map(|gate| &gate.blocks)
    {
        todo_ids.extend(ids.iter().cloned());
    }
    Ok((todo_ids, wish))
}

fn noun_of<T: OneNoun + Clone>(view: &mut dyn View, terms: &Terms, id: [u8; 16]) -> Result<Option<T>> {
    let key = NounKey { kind: T::KIND, id };
    let mut facts = Facts::new(terms.clone());
    view.load(&[Read::Noun(key)].into(), &mut facts)?;
    Ok(facts.noun::<T>(key.id)?.cloned())
}

/// What an event is about.
#[derive(Debug, Default)]
struct Subject {
    todo_ids: BTreeSet<TodoId>,
    turn_id: Option<TurnId>,
    gate_id: Option<GateId>,
    effect_id: Option<EffectId>,
    return_id: Option<ReturnId>,
    said_by: Option<&'static str>,
}

fn of_proposal(event: &ProposalEvent, subject: &mut Subject) -> String {
    match event {
        ProposalEvent::Added { proposal } => {
            subject.todo_ids.extend(proposal.todo_id.clone());
            subject.turn_id = proposal.turn_id;
            format!("proposed `{}`: {}", proposal.verb, proposal.reason)
        }
        ProposalEvent::Confirmed { proposal_id } => format!("confirmed {proposal_id}"),
        ProposalEvent::Rejected { proposal_id, reason: Some(reason) } => {
            format!("rejected {proposal_id}: {reason}")
        }
        ProposalEvent::Rejected { proposal_id, reason: None } => format!("rejected {proposal_id}"),
        ProposalEvent::Deferred { proposal_id, .. } => format!("put {proposal_id} off"),
        ProposalEvent::Lapsed { proposal_id } => format!("{proposal_id} is stale"),
        ProposalEvent::Withdrawn { proposal_id } => format!("took {proposal_id} back"),
    }
}

fn line(event: &Event, subject: &mut Subject) -> String {
    match event {
        Event::Goal(event) => of_goal(event),
        Event::Agent(AgentEvent::Registered { agent_id, .. }) => format!("agent {agent_id} registered"),
        Event::Agent(AgentEvent::Retired { agent_id }) => format!("agent {agent_id} retired"),
        Event::Quota(event) => of_quota(event, subject),
        Event::Todo(event) => of_todo(event, subject),
        Event::Claim(event) => of_claim(event, subject),
        Event::Turn(event) => of_turn(event, subject),
        Event::Gate(event) => of_gate(event, subject),
        Event::Effect(event) => of_effect(event, subject),
        Event::Reward(RewardEvent::Added { reward }) => {
            subject.todo_ids.extend(reward.todo_id.clone());
            subject.turn_id = reward.turn_id;
            format!("judged {}: {}", word(&reward.polarity), reward.reason)
        }
        Event::Proposal(event) => of_proposal(event, subject),
        Event::Replan(ReplanEvent::Written { todo_id, of }) => {
            subject.todo_ids.extend([Some(todo_id), of.covered()].into_iter().flatten().cloned());
            format!("{todo_id} is to change the plan of {}: {}", of.covers, plain(of.cause.as_str()))
        }
        Event::Attention(AttentionEvent::Seen { rows }) => {
            for row in rows {
                match &row.about {
                    About::Todo(id) => subject.todo_ids.extend([id.clone()]),
                    About::Turn(id) => subject.turn_id = subject.turn_id.or(Some(*id)),
                    About::Gate(id) => subject.gate_id = subject.gate_id.or(Some(*id)),
                    About::Effect(id) => subject.effect_id = subject.effect_id.or(Some(*id)),
                    About::Goal(_) | About::Proposal(_) => {}
                }
            }
            let named: Vec<_> = rows.iter().take(SEEN_NAMED).map(|row| row.about.to_string()).collect();
            let more = rows.len() - named.len();
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("seen: {}{more}", named.join(", "))
        }
        Event::Peer(event) => of_return(event, subject),
        Event::Handoff(HandoffEvent::Accepted { handoff }) => {
            subject.todo_ids.insert(handoff.todo_id.clone());
            format!("{} taken over by {}", handoff.todo_id, handoff.by)
        }
        Event::Evidence(EvidenceEvent::Added { evidence }) => {
            subject.todo_ids.extend(evidence.todo_id.clone());
            subject.turn_id = evidence.turn_id;
            let verdict = word(&evidence.verdict);
            match evidence.criterion {
                Some(criterion) => {
                    format!("evidence {verdict} for criterion {criterion}: {}", evidence.pointer)
                }
                None => format!("evidence {verdict}: {}", evidence.pointer),
            }
        }
    }
}

fn of_effect(event: &EffectEvent, subject: &mut Subject) -> String {
    let (effect_id, text) = match event {
        EffectEvent::Intended { effect } => (&effect.effect_id, "effect intended".to_owned()),
        EffectEvent::Dispatched { effect_id } => (effect_id, "effect dispatched".to_owned()),
        EffectEvent::Confirmed { effect_id, .. } => (effect_id, "effect confirmed".to_owned()),
        EffectEvent::FoundAbsent { effect_id, .. } => (effect_id, "effect found absent".to_owned()),
        EffectEvent::Failed { effect_id, .. } => (effect_id, "effect failed".to_owned()),
        EffectEvent::ReadBackInVain { effect_id, .. } => {
            (effect_id, "effect read back, and nothing was told".to_owned())
        }
        EffectEvent::StopRequested { effect_id, .. } => (effect_id, "effect asked to stop".to_owned()),
        EffectEvent::StopConfirmed { effect_id, .. } => (effect_id, "effect has stopped".to_owned()),
        EffectEvent::WrittenOff { effect_id, reason, .. } => {
            (effect_id, because("effect written off".to_owned(), Some(reason)))
        }
        EffectEvent::Waived { effect_id, reason } => {
            (effect_id, because("effect let go".to_owned(), Some(reason)))
        }
    };
    subject.effect_id = Some(*effect_id);
    text
}

fn of_return(event: &PeerEvent, subject: &mut Subject) -> String {
    let (return_id, text) = match event {
        PeerEvent::Returned { given } => {
            (&given.return_id, format!("{} returned to {}", given.from, given.todo_id))
        }
        PeerEvent::Adopted { return_id, reason } => {
            (return_id, because("return adopted".to_owned(), reason.as_ref()))
        }
        PeerEvent::Rejected { return_id, reason } => {
            (return_id, because("return rejected".to_owned(), Some(reason)))
        }
        PeerEvent::Superseded { return_id, reason, .. } => {
            (return_id, because("return superseded".to_owned(), Some(reason)))
        }
    };
    subject.return_id = Some(*return_id);
    text
}

fn of_goal(event: &GoalEvent) -> String {
    match event {
        GoalEvent::Started { new, .. } => format!("Goal started: {}", new.objective),
        GoalEvent::Updated { .. } => "Goal changed".to_owned(),
        GoalEvent::Stopped {} => "Goal stopped".to_owned(),
        GoalEvent::Resumed {} => "Goal resumed".to_owned(),
        GoalEvent::CriterionWaived { criterion, reason } => format!("criterion {criterion} waived: {reason}"),
        GoalEvent::CriterionShown { criterion, .. } => format!("criterion {criterion} shown"),
        GoalEvent::Closed { kind, reason } => {
            because(format!("Goal closed, {}", word(kind)), reason.as_ref())
        }
        GoalEvent::Reopened {} => "Goal reopened".to_owned(),
    }
}

fn because(text: String, reason: Option<&ShortText>) -> String {
    match reason {
        Some(reason) => format!("{text}: {reason}"),
        None => text,
    }
}

fn of_todo(event: &TodoEvent, subject: &mut Subject) -> String {
    let (todo_id, text) = match event {
        TodoEvent::Added { todo_id, new, .. } => (todo_id, format!("added {}: {}", todo_id, new.title)),
        TodoEvent::Updated { todo_id, .. } => (todo_id, format!("{todo_id} changed")),
        TodoEvent::Linked { todo_id, depends_on } => (todo_id, format!("{todo_id} waits for {depends_on}")),
        TodoEvent::Unlinked { todo_id, depends_on } => {
            (todo_id, format!("{todo_id} no longer waits for {depends_on}"))
        }
        TodoEvent::Deferred { todo_id, wake } => (todo_id, format!("{todo_id} deferred {}", until(wake))),
        TodoEvent::Woken { todo_id } => (todo_id, format!("{todo_id} woke up")),
        TodoEvent::Blocked { todo_id, reason } => (todo_id, format!("{todo_id} blocked: {reason}")),
        TodoEvent::Unblocked { todo_id } => (todo_id, format!("{todo_id} unblocked")),
        TodoEvent::Paused { todo_id } => (todo_id, format!("{todo_id} on hold")),
        TodoEvent::Unpaused { todo_id } => (todo_id, format!("{todo_id} off hold")),
        TodoEvent::Completed { todo_id, completion } => {
            (todo_id, because(format!("{todo_id} done"), completion.waived.as_ref()))
        }
        TodoEvent::LookedAt { todo_id, changed } => {
            (todo_id, format!("{todo_id} looked at, {}", if *changed { "changed" } else { "unchanged" }))
        }
        TodoEvent::Cancelled { todo_id, reason, .. } => (todo_id, format!("{todo_id} cancelled: {reason}")),
        TodoEvent::Reopened { todo_id } => (todo_id, format!("{todo_id} reopened")),
    };
    subject.todo_ids.insert(todo_id.clone());
    text
}

fn until(wake: &Wake) -> String {
    match wake {
        Wake::After(_) => "until a time".to_owned(),
        Wake::TodoDone(id) => format!("until {id} is done"),
        Wake::Gate(id) => format!("until {id} is answered"),
    }
}

fn of_claim(event: &ClaimEvent, subject: &mut Subject) -> String {
    let (todo_id, text) = match event {
        ClaimEvent::Claimed { todo_id, ownership, turn } => {
            subject.turn_id = Some(turn.turn_id);
            (todo_id, format!("{todo_id} claimed by {}, Turn {}", ownership.agent_id, turn.turn_no))
        }
        ClaimEvent::Renewed { todo_id, .. } => (todo_id, format!("{todo_id} kept for longer")),
        ClaimEvent::Rearmed { todo_id, .. } => (todo_id, format!("{todo_id} kept on after it had run out")),
        ClaimEvent::Reserved { todo_id, agent_id, .. } => {
            (todo_id, format!("{todo_id} handed to {agent_id}"))
        }
    };
    subject.todo_ids.insert(todo_id.clone());
    text
}

fn of_turn(event: &TurnEvent, subject: &mut Subject) -> String {
    let (turn_id, text) = match event {
        TurnEvent::Dispatched { turn_id, attempt, .. } => {
            (turn_id, format!("attempt {} started with {}", attempt.number, attempt.host))
        }
        TurnEvent::AttemptEnded { turn_id, failure: Some(failure), .. } => {
            (turn_id, format!("attempt ended, {}", plain(failure.as_str())))
        }
        TurnEvent::AttemptEnded { turn_id, failure: None, .. } => (turn_id, "attempt ended".to_owned()),
        TurnEvent::CandidateRecorded { turn_id, candidate, .. } => {
            let said = format!("result: {}", plain(&word(&candidate.kind)));
            (turn_id, because(said, candidate.summary.as_ref()))
        }
        TurnEvent::Validated { turn_id, verdict } => {
            subject.said_by = verdict.validator.as_ref().map(|_| VALIDATOR);
            (turn_id, judged(verdict))
        }
        TurnEvent::TreeMoved { turn_id, .. } => (turn_id, "the tree moved while validators ran".to_owned()),
        TurnEvent::Held { turn_id, .. } => (turn_id, "result held".to_owned()),
        TurnEvent::Returned { turn_id, renewed: true, .. } => {
            (turn_id, "result accepted for the new text".to_owned())
        }
        TurnEvent::Returned { turn_id, renewed: false, .. } => {
            (turn_id, "result is to be proved again".to_owned())
        }
        TurnEvent::Unresolved { turn_id, why, .. } => {
            (turn_id, format!("Turn unresolved, {}", plain(&word(why))))
        }
        TurnEvent::ExecutorGone { turn_id } => (turn_id, "the executor was proved gone".to_owned()),
        TurnEvent::StopWished { turn_id, reason } => {
            (turn_id, because("Turn is to be stopped".to_owned(), reason.as_ref()))
        }
        TurnEvent::Ended { turn_id, end, note, .. } => (turn_id, over(*end, note.as_ref(), subject)),
    };
    subject.turn_id = Some(*turn_id);
    text
}

/// How a Turn ended, and why.
fn over(end: End, note: Option<&ShortText>, subject: &mut Subject) -> String {
    match (end, note) {
        // No validator was asked: the note says where it wrote.
        (End::Failed(FailedBy::Validate), Some(note)) if note.as_str().starts_with(BOUNDARY) => {
            format!("Turn failed, {note}")
        }
        // A driver that knows no more than the class of a failure notes that: it is said once.
        (End::Failed(FailedBy::Host(failure)), Some(note)) if note.as_str() == failure.as_str() => ended(end),
        (_, note) => {
            subject.said_by = matches!(end, End::Failed(FailedBy::Validate)).then_some(VALIDATOR);
            because(ended(end), note)
        }
    }
}

/// What a validator said, by its name; its note begins with that.
fn judged(verdict: &Verdict) -> String {
    let Some(name) = &verdict.validator else {
        return because(format!("validators: {}", word(&verdict.outcome)), verdict.note.as_ref());
    };
    let said = match verdict.outcome {
        VerdictOutcome::Passed => "passed",
        VerdictOutcome::Progress => "saw progress",
        VerdictOutcome::Failed => "failed",
        VerdictOutcome::Inconclusive => "could not tell",
        VerdictOutcome::Unchecked => "did not run",
    };
    let why = verdict.note.as_ref().map(|note| {
        let rest = note.as_str().strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix(": "));
        rest.unwrap_or(note.as_str())
    });
    match why {
        Some(why) => format!("`{name}` {said}: {why}"),
        None => format!("`{name}` {said}"),
    }
}

fn ended(end: End) -> String {
    match end {
        End::Settled => "Turn settled".to_owned(),
        End::Stopped(why) => format!("Turn stopped, {}", plain(&word(&why))),
        End::Failed(FailedBy::Host(failure)) => format!("Turn failed, {}", plain(failure.as_str())),
        End::Failed(FailedBy::Validate) => "Turn failed its validators".to_owned(),
        End::Fenced => "Turn fenced by another ownership".to_owned(),
    }
}

fn of_quota(event: &QuotaEvent, subject: &mut Subject) -> String {
    match event {
        QuotaEvent::LimitSet { agent_id, limit } => {
            let whose = agent_id.as_ref().map_or_else(|| "the Goal".to_owned(), ToString::to_string);
            match limit {
                Some(limit) => format!("budget of {whose} set to {}", limited(limit)),
                None => format!("budget of {whose} lifted"),
            }
        }
        QuotaEvent::CeilingSet { agent_id, todo_id, ceiling } => {
            subject.todo_ids.extend(todo_id.clone());
            let todo = todo_id.as_ref().map(|todo_id| format!("work on {todo_id}"));
            let agent = agent_id.as_ref().map(|agent_id| format!("a Turn of {agent_id}"));
            let whose = todo.or(agent).unwrap_or_else(|| "a Turn".to_owned());
            if ceiling.is_open() {
                return format!("what {whose} may use is not said any more");
            }
            format!("{whose} may use {} an attempt", amounts(ceiling, None))
        }
        QuotaEvent::Used { turn_id, meter, amounts: used, currency, .. } => {
            subject.turn_id = Some(*turn_id);
            let used = if used.is_open() { "nothing known".to_owned() } else { amounts(used, *currency) };
            format!("used {used}, by the meter of the {}", meter.as_str())
        }
        QuotaEvent::Voided { turn_id, reason } => {
            subject.turn_id = Some(*turn_id);
            format!("its spend was taken back: {reason}")
        }
    }
}

fn of_gate(event: &GateEvent, subject: &mut Subject) -> String {
    let (gate_id, text) = match event {
        GateEvent::Opened { gate_id, new, accepts } => {
            subject.turn_id = *accepts;
            if let Blocks::Todos(ids) = &new.blocks {
                subject.todo_ids.extend(ids.iter().cloned());
            }
            (gate_id, format!("{} asked: {}", new.kind.as_str(), new.question))
        }
        GateEvent::Resolved { gate_id, answer } => {
            let text = match answer {
                Answer::Approve => "gate approved".to_owned(),
                Answer::Deny { reason } => because("gate denied".to_owned(), reason.as_ref()),
                Answer::Answer { text } => format!("gate answered: {text}"),
                Answer::Defer { .. } => "gate put off".to_owned(),
            };
            (gate_id, text)
        }
        GateEvent::Withdrawn { gate_id } => (gate_id, "gate withdrawn".to_owned()),
        GateEvent::Reopened { gate_id } => (gate_id, "gate asked again".to_owned()),
    };
    subject.gate_id = Some(*gate_id);
    text
}
