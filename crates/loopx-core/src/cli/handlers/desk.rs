//! Owns what a handler works at: the settings that hold, the profile, its ledger.
//!
//! Opens no file but those of the profile, and none before it is asked. Knows no verb.

use std::path::{Path, PathBuf};

use super::reader::with_runnable_hint;
use crate::{
    authority::{
        Authority, View,
        clock::{Clock as _, SystemClock},
        profile::{self, HostFilesystem, NewProfile, Place, Profile},
        random,
    },
    cli::{Args, Context, Format, Project, Settings},
    error::{Code, Error, Result},
    kernel::Terms,
    model::{GoalId, ProfileId, Timestamp, uuid_v7},
    private::{PrivateStore, Tokens},
    turn::Trees,
};

/// What a handler works at.
#[derive(Debug)]
pub(in crate::cli) struct Desk {
    /// The settings that hold for this command.
    pub(in crate::cli) settings: Settings,
    /// The binding of the present folder.
    pub(in crate::cli) project: Option<Project>,
    /// The profile.
    pub(in crate::cli) profile: Profile,
    /// Its ledger.
    pub(in crate::cli) authority: Authority,
    /// Whether only exact ids are taken.
    pub(in crate::cli) exact: bool,
}

impl Desk {
    /// Takes the profile that a command means; it must be there, and have the Goal that the folder is bound to.
    ///
    /// A write is not looked ahead for: what it misses is explained by [`explained`]. It makes the folder of locks
    /// again. Errors: `not_found` before `init`; `orphaned_goal_state`; as the settings, the profile and the ledger.
    pub(in crate::cli) fn open(context: &Context<'_, '_>, args: &Args) -> Result<Self> {
        let mut desk = Self::unchecked(context, args)?;
        if !args.writes() {
            if !LOOK_ROUND.contains(&args.path()) {
                desk.check_bound(args)?;
            }
        } else if args.origin("dry-run").is_none() {
            desk.profile.mend_locks()?;
        }
        Ok(desk)
    }

    /// As [`Desk::open`], whatever the folder is bound to.
    ///
    /// Errors: as [`Desk::open`].
    pub(super) fn unchecked(context: &Context<'_, '_>, args: &Args) -> Result<Self> {
        let (settings, project, env) = around(context, args)?;
        let place = Place::resolve(&env)?;
        let opened = Profile::open(&place, &env, &HostFilesystem)
            .and_then(|profile| Ok((Authority::open(&profile, &env)?, profile)));
        let (authority, profile) =
            opened.map_err(|error| match bound_goal(project.as_ref(), place.name()) {
                // Where nothing is, nothing has begun, unless the folder says otherwise.
                Some(goal) if error.code() == Code::NotFound => orphaned(goal, place.name()),
                Some(_) | None => error,
            })?;
        Ok(Self::of(context, settings, project, profile, authority))
    }

    /// The Goal that the folder is bound to, if it is bound in this profile.
    pub(super) fn bound_goal(&self) -> Option<GoalId> {
        bound_goal(self.project.as_ref(), self.profile.place().name())?.parse().ok()
    }

    /// Refuses a folder that is bound to a Goal which its profile does not have: nothing else may pass for it.
    ///
    /// Not where a Goal is named. Errors: `orphaned_goal_state`; as the ledger.
    pub(super) fn check_bound(&mut self, args: &Args) -> Result<()> {
        if args.takes("goal", "goal") && args.origin("goal").is_some() {
            return Ok(());
        }
        let profile = self.profile.place().name().to_owned();
        let Some(bound) = bound_goal(self.project.as_ref(), &profile) else { return Ok(()) };
        let goal: GoalId = bound.parse()?;
        let is_there = match self.look(|view, _| Ok(view.head(&goal)?.is_some())) {
            Err(error) if error.code() == Code::NotFound => false,
            looked => looked?,
        };
        if is_there { Ok(()) } else { Err(orphaned(goal.as_str(), &profile)) }
    }

    /// Takes the profile that a command means, and makes it where it is missing; says whether it did.
    ///
    /// Errors: as the settings, the profile and the ledger; `disk_full`.
    pub(in crate::cli) fn create(context: &Context<'_, '_>, args: &Args) -> Result<(Self, bool)> {
        let (settings, project, env) = around(context, args)?;
        let place = Place::resolve(&env)?;
        let now = wall()?;
        let id = ProfileId::from_bytes(uuid_v7(now, random::bytes()?));
        let new = NewProfile { profile_id: id.to_string(), created_at_ms: now.as_ms() };
        let (profile, made) = Profile::open_or_create(&place, &env, &HostFilesystem, &new)?;
        let authority = Authority::create(&profile, &env)?;
        if made {
            PrivateStore::create(&profile.place().private_db())?;
        }
        Ok((Self::of(context, settings, project, profile, authority), made))
    }

    fn of(
        context: &Context<'_, '_>,
        settings: Settings,
        project: Option<Project>,
        profile: Profile,
        authority: Authority,
    ) -> Self {
        let authority = authority.strict(settings.text("actors.assurance") == Some("strict"));
        Self { settings, project, profile, authority, exact: context.look.format == Format::Json }
    }

    /// Whether a person's every verb needs proof.
    pub(in crate::cli) fn is_strict(&self) -> bool {
        self.settings.text("actors.assurance") == Some("strict")
    }

    /// Reads one consistent state, under now.
    pub(in crate::cli) fn look<T>(
        &mut self,
        job: impl FnMut(&mut dyn View, &Terms) -> Result<T>,
    ) -> Result<T> {
        self.authority.look(job)
    }

    /// The work trees that the profile knows.
    pub(super) fn trees(&self) -> Trees {
        Trees::at(self.profile.place().trees())
    }

    /// The tokens of the profile.
    pub(in crate::cli) fn tokens(&self) -> Tokens {
        Tokens::at(self.profile.place())
    }

    /// How many rows a page has: a flag, else the setting; none for all rows.
    pub(in crate::cli) fn page(&self, args: &Args) -> Result<Option<usize>> {
        let has_all = args.command().args.iter().any(|arg| arg.id == "all");
        if has_all && args.switch("all") {
            return Ok(None);
        }
        Ok(Some(usize::try_from(self.settings.count("list.page")?).unwrap_or(usize::MAX)))
    }
}

/// What shows how things are, and so is answered in a folder whose Goal is missing too.
const LOOK_ROUND: &[&str] = &["doctor", "goal list", "token list"];

/// The Goal that a folder is bound to in a profile.
fn bound_goal<'a>(project: Option<&'a Project>, profile: &str) -> Option<&'a str> {
    let project = project?;
    let named = project.profile.as_deref().unwrap_or(profile::DEFAULT_PROFILE);
    project.goal.as_deref().filter(|_| named == profile)
}

fn orphaned(goal: &str, profile: &str) -> Error {
    let message =
        format!("this folder is bound to the Goal {goal}, and the profile `{profile}` does not have it");
    Error::new(Code::OrphanedGoalState, message)
        .hint("doctor")
        .detail("goal_id", goal)
        .detail("profile", profile)
}

/// Makes a hint one that can be run as it stands, and says of what was not found that the whole Goal is missing.
pub(in crate::cli) fn explained(context: &Context<'_, '_>, args: &Args, error: Error) -> Error {
    let error = with_runnable_hint(context, args, error);
    if error.code() != Code::NotFound || !args.writes() || args.path() == "init" {
        return error;
    }
    let missing = Desk::unchecked(context, args).and_then(|mut desk| desk.check_bound(args)).err();
    match missing {
        Some(missing) if missing.code() == Code::OrphanedGoalState => missing.internal(error),
        Some(_) | None => error,
    }
}

/// The settings, the folder's binding, and where the profile's state lies.
pub(super) fn around(
    context: &Context<'_, '_>,
    args: &Args,
) -> Result<(Settings, Option<Project>, profile::Env)> {
    let project = context.project()?;
    let settings = Settings::load(args, context.env, project.as_ref())?;
    let places = context.env.places(settings.text("profile"));
    let env = profile::Env { allow_filesystem: args.switch("allow-filesystem"), ..places };
    Ok((settings, project, env))
}

/// Where work in a folder is done: in the folder that is bound, or in a git work tree inside of that; none where neither
/// is.
pub(in crate::cli) fn tree_of(folder: &Path, project: Option<&Project>) -> Option<PathBuf> {
    let git = folder.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok());
    let bound = project.map(|project| project.root.as_path());
    match (git, bound) {
        // What is bound below the root of a work tree means its paths from there.
        (Some(git), Some(bound)) if bound.starts_with(git) => Some(bound.to_owned()),
        (git, bound) => git.or(bound).map(Path::to_owned),
    }
}

/// The wall clock.
pub(in crate::cli) fn wall() -> Result<Timestamp> {
    Ok(Timestamp::from_ms(SystemClock::new().read()?.wall_ms))
}
