//! Owns what a handler gets beside its arguments: the place it runs in.
//!
//! Nothing is read before a handler asks for it.

use std::path::Path;

use super::{
    Env, Look, Preset, Settings, Stdio,
    parse::Args,
    project::{Project, discover},
    render,
};
use crate::error::{Code, Error, Result};

/// The place a handler runs in.
#[derive(Debug)]
pub struct Context<'a, 's> {
    /// The running binary's name, for whole commands in an answer.
    pub program: &'static str,
    /// The commands of this binary.
    pub preset: &'a Preset,
    /// The environment.
    pub env: &'a Env,
    /// What the answer will look like.
    pub look: Look,
    /// The streams; a handler reads input and asks questions there, and leaves data to its answer.
    pub stdio: &'a mut Stdio<'s>,
}

impl Context<'_, '_> {
    /// Prints a line of progress or advice on stderr.
    pub fn note(&mut self, line: &str) {
        render::note(line, self.stdio);
    }

    /// The present folder.
    ///
    /// Errors: `invalid_argument` when it is gone.
    pub fn folder(&self) -> Result<&Path> {
        self.env.folder().ok_or_else(|| Error::new(Code::InvalidArgument, "the present folder cannot be read"))
    }

    /// The binding of the present folder, if it has one; none is bound where no folder is.
    ///
    /// Errors: as [`discover`].
    pub fn project(&self) -> Result<Option<Project>> {
        self.env.folder().map_or(Ok(None), discover)
    }

    /// The settings that hold for a command: its flags, the environment, the project, the profile, defaults.
    ///
    /// Errors: as [`Settings::load`].
    pub fn settings(&self, args: &Args) -> Result<Settings> {
        Settings::load(args, self.env, self.project()?.as_ref())
    }
}
