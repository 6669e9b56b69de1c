//! Owns what a handler works at: the settings that hold, the profile, its ledger.
//!
//! Opens no file but those of the profile, and none before it is asked. Knows no verb.

use std::path::{Path, PathBuf};

use crate::{
    authority::{
        Authority, View,
        clock::{Clock as _, SystemClock},
        profile::{self, HostFilesystem, NewProfile, Place, Profile},
        random,
    },
    cli::{Args, Context, Format, Project, Settings, Var},
    error::{Code, Error, Result},
    kernel::Terms,
    model::{ProfileId, Timestamp, uuid_v7},
    private::Tokens,
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
    /// Takes the profile that a command means; it must be there.
    ///
    /// Errors: `not_found` before `init`; as the settings, the profile and the ledger.
    pub(in crate::cli) fn open(context: &Context<'_, '_>, args: &Args) -> Result<Self> {
        let (settings, project, env) = around(context, args)?;
        let place = Place::resolve(&env)?;
        let profile = Profile::open(&place, &env, &HostFilesystem)?;
        let authority = match Authority::open(&profile, &env) {
            Err(error) if error.code() == Code::NotFound && had_ledger(&place)? => return Err(lost(&place)),
            opened => opened?,
        };
        Ok(Self::of(context, settings, project, profile, authority))
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
        if !made && had_ledger(&place)? {
            check_there(&place, &profile, &env)?;
        }
        let authority = Authority::create(&profile, &env)?;
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
    pub(in crate::cli) fn look<T>(&mut self, job: impl FnMut(&mut dyn View, &Terms) -> Result<T>) -> Result<T> {
        self.authority.look(job)
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

/// Whether the profile had a ledger: its first token was made after that.
fn had_ledger(place: &Place) -> Result<bool> {
    Ok(!Tokens::at(place).list()?.is_empty())
}

/// Refuses to put an empty ledger in the place of one that is gone: its Goals' ids would be given again.
///
/// Errors: `store_corrupt`; as opening the ledger.
fn check_there(place: &Place, profile: &Profile, env: &profile::Env) -> Result<()> {
    match Authority::open(profile, env).and_then(|mut authority| authority.read(|view| view.meta())) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(lost(place)),
        Err(error) if error.code() == Code::NotFound => Err(lost(place)),
        Err(error) => Err(error),
    }
}

fn lost(place: &Place) -> Error {
    let message = format!("the profile `{}` had a ledger, and its file is gone or empty", place.name());
    Error::new(Code::StoreCorrupt, message).hint("doctor")
}

/// The settings, the folder's binding, and where the profile's state lies.
pub(super) fn around(
    context: &Context<'_, '_>,
    args: &Args,
) -> Result<(Settings, Option<Project>, profile::Env)> {
    let project = context.project()?;
    let settings = Settings::load(args, context.env, project.as_ref())?;
    let path = |var: Var| context.env.get(var).map(PathBuf::from);
    let env = profile::Env {
        loopx_home: path(Var::LoopxHome),
        xdg_data_home: path(Var::XdgDataHome),
        xdg_runtime_dir: path(Var::XdgRuntimeDir),
        home: path(Var::Home),
        profile: settings.text("profile").map(str::to_owned),
        allow_filesystem: args.switch("allow-filesystem"),
    };
    Ok((settings, project, env))
}

/// The root of the git work tree that a folder lies in, else the folder that is bound, else none.
pub(in crate::cli) fn tree_of(folder: &Path, project: Option<&Project>) -> Option<PathBuf> {
    let git = folder.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok());
    git.map(Path::to_owned).or_else(|| project.map(|project| project.root.clone()))
}

/// The wall clock.
pub(in crate::cli) fn wall() -> Result<Timestamp> {
    Ok(Timestamp::from_ms(SystemClock::new().read()?.wall_ms))
}
