//! Owns what a command that is printed needs beside its own words, so that whoever reads it here can run it as it stands.
//!
//! Off a terminal nobody can be asked for a `yes`, so what needs a person's proof is shown with his token, and to anybody
//! else as a person's. Knows no verb: which need what stands in the kernel's table of actors.

use serde::Serialize;
use serde_json::Value;

use super::{
    desk::{Desk, wall},
    init,
};
use crate::{
    cli::{Args, Context, Format, Origin, Var, config},
    error::{Error, Result, shell_line},
    kernel::{Person, Verb, refuse_command},
    model::{Actor, json_value},
};

/// What follows a person's command where its reader can prove nothing.
const A_PERSONS: &str = "  # a person's: on a terminal, or with --token-file FILE";

/// Whoever reads what is printed.
#[derive(Debug)]
pub(super) struct Reader {
    program: &'static str,
    /// Whom the call named as its actor, by a flag of its own.
    named: Option<Actor>,
    /// The flag that names a person, where what names nobody would be an agent's, or nobody's.
    person: Option<String>,
    proof: Proof,
}

/// How its reader proves who asks.
#[derive(Debug)]
enum Proof {
    /// By what it has already: a terminal, or a token in its environment.
    Present,
    /// By this flag, as a shell reads it, and as whoever starts a program without one does.
    Flag {
        /// With the file named by what leads to it.
        shown: String,
        /// With the whole path.
        whole: String,
    },
    /// It cannot.
    None,
}

impl Reader {
    /// Whoever reads the answer of a call.
    pub(super) fn of(context: &Context<'_, '_>, args: &Args, desk: &Desk) -> Self {
        let proof = if is_asked(context, args) { Proof::Present } else { by_flag(context, args, desk) };
        Self::with(context, args, proof)
    }

    fn with(context: &Context<'_, '_>, args: &Args, proof: Proof) -> Self {
        Self { program: context.program, named: named(args), person: person(context), proof }
    }

    /// As [`Reader::of`], where no desk may be open: what is wrong with it is told elsewhere.
    pub(super) fn anew(context: &Context<'_, '_>, args: &Args) -> Self {
        match Desk::unchecked(context, args) {
            Ok(desk) => Self::of(context, args, &desk),
            Err(_) => Self::with(context, args, Proof::Present),
        }
    }

    /// A whole command; of one that waits for somebody's own words, a template.
    pub(super) fn command(&self, arguments: &str) -> String {
        format!("{} {}", self.program, self.arguments(arguments))
    }

    /// How to say no, beside a command that says yes.
    pub(super) fn refusal(&self, arguments: &str) -> Option<String> {
        refuse_command(arguments).map(|refuse| format!("to say no: {}", self.command(&refuse)))
    }

    /// What follows the program's name; of a person's command that its reader cannot run, that it is one.
    fn arguments(&self, arguments: &str) -> String {
        let whole = self.proven(arguments);
        let is_shut = matches!(self.proof, Proof::None) && needs_proof(arguments);
        if is_shut { whole + A_PERSONS } else { whole }
    }

    /// What a program is told, with what each command in it needs, as whoever reads it as text is shown them; no shell
    /// is needed to read them.
    ///
    /// Errors: `internal` for what JSON cannot hold.
    pub(super) fn told(&self, body: &impl Serialize) -> Result<Value> {
        let mut body = json_value(body)?;
        self.tell(&mut body);
        Ok(body)
    }

    fn tell(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match (name.as_str(), value) {
                        ("command", Value::String(command)) => {
                            *command = self.with_needs(command, command.clone(), false);
                        }
                        (_, value) => self.tell(value),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.tell(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// As it can be run, with what it needs, or as a template.
    fn proven(&self, arguments: &str) -> String {
        self.with_needs(arguments, template(arguments), true)
    }

    /// A command with the flags that its reader needs for it; `whole` is how it is shown without them.
    fn with_needs(&self, arguments: &str, mut whole: String, in_shell: bool) -> String {
        let proof = match &self.proof {
            Proof::Flag { shown, whole } if needs_proof(arguments) => {
                Some(if in_shell { shown.clone() } else { whole.clone() })
            }
            Proof::Flag { .. } | Proof::Present | Proof::None => None,
        };
        // A token names who asks.
        let actor = self.named.as_ref().filter(|actor| proof.is_none() && may_use(actor, arguments));
        let actor = match actor {
            Some(actor) => shell_line([actor.to_string().as_str()]).map(|actor| format!("--as {actor}")),
            None => self.person.clone().filter(|_| is_stop(arguments)),
        };
        for flag in proof.into_iter().chain(actor) {
            let name = flag.split(' ').next().unwrap_or_default();
            if !is_given(arguments, name) {
                whole = format!("{whole} {flag}");
            }
        }
        whole
    }
}

/// The same error, whose hint its reader can run as it stands.
pub(super) fn with_runnable_hint(context: &Context<'_, '_>, args: &Args, error: Error) -> Error {
    // A program is told by a code of its own what it has to prove.
    let hint = error.hint_args().filter(|_| context.look.format != Format::Json).map(str::to_owned);
    let Some(hint) = hint else { return error };

    // The call itself once more is complete; a profile that was never opened has no token.
    let proof = if needs_proof(&hint) && !is_asked(context, args) && !is_given(&hint, "--token-file") {
        Desk::unchecked(context, args).map_or(Proof::Present, |desk| by_flag(context, args, &desk))
    } else {
        Proof::Present
    };
    error.hint(Reader::with(context, args, proof).proven(&hint))
}

/// The words that stand for somebody's own, wherever a command is printed.
const PLACEHOLDERS: &[&str] = &[
    "ACTOR",
    "AGENT",
    "COMMAND",
    "EVIDENCE",
    "FILE",
    "ID@VERSION",
    "OBJECTIVE",
    "OWN_ID",
    "POINTER",
    "REASON",
    "TEXT",
    "TITLE",
];

/// A command in which what stands for somebody's own words is seen to: a shell that is given it as it stands runs nothing.
pub(super) fn template(arguments: &str) -> String {
    let word = |word: &str| match word {
        word if PLACEHOLDERS.contains(&word) => format!("<{word}>"),
        word => word.to_owned(),
    };
    arguments.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Whether it ends a Turn: an agent does that with its token alone, which no command that is printed holds.
fn is_stop(arguments: &str) -> bool {
    verbs(arguments).any(|verb| verb == Verb::TurnStop)
}

/// The flag that names the person at this machine, where what names nobody would not be a person's.
fn person(context: &Context<'_, '_>) -> Option<String> {
    let standing = context.env.text(Var::LoopxActor).ok().flatten();
    let is_persons = match standing {
        // A token names who asks.
        _ if context.env.get(Var::LoopxToken).is_some() => true,
        Some(actor) => actor.parse::<Actor>().is_ok_and(|actor| actor.is_user()),
        None => context.stdio.input_is_terminal,
    };
    let user = format!("user:{}", context.login().ok()?).parse::<Actor>().ok()?.to_string();
    if is_persons { None } else { shell_line([user.as_str()]).map(|user| format!("--as {user}")) }
}

/// Whether a person is asked here, or proves by its environment who it is.
fn is_asked(context: &Context<'_, '_>, args: &Args) -> bool {
    let asks = context.stdio.input_is_terminal && context.stdio.err_is_terminal;
    asks || args.file("token-file").is_none() && context.env.get(Var::LoopxToken).is_some()
}

/// The flag that proves the person who calls: the file it gave, else the token that `init` left, where that still does.
fn by_flag(context: &Context<'_, '_>, args: &Args, desk: &Desk) -> Proof {
    let path = match args.file("token-file") {
        Some(path) => path.to_owned(),
        None => desk.profile.place().dir().join(init::TOKEN_FILE),
    };
    let proves = || {
        let secret = config::read_limited(&path).ok()??;
        let token = desk.tokens().prove(secret.trim(), wall().ok()?).ok()?;
        let is_callers =
            args.text("as").is_none_or(|named| named.parse::<Actor>().ok() == Some(token.actor.clone()));
        let is_named = args.text("as").is_some() || args.file("token-file").is_some();
        (token.actor.is_user() && is_callers && is_named).then_some(())
    };
    let whole = || shell_line([path.to_str()?]);
    let shown = || if args.file("token-file").is_some() { whole() } else { context.shown(&path) };
    match proves().and_then(|()| shown().zip(whole())) {
        Some((shown, whole)) => {
            let flag = |file| format!("--token-file {file}");
            Proof::Flag { shown: flag(shown), whole: flag(whole) }
        }
        None => Proof::None,
    }
}

/// Whom a call names by a flag; what the environment names, it names for the next one too.
fn named(args: &Args) -> Option<Actor> {
    args.text("as").filter(|_| args.origin("as") == Some(Origin::Flag))?.parse().ok()
}

/// The rows of the table that a command may be one of.
fn verbs(arguments: &str) -> impl Iterator<Item = Verb> + '_ {
    let mut words = arguments.split_whitespace().skip_while(|word| word.starts_with("--profile"));
    let start = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    Verb::ALL.iter().copied().filter(move |verb| {
        let mut wanted = verb.as_str().split(' ');
        start == (wanted.next().unwrap_or_default(), wanted.next().unwrap_or_default())
            && wanted.all(|flag| is_given(arguments, flag))
    })
}

fn needs_proof(arguments: &str) -> bool {
    verbs(arguments).any(|verb| verb.rights().person == Person::Proven)
        || is_given(arguments, "--accept-clock")
        || OF_THE_LEDGER.iter().any(|verb| arguments.split_whitespace().next() == Some(verb))
}

/// The verbs of the ledger itself, which no row of the table of actors is about.
const OF_THE_LEDGER: &[&str] = &["migrate", "restore"];

/// Whether somebody may use a command that asks who acts.
fn may_use(actor: &Actor, arguments: &str) -> bool {
    if is_given(arguments, "--as") {
        return false;
    }
    let drives = ["turn recover ", "turn run ", "loop run "].iter().any(|verb| arguments.starts_with(verb));
    drives
        || verbs(arguments).any(|verb| {
            let rights = verb.rights();
            if actor.is_user() {
                rights.person != Person::Never
            } else {
                rights.agent && verb != Verb::TurnStop
            }
        })
}

fn is_given(arguments: &str, flag: &str) -> bool {
    arguments.split_whitespace().any(|word| word == flag)
}
