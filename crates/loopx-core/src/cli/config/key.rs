//! Owns the table of settings: one row a key, with its unit, bounds, default and purpose.

use crate::{
    cli::{
        env::Var,
        parse::{nearest, parse_duration_ms},
    },
    error::{Code, Error, Result},
};

/// What a setting's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Unit {
    /// A length of time, bounds in milliseconds.
    Duration { min_ms: u64, max_ms: u64 },
    /// A whole number.
    Count { min: u64, max: u64 },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A name of at most 48 bytes: lower-case letters, digits and `-`.
    Name,
}

/// A setting.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    /// `section.name`, as the file and the command line spell it.
    pub name: &'static str,
    pub(in crate::cli) unit: Unit,
    /// Its value where none is set; none for a binding.
    pub default: Option<&'static str>,
    /// What it bounds or decides.
    pub about: &'static str,
    /// The flag that sets it for one command.
    pub flag: Option<&'static str>,
    /// The variable that sets it for a process.
    pub env: Option<Var>,
    /// Whether a project's file holds it; the others stand in the profile's.
    pub in_project: bool,
}

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

/// All settings.
pub(in crate::cli) const KEYS: &[Key] = &[
    Key {
        name: "profile",
        unit: Unit::Name,
        default: Some("default"),
        about: "The profile: which ledger, private store and settings are used.",
        flag: Some("profile"),
        env: Some(Var::LoopxProfile),
        in_project: true,
    },
    Key {
        name: "goal",
        unit: Unit::Name,
        default: None,
        about: "The Goal that commands mean where they name none.",
        flag: Some("goal"),
        env: None,
        in_project: true,
    },
    Key {
        name: "ownership.ttl",
        unit: Unit::Duration { min_ms: MINUTE_MS, max_ms: 24 * HOUR_MS },
        default: Some("45m"),
        about: "How long a claim lasts before others may take the Todo, unless it is renewed.",
        flag: Some("ttl"),
        env: None,
        in_project: false,
    },
    Key {
        name: "turn.deadline",
        unit: Unit::Duration { min_ms: 1000, max_ms: 24 * HOUR_MS },
        default: Some("30m"),
        about: "How long one attempt of a host may take before it is ended with all it started.",
        flag: Some("deadline"),
        env: None,
        in_project: false,
    },
    Key {
        name: "turn.attempts",
        unit: Unit::Count { min: 1, max: 3 },
        default: Some("3"),
        about: "How often a Turn starts its host when the host is lost.",
        flag: Some("attempts"),
        env: None,
        in_project: false,
    },
    Key {
        name: "loop.turns",
        unit: Unit::Count { min: 1, max: 10_000 },
        default: Some("10"),
        about: "How many Turns one loop may run.",
        flag: Some("turns"),
        env: None,
        in_project: false,
    },
    Key {
        name: "loop.wall",
        unit: Unit::Duration { min_ms: 1000, max_ms: 30 * 24 * HOUR_MS },
        default: Some("8h"),
        about: "How long one loop begins Turns, and waits for what they wait for.",
        flag: Some("wall"),
        env: None,
        in_project: false,
    },
    Key {
        name: "snapshot.age",
        unit: Unit::Duration { min_ms: HOUR_MS, max_ms: 365 * 24 * HOUR_MS },
        default: Some("14d"),
        about: "How long the snapshots of a Turn are kept after it ended, for `turn diff` and `turn undo`.",
        flag: None,
        env: None,
        in_project: false,
    },
    Key {
        name: "snapshot.turns",
        unit: Unit::Count { min: 1, max: 1000 },
        default: Some("20"),
        about: "Of how many ended Turns of one work tree the snapshots are kept at most.",
        flag: None,
        env: None,
        in_project: false,
    },
    Key {
        name: "retention.bodies",
        unit: Unit::Duration { min_ms: 0, max_ms: 3650 * 24 * HOUR_MS },
        default: Some("30d"),
        about: "How long `gc` leaves what a host and validators printed, after the end of their Turn.",
        flag: Some("older-than"),
        env: None,
        in_project: false,
    },
    Key {
        name: "validator.timeout",
        unit: Unit::Duration { min_ms: 1000, max_ms: 24 * HOUR_MS },
        default: Some("10m"),
        about: "How long one validator may take before its verdict counts as inconclusive.",
        flag: Some("timeout"),
        env: None,
        in_project: false,
    },
    Key {
        name: "actors.assurance",
        unit: Unit::Choice(&["stated", "strict"]),
        default: Some("stated"),
        about: "Whether a stated user is enough for everyday verbs, or each needs a proof.",
        flag: None,
        env: None,
        in_project: false,
    },
    Key {
        name: "list.page",
        unit: Unit::Count { min: 1, max: 1000 },
        default: Some("50"),
        about: "How many rows a listing prints at most.",
        flag: Some("limit"),
        env: None,
        in_project: false,
    },
];

impl Key {
    /// The key of that name.
    ///
    /// Errors: `invalid_argument` with the nearest key.
    pub fn named(name: &str) -> Result<&'static Self> {
        KEYS.iter().find(|key| key.name == name).ok_or_else(|| {
            let shown = crate::error::echo(name);
            let error = Error::new(Code::InvalidArgument, format!("there is no setting `{shown}`"))
                .hint("config get")
                .detail("key", shown);
            match nearest(name, KEYS.iter().map(|key| key.name)) {
                Some(near) => error.hint(format!("config explain {near}")).detail("nearest", near),
                None => error,
            }
        })
    }

    /// Checks a value, which stays text.
    ///
    /// Errors: `invalid_argument`, for a name `invalid_id`, saying what is wanted.
    pub fn check(&self, value: &str) -> Result<()> {
        let fits = match self.unit {
            Unit::Duration { min_ms, max_ms } => {
                parse_duration_ms(value).is_some_and(|millis| (min_ms..=max_ms).contains(&millis))
            }
            Unit::Count { min, max } => {
                let is_plain = value.bytes().all(|byte| byte.is_ascii_digit());
                is_plain && value.parse().is_ok_and(|count: u64| (min..=max).contains(&count))
            }
            Unit::Choice(words) => words.contains(&value),
            Unit::Name => is_name(value),
        };
        if fits {
            return Ok(());
        }
        let shown = crate::error::echo(value);
        let message = format!("`{}` cannot be `{shown}`: {} is wanted", self.name, self.bounds());
        let code = if self.unit == Unit::Name { Code::InvalidId } else { Code::InvalidArgument };
        Err(Error::new(code, message).hint(format!("config explain {}", self.name)).detail("key", self.name))
    }

    /// What a value must be, with its unit.
    pub fn bounds(&self) -> String {
        use crate::cli::parse::show_duration_ms as shown;
        match self.unit {
            Unit::Duration { min_ms, max_ms } => format!("{} to {}", shown(min_ms), shown(max_ms)),
            Unit::Count { min, max } => format!("{min} to {max}"),
            Unit::Choice(words) => words.join(" or "),
            Unit::Name => "a name of 1 to 48 lower-case letters, digits and `-`".to_owned(),
        }
    }
}

fn is_name(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=48).contains(&text.len())
        && text.bytes().all(|byte| is_word(byte) || byte == b'-')
        && text.bytes().next().is_some_and(is_word)
}
