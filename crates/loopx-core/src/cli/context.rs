//! Owns what a handler gets beside its arguments: the place it runs in.
//!
//! Nothing is read before a handler asks for it.

use std::{
    ffi::OsString,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
};

use super::{
    Env, Look, Preset, Settings, Stdio, Var, again, config, handlers,
    parse::Args,
    project::{Project, discover},
    render,
};
use crate::{
    error::{Code, Error, Result},
    model::Actor,
};

/// The place a handler runs in.
#[derive(Debug)]
pub struct Context<'a, 's> {
    /// The running binary's name, for whole commands in an answer.
    pub program: &'static str,
    /// The arguments of this call, as they were given.
    pub argv: &'a [OsString],
    /// The commands of this binary.
    pub preset: &'a Preset,
    /// The environment.
    pub env: &'a Env,
    /// What the answer will look like.
    pub look: Look,
    /// The streams; a handler reads input and asks questions there, and leaves data to its answer.
    pub stdio: &'a mut Stdio<'s>,
    /// Where what a command asks for is noted, when it is to be proposed and not written.
    pub(super) noting: Option<Noted>,
}

/// What a command asked for instead of writing it.
#[derive(Debug, Default)]
pub(super) struct Noted(pub(super) Option<handlers::Wish>);

impl Context<'_, '_> {
    /// Prints a line of progress or advice on stderr.
    pub fn note(&mut self, line: &str) {
        render::note(line, self.stdio);
    }

    /// The present folder.
    ///
    /// Errors: `invalid_argument` when it is gone.
    pub fn folder(&self) -> Result<&Path> {
        self.env
            .folder()
            .ok_or_else(|| Error::new(Code::InvalidArgument, "the present folder cannot be read"))
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

    /// Who acts: `--as`, `LOOPX_ACTOR`, on a terminal `user:<login>`. Its form is checked by the actor's own
    /// parser.
    ///
    /// Errors: `missing_actor`.
    pub fn actor(&self, args: &Args) -> Result<String> {
        if let Some(actor) = args.text("as") {
            return Ok(actor.to_owned());
        }
        if self.stdio.input_is_terminal {
            return Ok(format!("user:{}", self.login()?));
        }
        let message = format!(
            "nobody is named as the actor of `{}`: give --as user:NAME or agent:NAME, or set LOOPX_ACTOR",
            args.path()
        );
        let user = format!("user:{}", self.login()?);
        let hint = user.parse::<Actor>().ok().and_then(|actor| self.again("--as", &actor.to_string()));
        Err(Error::new(Code::MissingActor, message)
            .hint(hint.unwrap_or_else(|| format!("{} --help", args.path())))
            .detail("argument", "--as"))
    }

    /// This call once more with a flag, as the arguments of a hint; none where it cannot be shown.
    pub(super) fn again(&self, flag: &str, value: &str) -> Option<String> {
        again::again(self.argv, flag, value)
    }

    /// This call once more as another one, without its id; none where it cannot be shown.
    pub(super) fn anew(&self) -> Option<String> {
        again::without(self.argv, "--op-id")
    }

    /// This call once more with a file of a token, shown by the variable that leads to it.
    pub(super) fn again_proven(&self, token_file: &Path) -> Option<String> {
        again::again_with_file(self.argv, "--token-file", token_file, self.env)
    }

    /// A file as a shell reads it, shown by the variable that leads to it; none where none does.
    pub(super) fn shown(&self, file: &Path) -> Option<String> {
        again::by_variable(file, self.env)
    }

    /// The login name: `USER`, `LOGNAME`, else what the system calls this user, else `uid-N`.
    ///
    /// Errors: `invalid_argument` for a variable that is not text.
    pub fn login(&self) -> Result<String> {
        if let Some(login) = self.env.text(Var::User)?.or(self.env.text(Var::Logname)?) {
            return Ok(login.to_owned());
        }
        let uid = rustix::process::geteuid().as_raw();
        let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let named = known.lines().find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
        });
        Ok(named.unwrap_or_else(|| format!("uid-{uid}")))
    }

    /// The secret that proves who acts: of `--token-file`, else `LOOPX_TOKEN`. To be wrapped at once.
    ///
    /// Errors: `not_found` for a file that is not there, `invalid_argument` for one that others can read or
    /// that holds no token.
    pub fn token(&self, args: &Args) -> Result<Option<String>> {
        let Some(path) = args.file("token-file") else {
            return Ok(self.env.text(Var::LoopxToken)?.map(str::to_owned));
        };
        let refused =
            |code: Code, message: &'static str| Error::new(code, message).detail("argument", "--token-file");
        let text = config::read_limited(path)?
            .ok_or_else(|| refused(Code::NotFound, "there is no such token file").hint("token --help"))?;
        if is_read_by_others(path) {
            return Err(refused(Code::InvalidArgument, "others can read the token file").hint("token --help"));
        }
        match text.trim() {
            "" => Err(refused(Code::InvalidArgument, "the token file is empty").hint("token --help")),
            token => Ok(Some(token.to_owned())),
        }
    }

    /// Asks a question on the terminal, to which only the typed word `yes` is a yes; none without a terminal.
    ///
    /// Errors: `internal` when the terminal cannot be read.
    pub fn confirm(&mut self, question: &str) -> Result<Option<bool>> {
        self.confirm_shown(&[], question)
    }

    /// As [`Context::confirm`], with what is agreed to shown before it, line by line and whole.
    ///
    /// Errors: as there.
    pub fn confirm_shown(&mut self, shown: &[String], question: &str) -> Result<Option<bool>> {
        if !(self.stdio.input_is_terminal && self.stdio.err_is_terminal) {
            return Ok(None);
        }
        for line in shown {
            self.note(line);
        }
        self.note(&format!("{question} (yes/no)"));
        let mut answer = String::new();
        let mut input = BufReader::new(&mut *self.stdio.input).take(ANSWER_MAX_BYTES);
        input
            .read_line(&mut answer)
            .map_err(|e| Error::new(Code::Internal, "no answer can be read").internal(e))?;
        Ok(Some(answer.trim() == "yes"))
    }
}

/// The longest answer that is read, in bytes.
const ANSWER_MAX_BYTES: u64 = 1024;

#[cfg(unix)]
fn is_read_by_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

/// Elsewhere the folder's own protection is all that is looked at.
#[cfg(not(unix))]
fn is_read_by_others(_: &Path) -> bool {
    false
}
