//! Owns the same call once more, with more words: a hint that works as it stands.
//!
//! Invariant: a POSIX shell reads each word back as it was, whatever it holds. Knows nothing of what a word means.

use std::{ffi::OsString, path::Path};

use super::{
    env::{Env, Var},
    render::is_printable,
};
use crate::error::shell_line;

/// A longer line helps nobody.
const MAX_BYTES: usize = 1000;

/// The arguments of this process with a flag before `--`, none where they cannot be shown.
///
/// A flag that is there already is not given again.
pub(super) fn again(argv: &[OsString], flag: &str, value: &str) -> Option<String> {
    with(argv, flag, &shell_line([value])?)
}

/// As [`again`], with a file that is named by the variable which leads to it.
pub(super) fn again_with_file(argv: &[OsString], flag: &str, file: &Path, env: &Env) -> Option<String> {
    with(argv, flag, &by_variable(file, env)?)
}

/// The arguments of this process without a flag and its value, none where they cannot be shown.
pub(super) fn without(argv: &[OsString], flag: &str) -> Option<String> {
    let mut kept = Vec::new();
    let mut words = argv.iter();
    let mut is_flags = true;
    while let Some(word) = words.next() {
        let word = word.to_str()?;
        is_flags &= word != "--";
        match word.strip_prefix(flag).filter(|_| is_flags) {
            Some("") => drop(words.next()),
            Some(rest) if rest.starts_with('=') => {}
            Some(_) | None => kept.push(word),
        }
    }
    shown(shell_line(kept)?)
}

/// A line that is shown as it is: what stands as an escape would not be read back as what it was.
fn shown(line: String) -> Option<String> {
    Some(line).filter(|line| line.len() <= MAX_BYTES && is_printable(line))
}

/// `value` is what a shell reads.
fn with(argv: &[OsString], flag: &str, value: &str) -> Option<String> {
    let words = argv.iter().map(|word| word.to_str()).collect::<Option<Vec<_>>>()?;
    let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let (before, after) = words.split_at_checked(end)?;
    let is_given =
        |word: &&str| word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
    let mut line = shell_line(before.iter().copied())?;
    if !before.iter().any(is_given) {
        line = format!("{line} {flag} {value}");
    }
    if !after.is_empty() {
        line = format!("{line} {}", shell_line(after.iter().copied())?);
    }
    shown(line)
}

/// A path as a shell expands it, without the place it lies in: by `~` or the variable that leads to it.
///
/// A shell splits what a bare variable holds, and not what `~` means.
pub(super) fn by_variable(path: &Path, env: &Env) -> Option<String> {
    let roots =
        [(Var::LoopxHome, r#""$LOOPX_HOME""#), (Var::XdgDataHome, r#""$XDG_DATA_HOME""#), (Var::Home, "~")];
    roots.iter().find_map(|(var, shown)| {
        let rest = path.strip_prefix(env.get(*var)?).ok()?;
        Some(format!("{shown}/{}", shell_line([rest.to_str()?])?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> Option<String> {
        let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
        again(&argv, "--op-id", "op_1")
    }

    #[test]
    fn a_call_is_given_again_as_a_shell_reads_it() {
        assert_eq!(line(&["todo", "add", "it's"]).unwrap(), "todo add \"it's\" --op-id op_1");
        assert_eq!(line(&["todo", "add", "--", "-x"]).unwrap(), "todo add --op-id op_1 -- -x");
        assert_eq!(line(&["a", "--op-id", "mine"]).unwrap(), "a --op-id mine");
        assert_eq!(line(&["a", "--op-id=mine"]).unwrap(), "a '--op-id=mine'");
        assert_eq!(line(&["a", &"x".repeat(2000)]), None);
        assert_eq!(line(&["a", "x\ny"]), None);
        assert_eq!(line(&["a", "x\u{202e}y"]), None, "what is hidden cannot be pasted");
        assert_eq!(again(&["a".into()], "--as", "x y").unwrap(), "a --as 'x y'");
    }

    #[test]
    fn a_call_is_given_anew_without_the_id_of_its_first_time() {
        let line = |words: &[&str]| {
            let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
            without(&argv, "--op-id")
        };
        assert_eq!(
            line(&["loop", "run", "--op-id", "mine", "--host", "sh h.sh"]).unwrap(),
            "loop run --host 'sh h.sh'"
        );
        assert_eq!(line(&["a", "--op-id=mine", "--", "--op-id", "x"]).unwrap(), "a -- --op-id x");
        assert_eq!(line(&["a", "--op-ids", "x"]).unwrap(), "a --op-ids x");
        assert_eq!(line(&["a", "x\ny"]), None);
    }

    #[test]
    fn a_path_is_shown_by_the_variable_that_leads_to_it() {
        let env = Env::from_pairs([("HOME", "/h/ana"), ("XDG_DATA_HOME", "/data")]);
        let shown = |path: &str| by_variable(Path::new(path), &env);
        assert_eq!(shown("/h/ana/.local/share/x").unwrap(), "~/.local/share/x");
        assert_eq!(shown("/data/loopx/x").unwrap(), r#""$XDG_DATA_HOME"/loopx/x"#);
        assert_eq!(shown("/h/ana/a b").unwrap(), "~/'a b'");
        assert_eq!(shown("/elsewhere/x"), None);
    }
}
