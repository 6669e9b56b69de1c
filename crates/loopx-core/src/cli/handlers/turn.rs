//! Owns the handlers of `turn` that move one: `run`, `stop`, `accept`, `recover`, `abandon`.

use std::{path::PathBuf, time::Duration as Wait};

use super::{
    caller::caller,
    desk::{Desk, tree_of},
    given, goal, names, progress,
    reader::Reader,
    submit::{Wish, operation_id, submit, with_way_out},
    turn_end, turn_plan,
    workbench::{Workbench, interrupted},
};
use crate::{
    authority::clock::Deadline,
    cli::{Args, Context, Document, Rendered},
    error::{Class, Code, Error, Result, echo},
    kernel::{Command, TurnCommand, recover_command},
    model::{AgentId, Duration, EndpointId, GoalId, TodoId, Turn, TurnId, Workspace},
    turn::{self, Admitted, CommandHost, Done, Host, Hosting, Start},
};

/// How long `turn stop` waits for a driver that lives to end its host.
const STOP_WAIT: Wait = Wait::from_secs(12);

/// `turn run`.
pub(in crate::cli) fn run(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let (agent, endpoint) = given::executor(args)?;
    let mut bench = Workbench::of(context, &desk)?;
    let chosen = choose(context, args, &mut desk, &bench, (&agent, &endpoint))?;
    if args.switch("dry-run") {
        return turn_plan::plan(context, args);
    }
    let who = caller(context, args, &mut desk)?;
    if who.provenance.contained.is_some() {
        return Err(Error::new(Code::ActorNotAllowed, "what runs below a Turn starts no other"));
    }
    let start = Start {
        operation_id: operation_id(args)?,
        actor: who.actor.clone(),
        provenance: who.provenance,
        goal_id: chosen.todo_id.goal().clone(),
        executor: (agent, endpoint),
        workspace: chosen.workspace.clone(),
        ttl_ms: Some(Duration::from_ms(desk.settings.millis("ownership.ttl")?)),
        todo_id: chosen.todo_id.clone(),
    };
    let stopped = interrupted()?;
    let (start, host, admitted) = admit(context, args, &mut desk, &mut bench, chosen, start)?;
    let progress = progress::watch(context, &who, stopped);
    let done = turn::drive(&mut bench.site(&mut desk), &start, admitted, host.as_ref(), &progress)?;
    progress.over(done.turn().state.as_str());
    turn::prove_after(&mut bench.site(&mut desk), &done.receipt)?;
    turn_end::answer(&done, &start.operation_id, &Reader::of(context, args, &desk))
}

/// What a run works on, where, and with which host.
struct Chosen {
    todo_id: TodoId,
    workspace: Workspace,
    host: Box<dyn Host>,
}

fn choose(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    bench: &Workbench,
    (agent, endpoint): (&AgentId, &EndpointId),
) -> Result<Chosen> {
    let todo_id = turn_plan::todo_of(context, args, desk, agent, endpoint)?;
    let (workspace, folder) = place(context, args, desk, todo_id.goal())?;
    let host = bench.host(CommandHost::NAME, hosting(context, args, desk, bench, folder)?)?;
    Ok(Chosen { todo_id, workspace, host })
}

/// How often a run decides again. Each time somebody else got on, so this only bounds a disagreement.
const DECISIONS_MAX: usize = 64;

/// Admits a run to what was chosen. What LoopX chose itself and another took first, it chooses again; what a person named
/// is refused as it is.
fn admit(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    bench: &mut Workbench,
    mut chosen: Chosen,
    mut start: Start,
) -> Result<(Start, Box<dyn Host>, Admitted)> {
    let is_named = args.text("todo").is_some();
    let mut left = DECISIONS_MAX;
    loop {
        let (agent, todo_id) = (&start.executor.0, &start.todo_id);
        let concerns = |turn: &Turn| turn.agent_id == *agent || turn.todo_id() == Some(todo_id);
        if !turn::has_begun(&mut desk.authority, &start.operation_id)? {
            turn::prove_before(&mut bench.site(desk), &start.goal_id, &concerns)?;
        }
        let refused = match turn::admit(&mut bench.site(desk), &start) {
            Ok(admitted) => return Ok((start, chosen.host, admitted)),
            Err(error) => error,
        };
        left -= 1;
        // While an undo changes the work tree, no other Todo of it can be worked on either.
        if is_named || left == 0 || !is_lost(&refused) || turn::is_undo(&refused) {
            return Err(match refused.code() {
                Code::TurnUnresolved => with_way_out(context, desk, refused),
                Code::AlreadyClaimed if !is_named => {
                    let agent = &start.executor.0;
                    Error::new(Code::NotReady, format!("others took each Todo that {agent} was to work on"))
                        .detail("why", "owned_by_peers")
                        .hint(format!("turn plan --agent {agent}"))
                }
                _ => refused, // wildcard: every other refusal has its own hint
            });
        }
        chosen = choose(context, args, desk, bench, (&start.executor.0, &start.executor.1))?;
        let is_same = start.todo_id == chosen.todo_id;
        if is_same && refused.code() == Code::OperationConflict {
            return Err(refused);
        }
        start.todo_id = chosen.todo_id.clone();
        start.goal_id = chosen.todo_id.goal().clone();
        start.workspace = chosen.workspace.clone();
    }
}

/// Whether a refusal says that what was decided on has changed since: then another decision finds out what to do.
pub(super) fn is_lost(refused: &Error) -> bool {
    matches!(refused.code().class(), Class::Conflict | Class::Uncertain)
        || matches!(refused.code(), Code::Held | Code::GateBlocked)
}

/// The work tree of a run: the flag's, else the folder's, else the Goal's.
pub(super) fn place(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    goal: &GoalId,
) -> Result<(Workspace, PathBuf)> {
    let given = args.file("workspace").map(std::path::Path::to_owned);
    let here = || tree_of(context.folder().ok()?, desk.project.as_ref());
    let tree = given.or_else(here);
    let goals = if tree.is_none() { names::goal_row(desk, goal)?.workspace } else { None };
    let Some(workspace) = goals else {
        let (workspace, folder) = goal::work_tree(context, desk, tree.as_deref())?;
        if !args.switch("dry-run") {
            desk.trees().note(&workspace, &folder)?;
        }
        return Ok((workspace, folder));
    };
    let folder = desk.trees().folder(&workspace)?.ok_or_else(|| {
        Error::new(Code::NotReady, format!("this machine does not know the work tree of {goal}"))
            .detail("argument", "--workspace")
            .hint(format!("{} --help", args.path()))
    })?;
    Ok((workspace, folder))
}

/// How the host is started: the command's program found now, so that a recovery starts the same one.
pub(super) fn hosting(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &Desk,
    bench: &Workbench,
    folder: PathBuf,
) -> Result<Hosting> {
    let mut argv = args.argvs("host").next().map(<[String]>::to_vec).unwrap_or_default();
    let name = argv.first().cloned().unwrap_or_default();
    let found = turn::find_program(&name, context.folder().unwrap_or(&folder), &bench.machine);
    let found = found.and_then(|path| path.into_os_string().into_string().ok()).ok_or_else(|| {
        let looked = if name.contains('/') { "seen from this folder" } else { "in the folders of PATH" };
        let message =
            format!("the host program `{}` is not there, or cannot be executed, {looked}", echo(&name));
        Error::new(Code::HostUnavailable, message)
            .detail("argument", "--host")
            .hint(format!("{} --help", args.path()))
    })?;
    if let Some(first) = argv.first_mut() {
        *first = found;
    }
    Ok(Hosting {
        argv,
        folder,
        wall_ms: desk.settings.millis("turn.deadline")?,
        attempts_max: u8::try_from(desk.settings.count("turn.attempts")?).unwrap_or(1),
    })
}

/// `turn stop`.
pub(in crate::cli) fn stop(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let (turn_id, row) = named(&mut desk, args)?;
    let command = Command::Turn(TurnCommand::Stop {
        turn_id,
        own_id: own(context, args)?,
        reason: given::parsed(args, "reason")?,
    });
    let written = submit(context, args, &mut desk, Wish::new(row.goal_id.clone(), command))?;
    let mut bench = Workbench::of(context, &desk)?;
    // A driver that lives ends its host itself; where it is gone, the proof does.
    let deadline = Deadline::after(STOP_WAIT);
    let mut around = bench.site(&mut desk).around(turn_id)?;
    while around.turn.is_driven() && !around.turn.is_terminal() && !deadline.left().is_zero() {
        let proof = turn::minted_id()?;
        match turn::prove(&mut bench.site(&mut desk), turn_id, &proof) {
            Ok(done) => around = done.around,
            Err(error) if error.code() == Code::ExecutorActive => {
                let slice = deadline.left().min(Wait::from_millis(250));
                desk.authority.wait(slice, |_| Ok(false))?;
                around = bench.site(&mut desk).around(turn_id)?;
            }
            Err(_) => {
                around = bench.site(&mut desk).around(turn_id)?;
                break;
            }
        }
    }
    let document = Document::new().para(said_stop(&around.turn));
    turn_end::moved(&Done { receipt: written.receipt, around, left: Vec::new() }, document)
}

fn said_stop(turn: &Turn) -> String {
    if turn.is_terminal() {
        turn_end::over(turn)
    } else {
        format!("the Turn {} is asked to stop; its driver ends it", turn.turn_id)
    }
}

/// The token an owner presents, where a verb has no flag of its own for it.
fn own(context: &Context<'_, '_>, _: &Args) -> Result<Option<crate::model::OwnId>> {
    context.env.text(crate::cli::Var::LoopxOwn)?.map(str::parse).transpose()
}

/// `turn accept`.
pub(in crate::cli) fn accept(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let (turn_id, row) = named(&mut desk, args)?;
    let command = Command::Turn(TurnCommand::Accept { turn_id });
    let written = submit(context, args, &mut desk, Wish::new(row.goal_id, command))?;
    let around = Workbench::of(context, &desk)?.site(&mut desk).around(turn_id)?;
    let reader = Reader::of(context, args, &desk);
    let prove = reader.command(&recover_command(turn_id));
    let document = Document::new().line(format!("the result stands for the new text; prove it: {prove}"));
    turn_end::moved(&Done { receipt: written.receipt, around, left: Vec::new() }, document)
}

/// `turn abandon`.
pub(in crate::cli) fn abandon(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let (turn_id, row) = named(&mut desk, args)?;
    let mut bench = Workbench::of(context, &desk)?;
    // On the machine of the attempt its tree is ended first; elsewhere the rule waits for the attempt's time.
    turn::end_left(&mut bench.site(&mut desk), &row)?;
    let command = Command::Turn(TurnCommand::Abandon { turn_id, reason: given::needed(args, "reason")? });
    let written = submit(context, args, &mut desk, Wish::new(row.goal_id, command))?;
    let around = bench.site(&mut desk).around(turn_id)?;
    let document = Document::new().line(format!("the Turn {turn_id} is given up; its Todo is free"));
    turn_end::moved(&Done { receipt: written.receipt, around, left: Vec::new() }, document)
}

/// `turn recover`.
pub(in crate::cli) fn recover(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let mut desk = Desk::open(context, args)?;
    let mut bench = Workbench::of(context, &desk)?;
    let Some(word) = args.text("id").map(str::to_owned) else {
        let goal = names::goal_given(args)?;
        if args.switch("dry-run") {
            return super::turn_show::to_prove(&mut desk, goal.as_ref());
        }
        let done = turn::prove_all(&mut bench.site(&mut desk), goal.as_ref())?;
        return turn_end::proved(&done, &Reader::of(context, args, &desk));
    };
    let turn_id = names::turn(&mut desk, &word)?;
    if args.switch("dry-run") {
        if !args.switch("resume") {
            return super::turn_show::show_one(context, args, &mut desk, turn_id);
        }
        let host = host_given(context, args, &mut desk, &bench, turn_id)?;
        let would = turn::would(&mut bench.site(&mut desk), turn_id, host.as_deref())?;
        return turn_end::would(&names::turn_row(&mut desk, turn_id)?, &would);
    }
    let who = caller(context, args, &mut desk)?;
    let base = operation_id(args)?;
    let mut started = None;
    let done = if args.switch("resume") {
        let before = names::turn_row(&mut desk, turn_id)?.attempts.len();
        let stopped = interrupted()?;
        let host = host_given(context, args, &mut desk, &bench, turn_id)?;
        let progress = progress::watch(context, &who, stopped);
        let done = turn::resume(&mut bench.site(&mut desk), turn_id, &base, host.as_deref(), &progress)?;
        progress.over(done.turn().state.as_str());
        if done.turn().attempts.len() > before {
            started = turn::starts_again(&mut bench.site(&mut desk), turn_id)?;
        }
        done
    } else {
        turn::prove(&mut bench.site(&mut desk), turn_id, &base)?
    };
    turn::prove_after(&mut bench.site(&mut desk), &done.receipt)?;
    if let Some(host) = started {
        context.note(&format!("the host was started again: {host}"));
    }
    turn_end::answer(&done, &base, &Reader::of(context, args, &desk))
}

/// The host that a recovery is given by a flag.
fn host_given(
    context: &Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    bench: &Workbench,
    turn_id: TurnId,
) -> Result<Option<Box<dyn Host>>> {
    if args.argvs("host").next().is_none() {
        return Ok(None);
    }
    let row = names::turn_row(desk, turn_id)?;
    let todo_id = row.todo_id().cloned().ok_or_else(|| Error::from(Code::Internal))?;
    let (_, folder) = place(context, args, desk, todo_id.goal())?;
    bench.host(CommandHost::NAME, hosting(context, args, desk, bench, folder)?).map(Some)
}

fn named(desk: &mut Desk, args: &Args) -> Result<(TurnId, Turn)> {
    let turn_id = names::turn(desk, args.needed("id")?)?;
    Ok((turn_id, names::turn_row(desk, turn_id)?))
}
