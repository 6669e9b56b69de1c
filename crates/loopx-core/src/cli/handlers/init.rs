//! Owns the handler of `init`: profile, ledger, the first user's token, the folder's binding, the first Goal.
//!
//! Invariant: again it changes nothing and finds the same Goal.

use std::path::Path;

use serde_json::{Map, json};

use super::{
    caller::{Caller, caller},
    desk::{self, Desk, around},
    given, goal, goal_terms, schema, show,
    submit::{Wish, Written, operation_id, submit_as},
};
use crate::{
    authority::profile::{DEFAULT_PROFILE, HostFilesystem, Place, Profile, file},
    cli::{Args, Context, Document, Project, Rendered, bind},
    error::{Code, Error, Result, echo, shell_line},
    kernel::{Command, Facts, GoalCommand, NewGoal, Read},
    model::json_value,
    model::{Actor, Assurance, Door, Goal, GoalId, GoalState, Provenance, ShortText, Text},
};

/// How many slugs of one objective are tried.
const SLUGS_MAX: u32 = 1000;

/// The name of the first user's token in the profile's folder.
pub(super) const TOKEN_FILE: &str = "user.token";

/// `init`.
pub(in crate::cli) fn init(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let title: Option<Text> = given::parsed(args, "goal")?;
    let folder = context.folder()?.to_owned();
    check_binding(context, args, &folder)?;
    if args.switch("dry-run") {
        return preview(context, args, &folder, title.as_ref());
    }
    // Who asks is known before anything is made.
    let first = first_user(context, args)?;
    let (mut desk, new_profile) = Desk::create(context, args)?;
    let caller = who(context, args, &mut desk, &first)?;
    let new_token = leave_token(&desk, &first)?;
    let started = match title {
        Some(title) => Some(start(context, args, &mut desk, caller, title)?),
        None => None,
    };
    let bound = bound(&mut desk, &folder, started.as_ref(), args.switch("rebind"))?;
    let goal = bound.goal.as_deref().map(str::parse).transpose()?;
    let closed = goal
        .map(|id| found(&mut desk, &id))
        .transpose()?
        .flatten()
        .is_some_and(|goal| matches!(goal.state, GoalState::Closed { .. }));
    let done = Done { new_profile, new_token, started, bound, closed };
    done.rendered(context, &desk, &folder)
}

/// What `init` did.
struct Done {
    new_profile: bool,
    new_token: bool,
    started: Option<Started>,
    bound: Bound,
    /// Whether the Goal is closed, so that nothing can be added to it.
    closed: bool,
}

struct Started {
    goal: GoalId,
    created: bool,
    written: Option<Written>,
}

struct Bound {
    goal: Option<String>,
    /// The other Goal that the folder was bound to until now.
    before: Option<String>,
    created: bool,
    excluded: bool,
}

/// The person who begins: whoever is named, else the login name, since nobody else can be meant here.
fn first_user(context: &Context<'_, '_>, args: &Args) -> Result<Actor> {
    match args.text("as") {
        Some(named) => named.parse(),
        None => format!("user:{}", context.login()?).parse(),
    }
}

/// Who asks, below a Turn its agent all the same.
fn who(context: &Context<'_, '_>, args: &Args, desk: &mut Desk, first: &Actor) -> Result<Caller> {
    match caller(context, args, desk) {
        Err(error) if error.code() == Code::MissingActor => {
            let provenance = Provenance { door: Door::Cli, assurance: Assurance::Stated, contained: None };
            Ok(Caller { actor: first.clone(), provenance, by_token: false })
        }
        other => other,
    }
}

/// Leaves the first user's token in a new profile, where only its owner can read it; says whether it did.
fn leave_token(desk: &Desk, first: &Actor) -> Result<bool> {
    let tokens = desk.tokens();
    if !first.is_user() || !tokens.list()?.is_empty() {
        return Ok(false);
    }
    let path = desk.profile.place().dir().join(TOKEN_FILE);
    // A process that dies between the two leaves a secret that proves nothing, and the next `init` makes another.
    let keep = |secret: &str| file::replace(&path, format!("{secret}\n").as_bytes(), 0o600);
    tokens.issue_kept(first.clone(), desk::wall()?, None, keep)?;
    Ok(true)
}

/// Starts the Goal, or finds the one that was started with this objective.
fn start(
    context: &mut Context<'_, '_>,
    args: &Args,
    desk: &mut Desk,
    caller: Caller,
    title: Text,
) -> Result<Started> {
    let operation_id = operation_id(args)?;
    let wanted: Vec<ShortText> = given::all(args, "acceptance")?;
    // An operation that is repeated is answered as an operation, and not by what looks like its Goal.
    let before = desk.authority.receipt(&operation_id)?.and_then(|receipt| receipt.goal_id().cloned());
    let created = before.is_none();
    let id = match before {
        Some(id) => id,
        None => match place(desk, &title)? {
            Slot::Taken(goal) => {
                check_known(&goal, &wanted)?;
                return Ok(Started { goal: goal.goal_id, created: false, written: None });
            }
            Slot::Free(id) => id,
        },
    };
    let new = NewGoal {
        acceptance: goal_terms::criteria(wanted),
        workspace: Some(goal::workspace(context, desk, Some(Path::new(".")))?),
        ..NewGoal::wanting(title)
    };
    let wish = Wish::new(id.clone(), Command::Goal(GoalCommand::Start(Box::new(new))));
    let written = submit_as(context, args, desk, caller, operation_id, wish)?;
    Ok(Started { goal: id, created, written: Some(written) })
}

/// Refuses criteria that the Goal which is there does not have: taken for given, they would be lost.
///
/// Errors: `goal_exists`.
fn check_known(goal: &Goal, wanted: &[ShortText]) -> Result<()> {
    let is_known = |text: &ShortText| goal.acceptance.iter().any(|criterion| criterion.text == *text);
    let id = &goal.goal_id;
    let Some(first) = wanted.iter().find(|text| !is_known(text)) else { return Ok(()) };
    let others = goal.acceptance.iter().map(|criterion| &criterion.text);
    let all = others.chain(wanted.iter().filter(|text| !is_known(text)));
    let mut words = vec!["goal".to_owned(), "update".to_owned(), id.to_string()];
    words.extend(all.flat_map(|text| ["--acceptance".to_owned(), text.to_string()]));
    // The list is replaced, and what checks a criterion with it.
    for (place, criterion) in (1..).zip(&goal.acceptance) {
        let check = criterion.check.as_ref().map(|check| format!("{place}={}", show::typed(&check.argv)));
        words.extend(check.into_iter().flat_map(|check| ["--check".to_owned(), check]));
    }
    let hint = match goal.state {
        GoalState::Closed { .. } => Some(format!("goal reopen {id}")),
        GoalState::Active | GoalState::Stopped => shell_line(words.iter().map(String::as_str)),
    };
    let message =
        format!("the Goal {id} is there already, and has no criterion \u{ab}{}\u{bb}", echo(first.as_str()));
    Err(Error::new(Code::GoalExists, message)
        .hint(hint.unwrap_or_else(|| "goal update --help".to_owned()))
        .detail("goal_id", id.to_string())
        .detail("argument", "--acceptance"))
}

/// Where the Goal of an objective is, or will be.
enum Slot {
    Taken(Box<Goal>),
    Free(GoalId),
}

/// The Goal that is called so, or was started with this objective; else the first slug that is free.
///
/// Errors: `invalid_argument` for an objective without a letter, `goal_exists` when no slug is free.
fn place(desk: &mut Desk, title: &Text) -> Result<Slot> {
    if let Ok(id) = title.as_str().parse::<GoalId>()
        && let Some(goal) = found(desk, &id)?
    {
        return Ok(Slot::Taken(Box::new(goal)));
    }
    let slug = goal::slug(title.as_str()).ok_or_else(goal::no_slug)?;
    for n in 1..=SLUGS_MAX {
        let id: GoalId = goal::nth_slug(&slug, n).parse()?;
        match found(desk, &id)? {
            Some(goal) if goal.objective == *title => return Ok(Slot::Taken(Box::new(goal))),
            Some(_) => {}
            None => return Ok(Slot::Free(id)),
        }
    }
    Err(Error::new(Code::GoalExists, format!("{SLUGS_MAX} Goals are called {slug}")).hint("goal list"))
}

fn found(desk: &mut Desk, id: &GoalId) -> Result<Option<Goal>> {
    desk.look(|view, terms| {
        let mut facts = Facts::new(terms.clone());
        view.load(&[Read::Goal(id.clone())].into(), &mut facts)?;
        Ok(facts.goal(id)?.cloned())
    })
}

/// Refuses a folder whose Goal is not there: a new one in its place would pass for it.
///
/// Errors: `orphaned_goal_state`; as opening the profile and the ledger, but for what is not there yet.
fn check_binding(context: &Context<'_, '_>, args: &Args, folder: &Path) -> Result<()> {
    if args.switch("rebind") || context.project()?.is_none_or(|project| project.root != folder) {
        return Ok(());
    }
    check_profile(context, args)?;
    match Desk::unchecked(context, args).and_then(|mut desk| desk.check_bound(args)) {
        Err(error) if error.code() == Code::NotFound => Ok(()),
        checked => checked,
    }
}

/// Refuses to bind a folder with a Goal to another profile, which has no such Goal.
///
/// Errors: `profile_mismatch`.
fn check_profile(context: &Context<'_, '_>, args: &Args) -> Result<()> {
    let (_, project, env) = around(context, args)?;
    let Some(Project { profile: bound, goal: Some(goal), .. }) = project else { return Ok(()) };
    let bound = bound.as_deref().unwrap_or(DEFAULT_PROFILE);
    let wanted = Place::resolve(&env)?.name().to_owned();
    if wanted == bound {
        return Ok(());
    }
    let message =
        format!("this folder is bound to the Goal {goal} of the profile `{bound}`, not of `{wanted}`");
    Err(Error::new(Code::ProfileMismatch, message).hint(format!("--profile {wanted} init --rebind")))
}

/// Binds the folder: to the profile, and to the Goal that was named now or, unless it is bound anew, before.
fn bound(desk: &mut Desk, folder: &Path, started: Option<&Started>, anew: bool) -> Result<Bound> {
    let here = desk.project.take().filter(|project| project.root == folder && !anew);
    let before = here.and_then(|project| project.goal);
    let goal = started.map(|started| started.goal.to_string()).or_else(|| before.clone());
    let before = before.filter(|before| goal.as_ref() != Some(before));
    let profile = Some(desk.profile.place().name().to_owned());
    let made = bind(&Project { root: folder.to_owned(), profile, goal: goal.clone() })?;
    Ok(Bound { goal, before, created: made.created, excluded: made.excluded })
}

impl Done {
    fn rendered(&self, context: &Context<'_, '_>, desk: &Desk, folder: &Path) -> Result<Rendered> {
        let created =
            self.started.as_ref().map_or(self.new_profile || self.bound.created, |started| started.created);
        let mut body = Map::new();
        let receipt =
            self.started.as_ref().and_then(|started| started.written.as_ref()).map(|done| &done.receipt);
        body.insert("receipt".to_owned(), json_value(&receipt)?);
        body.insert("created".to_owned(), created.into());
        if let Some(goal) = &self.bound.goal {
            let made = self.started.as_ref().is_some_and(|started| started.created);
            body.insert("goal".to_owned(), json!({"goal_id": goal, "created": made}));
        }
        let profile = desk.profile.place().name();
        body.insert("profile".to_owned(), json!({"profile": profile, "created": self.new_profile}));
        body.insert("bound".to_owned(), self.bound.created.into());
        let rendered = Rendered::new(schema::INIT, &body, self.document(context, desk, folder))?;
        Ok(match receipt {
            Some(receipt) => rendered.operation(receipt.operation_id(), receipt.is_replayed()),
            None => rendered,
        })
    }

    fn document(&self, context: &Context<'_, '_>, desk: &Desk, folder: &Path) -> Document {
        let program = context.program;
        let name = desk.profile.place().name();
        let mut document = Document::new();
        if self.new_profile {
            document = document.line(format!("made the profile {name}"));
        }
        if self.new_token {
            let path = desk.profile.place().dir().join(TOKEN_FILE);
            document = document.line(format!("your token, for scripts: {}", path.display()));
        }
        let shown = folder.display();
        document = match (&self.bound.goal, self.bound.created) {
            (Some(goal), true) => document.line(format!("bound {shown} to the Goal {goal}")),
            (Some(goal), false) => document.line(format!("{shown} is bound to the Goal {goal}")),
            (None, true) => document.line(format!("bound {shown} to the profile {name}")),
            (None, false) => document.line(format!("{shown} is bound to the profile {name}")),
        };
        if let Some(before) = &self.bound.before {
            document =
                document.line(format!("it was bound to the Goal {before} before, which goes on as it is"));
        }
        if self.bound.excluded {
            document = document.line("git ignores .loopx/ here, by its own list of this clone");
        }
        document.line(match &self.bound.goal {
            Some(goal) if self.closed => {
                format!("the Goal {goal} is closed; next: `{program} init --goal <TITLE>`, or `{program} goal reopen {goal}`")
            }
            Some(_) => format!("next: `{program} todo add <TITLE>`"),
            None => format!("next: `{program} init --goal <TITLE>`"),
        })
    }
}

/// What `init` would do, with nothing made.
fn preview(context: &Context<'_, '_>, args: &Args, folder: &Path, title: Option<&Text>) -> Result<Rendered> {
    let (settings, project, env) = around(context, args)?;
    let new_profile = match Profile::open(&Place::resolve(&env)?, &env, &HostFilesystem) {
        Ok(profile) => profile.check_ledger().map(|()| false)?,
        Err(error) if error.code() == Code::NotFound => true,
        Err(error) => return Err(error),
    };
    let slug = title.map(|title| goal::slug(title.as_str()).ok_or_else(goal::no_slug)).transpose()?;
    let is_bound = project.is_some_and(|project| project.root == folder);
    let profile = settings.text("profile").unwrap_or_default();
    let mut document = Document::new();
    if new_profile {
        document = document.line(format!("would make the profile {profile}"));
    }
    if let Some(slug) = &slug {
        document = document.line(format!("would start the Goal {slug}, unless it is there"));
    }
    let verb = if is_bound { "would bind again" } else { "would bind" };
    document = document.line(format!("{verb} {}", folder.display()));
    let body = json!({
        "dry_run": true,
        "profile": {"profile": profile, "created": new_profile},
        "goal": slug.map(|slug| json!({"goal_id": slug})),
        "bound": !is_bound,
    });
    Rendered::new(schema::INIT, &body, document)
}
