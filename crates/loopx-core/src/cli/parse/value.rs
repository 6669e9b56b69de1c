//! Owns what a value of each kind must look like, and its parsed form.
//!
//! Ids, slugs, actors and free text pass as they are: their form and limits are the nouns' own rules.

use std::{borrow::Cow, ffi::OsStr, path::PathBuf};

use crate::cli::table::Kind;

/// A parsed value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A switch that was given.
    On,
    /// Text, an id, a slug, an actor or a word of a choice.
    Text(String),
    /// A whole number.
    Number(u64),
    /// A length of time in milliseconds.
    Millis(u64),
    /// A time.
    When(When),
    /// What ends a deferral.
    Wake(Wake),
    /// A command's words.
    Argv(Vec<String>),
    /// A number and a command's words.
    NumberedArgv(u64, Vec<String>),
    /// A path.
    Path(PathBuf),
}

/// A time, or a length of time that the caller's clock turns into one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Milliseconds since the Unix epoch.
    At(i64),
    /// Milliseconds from the present; which direction is the argument's meaning.
    Span(u64),
}

/// What ends a deferral.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    /// A time.
    After(When),
    /// The completion of a Todo.
    TodoDone(String),
    /// The answer of a gate.
    Gate(String),
}

/// Parses a value; the error says what is wanted.
pub(super) fn parse(kind: Kind, raw: &OsStr) -> Result<Value, Cow<'static, str>> {
    if kind == Kind::Path {
        return if raw.is_empty() {
            Err("a path is wanted".into())
        } else {
            Ok(Value::Path(PathBuf::from(raw)))
        };
    }
    let text = raw.to_str().ok_or("it is not valid UTF-8")?;
    Ok(match kind {
        Kind::Text | Kind::Id | Kind::Slug | Kind::Actor | Kind::Path => Value::Text(text.to_owned()),
        Kind::Choice(words) if words.contains(&text) => Value::Text(text.to_owned()),
        Kind::Choice(words) => return Err(format!("one of {} is wanted", words.join(", ")).into()),
        Kind::Number { min, max } => Value::Number(number(text, min, max)?),
        Kind::Duration => Value::Millis(parse_duration_ms(text).ok_or(DURATION)?),
        Kind::When => Value::When(when(text)?),
        Kind::Wake => Value::Wake(wake(text)?),
        Kind::Argv => Value::Argv(argv(text)?),
        Kind::NumberedArgv => {
            let (index, command) = text.split_once('=').ok_or("N=COMMAND is wanted")?;
            Value::NumberedArgv(number(index, 1, 32)?, argv(command)?)
        }
    })
}

const DURATION: &str = "a length of time is wanted, such as 90s, 30m, 1h30m or 7d";

fn number(text: &str, min: u64, max: u64) -> Result<u64, Cow<'static, str>> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = if is_plain { text.parse().ok() } else { None };
    number.filter(|number| (min..=max).contains(number)).ok_or_else(|| {
        if max == u64::MAX {
            format!("a whole number from {min} is wanted").into()
        } else {
            format!("a whole number from {min} to {max} is wanted").into()
        }
    })
}

fn when(text: &str) -> Result<When, &'static str> {
    if let Some(millis) = parse_duration_ms(text) {
        return Ok(When::Span(millis));
    }
    let time: jiff::Timestamp = text
        .parse()
        .map_err(|_| "a time is wanted, such as 2031-05-01T09:00:00Z, or a length of time, such as 2d")?;
    Ok(When::At(time.as_millisecond()))
}

fn wake(text: &str) -> Result<Wake, &'static str> {
    const WANTED: &str = "after:WHEN, todo_done:TODO or gate:GATE is wanted";
    match text.split_once(':').ok_or(WANTED)? {
        ("after", time) => when(time).map(Wake::After),
        ("todo_done", id) if !id.is_empty() => Ok(Wake::TodoDone(id.to_owned())),
        ("gate", id) if !id.is_empty() => Ok(Wake::Gate(id.to_owned())),
        _ => Err(WANTED),
    }
}

fn argv(text: &str) -> Result<Vec<String>, &'static str> {
    match shlex::split(text) {
        None => Err("a command with closed quotes is wanted"),
        Some(words) if words.first().is_none_or(String::is_empty) => Err("a command is wanted"),
        Some(words) => Ok(words),
    }
}

/// The units of a length of time, greatest first, in milliseconds.
const UNITS: &[(&str, u64)] = &[("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Parses `1h30m` into milliseconds: whole numbers with units, each unit at most once, greatest first.
pub(in crate::cli) fn parse_duration_ms(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total_ms = 0u64;
    let mut units = UNITS.iter();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (count, tail) = rest.split_at_checked(digits)?;
        let letters = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, after) = tail.split_at_checked(letters)?;
        let (_, unit_ms) = units.find(|(name, _)| *name == unit)?;
        total_ms = count.parse::<u64>().ok()?.checked_mul(*unit_ms)?.checked_add(total_ms)?;
        rest = after;
    }
    Some(total_ms)
}

/// Writes milliseconds as [`parse_duration_ms`] reads them.
pub(in crate::cli) fn show_duration_ms(mut millis: u64) -> String {
    if millis == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (name, unit_ms) in UNITS {
        let count = millis / unit_ms;
        if count > 0 {
            text.extend([count.to_string().as_str(), name]);
            millis %= unit_ms;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(kind: Kind, text: &str) -> Result<Value, Cow<'static, str>> {
        parse(kind, OsStr::new(text))
    }

    #[test]
    fn durations_are_read_or_refused() {
        for (text, wanted) in [
            ("90s", Some(90_000)),
            ("1h30m", Some(5_400_000)),
            ("7d", Some(604_800_000)),
            ("5ms", Some(5)),
            ("0s", Some(0)),
            ("", None),
            ("5", None),
            ("m", None),
            ("-5m", None),
            ("5 m", None),
            ("30m1h", None),
            ("1h1h", None),
            ("1w", None),
            ("1.5h", None),
            ("99999999999999999999d", None),
            ("9999999999999999d", None),
            ("5m…", None),
            ("٣m", None),
        ] {
            assert_eq!(parse_duration_ms(text), wanted, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_duration_survives_its_own_text(millis in 0u64..1 << 50) {
            prop_assert_eq!(parse_duration_ms(&show_duration_ms(millis)), Some(millis));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            for kind in [Kind::Duration, Kind::When, Kind::Wake, Kind::Argv, Kind::NumberedArgv, Kind::Number { min: 1, max: 5 }] {
                let _ = read(kind, &text);
            }
        }
    }

    #[test]
    fn numbers_are_whole_plain_and_within_bounds() {
        let kind = Kind::Number { min: 1, max: 1000 };
        assert_eq!(read(kind, "1000"), Ok(Value::Number(1000)));
        for text in ["0", "1001", "+5", "-1", "1e3", "", " 5", "99999999999999999999"] {
            assert!(read(kind, text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_is_absolute_or_a_span() {
        assert_eq!(read(Kind::When, "2d"), Ok(Value::When(When::Span(172_800_000))));
        assert_eq!(read(Kind::When, "1970-01-01T00:00:01Z"), Ok(Value::When(When::At(1000))));
        assert!(read(Kind::When, "tomorrow").is_err());
        assert!(read(Kind::When, "2031-05-01").is_err());
    }

    #[test]
    fn a_wake_is_one_of_three() {
        assert_eq!(read(Kind::Wake, "after:1h"), Ok(Value::Wake(Wake::After(When::Span(3_600_000)))));
        assert_eq!(read(Kind::Wake, "todo_done:a.1"), Ok(Value::Wake(Wake::TodoDone("a.1".into()))));
        assert_eq!(read(Kind::Wake, "gate:0v7"), Ok(Value::Wake(Wake::Gate("0v7".into()))));
        for text in ["", "after:", "gate:", "todo_done:", "1h", "soon:1h"] {
            assert!(read(Kind::Wake, text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_command_is_split_and_no_shell_is_run() {
        let words = |text: &str| read(Kind::Argv, text);
        assert_eq!(words("sh -c 'a; b'"), Ok(Value::Argv(vec!["sh".into(), "-c".into(), "a; b".into()])));
        assert_eq!(words("echo $HOME"), Ok(Value::Argv(vec!["echo".into(), "$HOME".into()])));
        for text in ["", "  ", "a 'b", "''"] {
            assert!(words(text).is_err(), "{text}");
        }
        assert_eq!(
            read(Kind::NumberedArgv, "2=make x"),
            Ok(Value::NumberedArgv(2, vec!["make".into(), "x".into()]))
        );
        assert!(read(Kind::NumberedArgv, "0=make").is_err());
    }
}
