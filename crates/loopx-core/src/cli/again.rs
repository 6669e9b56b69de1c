//! Owns the same call once more, with more words: a hint that works as it stands.
//!
//! Knows nothing of what a word means; a shell reads the line, so each is quoted for one.

use std::{ffi::OsString, path::Path};

use super::env::{Env, Var};

/// A longer line helps nobody.
const MAX_BYTES: usize = 1000;

/// The arguments of this process with a flag before `--`, none where they cannot be shown.
///
/// The value is given as it is. A flag that is there already is not given again.
pub(super) fn again(argv: &[OsString], flag: &str, value: &str) -> Option<String> {
    let words = argv.iter().map(|word| word.to_str()).collect::<Option<Vec<_>>>()?;
    let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let (before, after) = words.split_at_checked(end)?;
    let is_given = |word: &&str| word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
    let mut line = joined(before)?;
    if !before.iter().any(is_given) {
        line = format!("{line} {flag} {value}");
    }
    if !after.is_empty() {
        line = format!("{line} {}", joined(after)?);
    }
    Some(line).filter(|line| line.len() <= MAX_BYTES && !line.chars().any(char::is_control))
}

fn joined(words: &[&str]) -> Option<String> {
    shlex::try_join(words.iter().copied()).ok()
}

/// A path as a shell expands it, without the place it lies in: by `~` or the variable that leads to it.
pub(super) fn by_variable(path: &Path, env: &Env) -> Option<String> {
    let roots = [(Var::LoopxHome, "$LOOPX_HOME"), (Var::XdgDataHome, "$XDG_DATA_HOME"), (Var::Home, "~")];
    let (rest, shown) = roots.iter().find_map(|(var, shown)| {
        let rest = path.strip_prefix(env.get(*var)?).ok()?;
        Some((rest.to_str()?, shown))
    })?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    rest.chars().all(is_plain).then(|| format!("{shown}/{rest}"))
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
    }

    #[test]
    fn a_path_is_shown_by_the_variable_that_leads_to_it() {
        let env = Env::from_pairs([("HOME", "/h/ana"), ("XDG_DATA_HOME", "/data")]);
        let shown = |path: &str| by_variable(Path::new(path), &env);
        assert_eq!(shown("/h/ana/.local/share/x").unwrap(), "~/.local/share/x");
        assert_eq!(shown("/data/loopx/x").unwrap(), "$XDG_DATA_HOME/loopx/x");
        assert_eq!(shown("/h/ana/a b"), None);
        assert_eq!(shown("/elsewhere/x"), None);
    }
}
