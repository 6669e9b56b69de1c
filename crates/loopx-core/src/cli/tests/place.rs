//! What a handler is told about its place: actor, token, Goal, a question asked.

use std::{ffi::OsString, fs};

use crate::{
    cli::{Args, CORE, Context, Document, Env, Preset, Rendered, Stdio, main},
    error::Result,
};

/// Prints what the context says, one line each.
fn told(context: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let actor = context.actor(args)?;
    let token = context.token(args)?.unwrap_or_default();
    let goal = context.settings(args)?.text("goal").unwrap_or("-").to_owned();
    let yes = context.confirm("Sure?")?;
    let page = Document::new().line(actor).line(token).line(goal).line(format!("{yes:?}"));
    Rendered::new("loopx_test_v1", &serde_json::json!({}), page)
}

const TOLD: Preset = Preset { commands: &[CORE], handlers: &[&[("status", told)]], inner: &[] };

fn call(env: &[(&str, &str)], words: &[&str], typed: Option<&str>) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut stdio = Stdio {
        input: &mut typed.unwrap_or_default().as_bytes(),
        out: &mut out,
        err: &mut err,
        input_is_terminal: typed.is_some(),
        out_is_terminal: false,
        err_is_terminal: typed.is_some(),
    };
    let argv: Vec<_> = words.iter().map(OsString::from).collect();
    let exit = main("loopx", &TOLD, &argv, &Env::from_pairs(env.to_vec()), &mut stdio);
    (exit, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

#[test]
fn the_actor_is_the_flag_the_variable_or_the_login_on_a_terminal() {
    let words = ["status", "--goal", "a"];
    let (exit, out, _) = call(&[("USER", "ada"), ("TERM", "dumb")], &words, Some("yes\n"));
    assert_eq!((exit, out.as_str()), (0, "user:ada\n\na\nSome(true)\n"));
    let (_, out, err) = call(&[("USER", "ada"), ("LOOPX_ACTOR", "user:eve")], &words, Some("y\n"));
    assert_eq!((out.as_str(), err.as_str()), ("user:eve\n\na\nSome(false)\n", "Sure? (yes/no)\n"));
    let (_, out, _) = call(&[], &["status", "--goal", "a", "--as", "agent:x"], None);
    assert_eq!(out, "agent:x\n\na\nNone\n");
    let (exit, out, _) = call(&[("USER", "ada")], &["status", "--json", "--goal", "a"], None);
    assert_eq!(exit, 2);
    assert!(out.contains("\"missing_actor\""), "{out}");
}

#[cfg(unix)]
#[test]
fn a_token_comes_from_a_file_that_only_its_owner_reads() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("token");
    let file = path.to_string_lossy().into_owned();
    let words = ["status", "--goal", "a", "--as", "user:a", "--token-file", &file];
    let env = [("LOOPX_TOKEN", "tok_env")];
    assert_eq!(call(&env, &words[..5], None).1, "user:a\ntok_env\na\nNone\n");
    assert!(call(&env, &words, None).2.starts_with("error: there is no such token file"));
    fs::write(&path, "tok_file\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(call(&env, &words, None).2.starts_with("error: others can read the token file"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(call(&env, &words, None).1, "user:a\ntok_file\na\nNone\n");
    fs::write(&path, " \n").unwrap();
    assert!(call(&env, &words, None).2.starts_with("error: the token file is empty"));
}
