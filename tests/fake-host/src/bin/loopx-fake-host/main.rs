//! A host with a choice of bad habits: what a governed Turn has to survive, on demand.
//!
//! It knows the wire of the generic command host as any third party would, from its reference page, and no crate of
//! LoopX. Each habit is a [`Personality`]; the README beside this crate says how a Turn has to end under each.
//!
//! It is safe to run: it writes at most two files, which it is told the names of, and whatever it leaves behind ends by
//! itself after [`LEFT_BEHIND_MAX`].

mod children;
mod odd;
mod personality;
mod words;

use std::{
    ffi::OsString,
    io::{self, Read as _, Write as _},
    process::ExitCode,
    time::Duration,
};

use personality::Personality;

/// How long anything lives that nobody ends.
const LEFT_BEHIND_MAX: Duration = Duration::from_secs(120);

/// What the program is told.
#[derive(Debug, Clone)]
struct Options {
    /// The file that its work is.
    work: String,
    /// The file that is written too late.
    late: String,
    /// How long after the result that is.
    after: Duration,
    /// Stands in the command line of each process of this run and means nothing else.
    mark: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            work: "answer".to_owned(),
            late: "late".to_owned(),
            after: Duration::from_secs(5),
            mark: String::new(),
        }
    }
}

/// What the command line asks for.
#[derive(Debug)]
enum Asked {
    Help,
    List,
    Host(Personality, Options),
    /// A process that a personality leaves behind; started by this program alone.
    Child(children::Child, Options),
}

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).map(OsString::into_string).collect::<Result<Vec<_>, _>>();
    let asked = arguments.map_err(|_| "an argument is no text".to_owned()).and_then(|words| parse(&words));
    let ended = match asked {
        Ok(Asked::Help) => io::stdout().write_all(personality::help().as_bytes()).map(|()| ExitCode::SUCCESS),
        Ok(Asked::List) => io::stdout().write_all(personality::list().as_bytes()).map(|()| ExitCode::SUCCESS),
        Ok(Asked::Child(child, options)) => children::live(child, &options).map(|()| ExitCode::SUCCESS),
        Ok(Asked::Host(personality, options)) => host(personality, &options),
        Err(message) => Err(io::Error::other(message)),
    };
    ended.unwrap_or_else(|error| {
        // Nobody may listen any more, which is no reason to end otherwise.
        let _ = writeln!(io::stderr(), "loopx-fake-host: {error}");
        ExitCode::from(2)
    })
}

fn parse(words: &[String]) -> Result<Asked, String> {
    let Some((first, rest)) = words.split_first() else { return Ok(Asked::Help) };
    let mut options = Options::default();
    let mut rest = rest.iter();
    while let Some(flag) = rest.next() {
        let value = rest.next().ok_or_else(|| format!("{flag} needs a value"))?.clone();
        match flag.as_str() {
            "--work" => options.work = value,
            "--late" => options.late = value,
            "--mark" => options.mark = value,
            "--after-ms" => {
                let millis = value.parse().map_err(|_| format!("{flag} is a number of milliseconds"))?;
                options.after = Duration::from_millis(millis);
            }
            _ => return Err(format!("{flag} is no option; see --help")),
        }
    }
    match first.as_str() {
        "--help" | "-h" | "help" => Ok(Asked::Help),
        "--list" => Ok(Asked::List),
        name => match (Personality::named(name), children::Child::named(name)) {
            (Some(personality), _) => Ok(Asked::Host(personality, options)),
            (None, Some(child)) => Ok(Asked::Child(child, options)),
            (None, None) => Err(format!("{name} is no personality; see --help")),
        },
    }
}

/// One attempt of one Turn: the request in, and then whatever the personality does.
fn host(personality: Personality, options: &Options) -> io::Result<ExitCode> {
    let mut request = Vec::new();
    io::stdin().lock().read_to_end(&mut request)?;
    let request: serde_json::Value = serde_json::from_slice(&request)?;
    let turn_key = request
        .get("turn_key")
        .and_then(serde_json::Value::as_str)
        .ok_or_else(|| io::Error::other("the request names no Turn"))?;
    personality::play(personality, turn_key, options)
}

#[cfg(test)]
mod tests {
    use super::{Asked, parse};

    fn words(line: &str) -> Vec<String> {
        line.split_ascii_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_command_line_is_taken_or_refused() {
        assert!(matches!(parse(&words("")), Ok(Asked::Help)));
        assert!(
            matches!(parse(&words("good --work a/b --after-ms 20")), Ok(Asked::Host(_, o)) if o.work == "a/b")
        );
        for refused in ["charming", "good --work", "good --colour red", "good --after-ms soon"] {
            assert!(parse(&words(refused)).is_err(), "{refused}");
        }
    }
}
