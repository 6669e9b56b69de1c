//! Owns the shape of a row of the flag table: commands, arguments, kinds of values.
//!
//! Knows nothing of clap, of rendering or of any one command. All of it is const data, so that a process
//! pays only for the rows it looks at.

use crate::{cli::env::Var, error::Code};

/// What a command does to state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It changes no byte anywhere. An argument marked [`Arg::writes`] turns it into a writing one.
    Reads,
    /// It changes the authority, the private store or a file.
    Writes,
    /// It looks at nothing but its arguments.
    Pure,
}

/// The heading of the top screen below which a command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// First contact.
    Start,
    /// Goals, Todos and what stands in their way.
    Work,
    /// Governed Turns.
    Execute,
    /// What may be spent.
    Budget,
    /// What is changed outside.
    Outside,
    /// What can be checked.
    Trust,
    /// The shell around it.
    Shell,
}

impl Group {
    /// All groups in the order of the screen.
    pub const ALL: &'static [Self] =
        &[Self::Start, Self::Work, Self::Execute, Self::Budget, Self::Outside, Self::Trust, Self::Shell];

    /// The group that a word means.
    pub fn called(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|group| group.title().eq_ignore_ascii_case(word))
    }

    /// What its commands are for; a sentence.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Start => "The first minutes, and the first question of every day.",
            Self::Work => "Goals, the work on them, and what stands in its way.",
            Self::Execute => "Governed Turns, one or many.",
            Self::Budget => "What may be spent.",
            Self::Outside => "What is changed outside of LoopX.",
            Self::Trust => "What can be checked.",
            Self::Shell => "The shell around it.",
        }
    }

    /// The heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Start => "Start",
            Self::Work => "Work",
            Self::Execute => "Execute",
            Self::Budget => "Budget",
            Self::Outside => "Outside",
            Self::Trust => "Trust",
            Self::Shell => "Shell",
        }
    }
}

/// An exit code that is an answer and never an error, and what it says.
pub(in crate::cli) type Exit = (u8, &'static str);

/// There is no work now: what is left waits for something.
pub(in crate::cli) const WAITS: Exit = (10, "the agent waits");
/// There is no work before a person has acted.
pub(in crate::cli) const ASKS_USER: Exit = (11, "a person has to act");
/// There is no work any more.
pub(in crate::cli) const CLOSED: Exit = (12, "the Goal is closed");

/// What a decision that is no work exits with, in the order of the codes.
pub(in crate::cli) const DECISIONS: &[Exit] = &[WAITS, ASKS_USER, CLOSED];

/// A command: a noun with verbs, or a verb.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Command {
    /// The word on the command line.
    pub name: &'static str,
    /// Other words for it.
    pub aliases: &'static [&'static str],
    /// The heading of the top screen; read only at the top.
    pub group: Group,
    /// One line, third person, full stop.
    pub about: &'static str,
    /// What the one line cannot say; paragraphs.
    pub long: &'static [&'static str],
    /// Its own arguments, positional ones in order.
    pub args: &'static [Arg],
    /// Arguments of which exactly one is required; empty for none.
    pub one_of: &'static [&'static str],
    /// Lines that work, shown in the help and parsed by a test.
    pub examples: &'static [Example],
    /// What it does to state.
    pub access: Access,
    /// The codes it ends with beside those every command can end with.
    pub codes: &'static [Code],
    /// Its answers that have an exit code of their own, and are no errors.
    pub answers: &'static [Exit],
    /// Its verbs; empty for a verb.
    pub verbs: &'static [Command],
}

impl Command {
    /// A row with everything optional left empty.
    const fn blank(name: &'static str, group: Group, access: Access, about: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
            group,
            about,
            long: &[],
            args: &[],
            one_of: &[],
            examples: &[],
            access,
            codes: &[],
            answers: &[],
            verbs: &[],
        }
    }

    /// A noun.
    pub const fn noun(name: &'static str, group: Group, about: &'static str) -> Self {
        Self::blank(name, group, Access::Pure, about)
    }

    /// A verb of a noun.
    pub const fn verb(name: &'static str, access: Access, about: &'static str) -> Self {
        Self::blank(name, Group::Work, access, about)
    }

    /// A command that stands alone at the top.
    pub const fn lone(name: &'static str, group: Group, access: Access, about: &'static str) -> Self {
        Self::blank(name, group, access, about)
    }

    /// Adds other words for it.
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Adds paragraphs.
    pub const fn long(mut self, long: &'static [&'static str]) -> Self {
        self.long = long;
        self
    }

    /// Adds its arguments.
    pub const fn args(mut self, args: &'static [Arg]) -> Self {
        self.args = args;
        self
    }

    /// Adds the arguments of which exactly one is required.
    pub const fn one_of(mut self, ids: &'static [&'static str]) -> Self {
        self.one_of = ids;
        self
    }

    /// Adds examples.
    pub const fn examples(mut self, examples: &'static [Example]) -> Self {
        self.examples = examples;
        self
    }

    /// Adds codes it ends with.
    pub const fn codes(mut self, codes: &'static [Code]) -> Self {
        self.codes = codes;
        self
    }

    /// Adds answers that have an exit code of their own.
    pub const fn answers(mut self, answers: &'static [Exit]) -> Self {
        self.answers = answers;
        self
    }

    /// Adds verbs.
    pub const fn verbs(mut self, verbs: &'static [Command]) -> Self {
        self.verbs = verbs;
        self
    }

    /// Whether a word names this command.
    pub fn is_called(&self, word: &str) -> bool {
        self.name == word || self.aliases.contains(&word)
    }
}

/// A line that works, without the program's name, and what it does.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// The arguments, as typed into a shell.
    pub line: &'static str,
    /// What it does; a sentence without a full stop.
    pub does: &'static str,
}

/// Makes an example.
pub const fn example(line: &'static str, does: &'static str) -> Example {
    Example { line, does }
}

/// Where an argument stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// By its position.
    Positional,
    /// `--name VALUE`.
    Option,
    /// `--name`.
    Switch,
}

/// What a value must look like. Limits of the nouns are their rules' business, not the edge's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// An id, or a unique prefix of one.
    Id,
    /// A Goal's slug.
    Slug,
    /// `user:NAME`, `agent:ID[@ENDPOINT]`, `host:ENDPOINT` or `system`.
    Actor,
    /// A whole number within bounds, both included.
    Number {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// A length of time: `90s`, `30m`, `1h30m`, `7d`.
    Duration,
    /// A time (RFC 3339) or a length of time from now.
    When,
    /// `after:WHEN`, `todo_done:TODO` or `gate:GATE`.
    Wake,
    /// A command, split like a shell would; no shell is run.
    Argv,
    /// `N=COMMAND`: a number, and a command split like a shell would.
    NumberedArgv,
    /// A path of the file system.
    Path,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// An argument.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Arg {
    /// The long flag without dashes, or the name of a positional, lower case. Handlers ask by it.
    pub id: &'static str,
    /// Where it stands.
    pub place: Place,
    /// The name of its value.
    pub value: &'static str,
    /// What the value must look like.
    pub kind: Kind,
    /// Whether it may be given several times.
    pub many: bool,
    /// Whether it must be given.
    pub required: bool,
    /// The value where none is given, as it would be typed.
    pub default: Option<&'static str>,
    /// The configuration key that gives the value where none is given.
    pub setting: Option<&'static str>,
    /// The variable that gives the value where none is given.
    pub env: Option<Var>,
    /// One sentence with its unit and limits; capital letter, no full stop.
    pub help: &'static str,
    /// Arguments that cannot be given with it.
    pub conflicts: &'static [&'static str],
    /// Arguments that must be given with it.
    pub needs: &'static [&'static str],
    /// Whether it makes a reading command write.
    pub writes: bool,
}

impl Arg {
    const fn blank(
        id: &'static str,
        place: Place,
        value: &'static str,
        kind: Kind,
        help: &'static str,
    ) -> Self {
        Self {
            id,
            place,
            value,
            kind,
            many: false,
            required: false,
            default: None,
            setting: None,
            env: None,
            help,
            conflicts: &[],
            needs: &[],
            writes: false,
        }
    }

    /// An option with a value.
    pub const fn option(id: &'static str, value: &'static str, kind: Kind, help: &'static str) -> Self {
        Self::blank(id, Place::Option, value, kind, help)
    }

    /// A switch.
    pub const fn switch(id: &'static str, help: &'static str) -> Self {
        Self::blank(id, Place::Switch, "", Kind::Text, help)
    }

    /// A required positional.
    pub const fn positional(id: &'static str, value: &'static str, kind: Kind, help: &'static str) -> Self {
        Self::blank(id, Place::Positional, value, kind, help).required()
    }

    /// An optional positional.
    pub const fn maybe(id: &'static str, value: &'static str, kind: Kind, help: &'static str) -> Self {
        Self::blank(id, Place::Positional, value, kind, help)
    }

    /// Lets it be given several times.
    pub const fn many(mut self) -> Self {
        self.many = true;
        self
    }

    /// Demands it.
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Gives it a default.
    pub const fn default(mut self, value: &'static str) -> Self {
        self.default = Some(value);
        self
    }

    /// Takes its default from a configuration key.
    pub const fn setting(mut self, key: &'static str) -> Self {
        self.setting = Some(key);
        self
    }

    /// Takes its default from the environment.
    pub const fn env(mut self, var: Var) -> Self {
        self.env = Some(var);
        self
    }

    /// Names what cannot be given with it.
    pub const fn conflicts(mut self, ids: &'static [&'static str]) -> Self {
        self.conflicts = ids;
        self
    }

    /// Names what must be given with it.
    pub const fn needs(mut self, ids: &'static [&'static str]) -> Self {
        self.needs = ids;
        self
    }

    /// Marks that with it a reading command writes.
    pub const fn writes(mut self) -> Self {
        self.writes = true;
        self
    }
}
