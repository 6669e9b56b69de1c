//! Owns every read of the process environment: which variables exist, what they mean, and their values.
//!
//! Knows nothing of commands. Everybody else takes an [`Env`]; tests make one from pairs.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
};

use crate::{
    authority::profile,
    error::{Code, Error, Result},
};

macro_rules! variables {
    ($($name:ident $text:literal $(($secret:ident))? : $about:literal;)*) => {
        /// An environment variable that LoopX reads.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Var { $(#[doc = $about] $name,)* }

        impl Var {
            /// All variables, in the order in which the reference shows them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The variable's name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// One sentence about what it does.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$name => $about,)* }
            }

            /// Whether its value must never be shown.
            const fn is_secret(self) -> bool {
                match self { $(Self::$name => variables!(@secret $($secret)?),)* }
            }
        }
    };
    (@secret) => { false };
    (@secret secret) => { true };
}

variables! {
    LoopxHome "LOOPX_HOME": "The folder of all profiles; else `$XDG_DATA_HOME/loopx`, else the platform's data folder.";
    LoopxProfile "LOOPX_PROFILE": "The profile to use, where `--profile` is not given.";
    LoopxActor "LOOPX_ACTOR": "Who acts, where `--as` is not given.";
    LoopxToken "LOOPX_TOKEN" (secret): "The token that proves who acts, where `--token-file` is not given.";
    LoopxOwn "LOOPX_OWN" (secret): "The ownership a verb of its owner presents, where `--own` is not given.";
    LoopxContainment "LOOPX_CONTAINMENT": "Set by LoopX in all that it starts; who carries it acts as the agent of that Turn alone.";
    LoopxTurnKey "LOOPX_TURN_KEY": "Set by LoopX for the host of a Turn; who carries it acts as the agent of that Turn alone.";
    NoColor "NO_COLOR": "Any value but the empty one turns colour off.";
    ClicolorForce "CLICOLOR_FORCE": "Any value but the empty one and `0` turns colour on, terminal or not.";
    Columns "COLUMNS": "The width that text tables fit.";
    Term "TERM": "`dumb` turns colour off.";
    Home "HOME": "Where the platform's data folder is found.";
    User "USER": "The login name, for the default actor on a terminal.";
    Logname "LOGNAME": "The login name, where `USER` is not set.";
    XdgDataHome "XDG_DATA_HOME": "The data folder, where `LOOPX_HOME` is not set.";
    XdgRuntimeDir "XDG_RUNTIME_DIR": "Where a new profile puts its doorbell and sockets.";
    Tmpdir "TMPDIR": "Where scratch folders are made.";
    Path "PATH": "Where hosts and validators are found.";
    Lang "LANG": "Passed on to hosts and validators.";
}

/// The environment a command runs in, read once: the variables and the present folder.
///
/// An empty value counts as absent, for every variable.
#[derive(Clone, Default)]
pub struct Env {
    vars: BTreeMap<OsString, OsString>,
    folder: Option<PathBuf>,
}

impl Env {
    /// Reads the environment of this process.
    pub fn read() -> Self {
        Self { folder: std::env::current_dir().ok(), ..Self::from_pairs(std::env::vars_os()) }
    }

    /// Makes an environment from pairs, for embedders and tests.
    pub fn from_pairs<K, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        let vars = pairs.into_iter().map(|(key, value)| (key.into(), value.into()));
        Self { vars: vars.filter(|(_, value)| !value.is_empty()).collect(), folder: None }
    }

    /// Sets the present folder, for embedders and tests.
    #[must_use]
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// The present folder; none when it is gone.
    pub fn folder(&self) -> Option<&std::path::Path> {
        self.folder.as_deref()
    }

    /// The value of a variable of the table.
    pub fn get(&self, var: Var) -> Option<&OsStr> {
        self.named(var.name())
    }

    /// The value of any variable, for the allow-lists of what LoopX starts.
    pub fn named(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// The value as text.
    ///
    /// Errors: `invalid_argument`, naming the variable, when it is not UTF-8.
    pub fn text(&self, var: Var) -> Result<Option<&str>> {
        let Some(value) = self.get(var) else { return Ok(None) };
        value.to_str().map(Some).ok_or_else(|| {
            Error::new(Code::InvalidArgument, format!("{} is not valid UTF-8", var.name()))
                .detail("variable", var.name())
        })
    }

    /// What of it decides where a profile lies.
    pub fn places(&self, profile: Option<&str>) -> profile::Env {
        let path = |var: Var| self.get(var).map(PathBuf::from);
        profile::Env {
            loopx_home: path(Var::LoopxHome),
            xdg_data_home: path(Var::XdgDataHome),
            xdg_runtime_dir: path(Var::XdgRuntimeDir),
            home: path(Var::Home),
            profile: profile.map(str::to_owned),
            allow_filesystem: false,
        }
    }
}

impl fmt::Debug for Env {
    /// Shows the variables of the table; a secret's value never.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for &var in Var::ALL {
            match self.get(var) {
                Some(_) if var.is_secret() => map.entry(&var.name(), &"…"),
                Some(value) => map.entry(&var.name(), &value),
                None => &mut map,
            };
        }
        map.finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_home_is_refused_and_not_printed() {
        let error = Env::from_pairs([("LOOPX_HOME", "some/where")]).places(None).root().unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(!error.message().contains("some/where"), "{error}");
        assert_eq!(Env::from_pairs([("LOOPX_HOME", "")]).places(None).root().unwrap(), None);
    }

    #[test]
    fn a_secret_is_not_in_the_debug_text() {
        let env =
            Env::from_pairs([("LOOPX_TOKEN", "tok_secret"), ("LOOPX_OWN", "own_secret"), ("TERM", "x")]);
        let text = format!("{env:?}");
        assert!(text.contains("LOOPX_TOKEN") && text.contains("TERM"));
        assert!(!text.contains("secret"), "{text}");
    }

    #[cfg(unix)]
    #[test]
    fn a_value_that_is_not_text_is_typed() {
        use std::os::unix::ffi::OsStringExt as _;
        let env = Env::from_pairs([("LOOPX_ACTOR", OsString::from_vec(vec![0xff]))]);
        assert_eq!(env.text(Var::LoopxActor).unwrap_err().code(), Code::InvalidArgument);
    }
}
