//! Owns the values that hold for one command, and where each came from.
//!
//! Precedence: flag, environment, project, profile, default.

use std::borrow::Cow;

use super::{
    file,
    key::{KEYS, Key, Unit},
};
use crate::{
    authority::profile::Place,
    cli::{
        env::{Env, Var},
        parse::{Args, Origin, Value, parse_duration_ms, show_duration_ms},
        project::Project,
    },
    error::{Code, Error, Result},
};

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A flag of this command.
    Flag,
    /// A variable of the environment.
    Environment(Var),
    /// The folder's binding.
    Project,
    /// The profile's file.
    Profile,
    /// The table of settings.
    Default,
}

impl Source {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Environment(_) => "environment",
            Self::Project => "project",
            Self::Profile => "profile",
            Self::Default => "default",
        }
    }
}

/// The values that hold for one command.
#[derive(Debug)]
pub struct Settings {
    values: Vec<(&'static Key, Option<(String, Source)>)>,
}

impl Settings {
    /// Gathers them: the flags and variables of a command, the folder's binding, the profile's file.
    ///
    /// Without any folder for LoopX no file is read, and flags, binding and defaults hold.
    ///
    /// Errors: `invalid_argument` for a value out of bounds, `unknown_field` for an unknown key of the file,
    /// `store_unreadable` for a file that cannot be read.
    pub fn load(args: &Args, env: &Env, project: Option<&Project>) -> Result<Self> {
        let profile_key = Key::named("profile")?;
        let bound = project.and_then(|project| project.profile.as_deref());
        let profile = outer(profile_key, args)?
            .or_else(|| bound.map(|name| (name.to_owned(), Source::Project)))
            .or_else(|| profile_key.default.map(|name| (name.to_owned(), Source::Default)));
        let places = env.places(profile.as_ref().map(|(name, _)| name.as_str()));
        let stored = match places.root()? {
            Some(_) => file::read(&Place::resolve(&places)?.dir().join(file::NAME))?,
            None => file::Stored::default(),
        };
        let mut values = Vec::new();
        for key in KEYS {
            let value = match key.name {
                "profile" => profile.clone(),
                "goal" => {
                    let bound = project.and_then(|project| project.goal.as_deref());
                    outer(key, args)?.or_else(|| bound.map(|goal| (goal.to_owned(), Source::Project)))
                }
                _ => outer(key, args)?
                    .or_else(|| stored.get(key).map(|value| (value.to_owned(), Source::Profile)))
                    .or_else(|| key.default.map(|value| (value.to_owned(), Source::Default))),
            };
            values.push((key, value));
        }
        Ok(Self { values })
    }

    /// Where the profile lies.
    ///
    /// Errors: `invalid_argument` when no variable leads to one.
    pub fn place(&self, env: &Env) -> Result<Place> {
        Place::resolve(&env.places(self.text("profile")))
    }

    /// All keys with their values.
    pub fn all(&self) -> impl Iterator<Item = (&'static Key, Option<&str>, Option<Source>)> {
        self.values.iter().map(|(key, value)| match value {
            Some((text, source)) => (*key, Some(text.as_str()), Some(*source)),
            None => (*key, None, None),
        })
    }

    /// A value as text, if it has one.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.all().find(|(key, ..)| key.name == name).and_then(|(_, text, _)| text)
    }

    /// A length of time in milliseconds.
    ///
    /// Errors: `internal` for a key that is none.
    pub fn millis(&self, name: &str) -> Result<u64> {
        self.text(name).and_then(parse_duration_ms).ok_or_else(|| misread(name))
    }

    /// A whole number.
    ///
    /// Errors: `internal` for a key that is none.
    pub fn count(&self, name: &str) -> Result<u64> {
        self.text(name).and_then(|text| text.parse().ok()).ok_or_else(|| misread(name))
    }
}

fn misread(name: &str) -> Error {
    Error::new(Code::Internal, format!("the setting {name} was read as something else"))
}

/// The value that a flag or a variable gives.
fn outer(key: &'static Key, args: &Args) -> Result<Option<(String, Source)>> {
    let Some(flag) = key.flag.filter(|flag| args.takes(flag, key.name)) else { return Ok(None) };
    let source = match args.origin(flag) {
        Some(Origin::Flag) => Source::Flag,
        Some(Origin::Environment(var)) => Source::Environment(var),
        Some(Origin::Default) | None => return Ok(None),
    };
    let text: Option<Cow<'_, str>> = args.values(flag).first().and_then(|value| match (value, key.unit) {
        (Value::Text(text), _) => Some(text.into()),
        (Value::Millis(millis), Unit::Duration { .. }) => Some(show_duration_ms(*millis).into()),
        (Value::Number(number), Unit::Count { .. }) => Some(number.to_string().into()),
        _ => None,
    });
    let Some(text) = text else { return Ok(None) };
    key.check(&text)?;
    Ok(Some((text.into_owned(), source)))
}
