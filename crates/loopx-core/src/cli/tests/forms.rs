//! Forms of answers and errors, bad input, colour.

use std::{
    ffi::OsString,
    io::{self, Write},
};

use proptest::prelude::*;

use super::{Ended, call, call_in, call_raw};
use crate::{
    cli::{Args, CORE, Context, Document, Env, Preset, Rendered, Stdio, main},
    error::{Code, Error, Result},
};

#[derive(serde::Serialize)]
struct Body {
    title: String,
    n: u64,
}

const HOSTILE: &str = "a\u{1b}[31mred\u{7}\u{9b}2J \u{202e}evil\u{2066} | `x` <b>\r\nnext";

fn hostile(_: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
    let body = Body { title: HOSTILE.to_owned(), n: args.number("limit").unwrap_or(7) };
    let page = Document::new()
        .heading(HOSTILE)
        .para(HOSTILE)
        .line(HOSTILE)
        .terms([(HOSTILE, HOSTILE)])
        .table(&["TITLE"], vec![vec![HOSTILE.to_owned()]])
        .code(vec![HOSTILE.to_owned()])
        .verbatim(HOSTILE);
    Ok(Rendered::new("loopx_test_v1", &body, page)?.note(HOSTILE).exit(11))
}

fn refused(_: &mut Context<'_, '_>, _: &Args) -> Result<Rendered> {
    Err(Error::new(Code::AlreadyClaimed, format!("a.1 is owned by {HOSTILE}"))
        .hint("todo show a.1")
        .detail("holder", HOSTILE)
        .internal("/secret/path"))
}

const TEST: Preset =
    Preset { commands: &[CORE], handlers: &[&[("find", hostile), ("todo renew", refused)]], inner: &[] };

fn test_call(env: &Env, words: &[&str]) -> Ended {
    call_raw(env, &words.iter().map(OsString::from).collect::<Vec<_>>(), &TEST)
}

fn is_raw(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[test]
fn hostile_text_reaches_no_terminal_raw() {
    for format in ["text", "markdown", "json"] {
        let ended = test_call(&Env::default(), &["find", "x", "--format", format]);
        assert_eq!(ended.exit, 11);
        assert!(!ended.out.contains(is_raw) && !ended.err.contains(is_raw), "{format}: {ended:?}");
        let ended = test_call(&Env::default(), &["todo", "renew", "a.1", "--format", format]);
        assert!(!ended.out.contains(is_raw) && !ended.err.contains(is_raw), "{format}: {ended:?}");
    }
    // What the caller typed is printed back in an error, so it passes the same way.
    for words in [&["x\u{1b}[2J"][..], &["todo", "y\u{9b}"], &["find", "a", "--b\u{202e}"]] {
        let ended = call(words);
        assert_eq!(ended.exit, 2);
        assert!(!ended.err.contains(is_raw), "{ended:?}");
    }
}

#[test]
fn json_keeps_the_value_and_puts_the_schema_first() {
    let ended = test_call(&Env::default(), &["find", "x", "--json", "--limit", "9"]);
    assert!(ended.out.starts_with("{\"schema_version\":\"loopx_test_v1\",\"title\":"), "{}", ended.out);
    assert_eq!(ended.json()["title"], HOSTILE);
    assert_eq!(ended.json()["n"], 9);
    assert_eq!(ended.out.matches('\n').count(), 1);
    assert_eq!(ended.err, "");
}

#[test]
fn an_error_is_one_object_on_stdout_under_json_and_two_lines_on_stderr_else() {
    let json = test_call(&Env::default(), &["todo", "renew", "a.1", "--json"]);
    assert_eq!((json.exit, json.err.as_str()), (4, ""));
    assert!(json.out.starts_with(
        "{\"schema_version\":\"loopx_error_v1\",\"error\":{\"code\":\"already_claimed\",\"message\":"
    ));
    let fields: Vec<_> = json.json()["error"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields.len(), 5, "{fields:?}");
    assert_eq!(json.json()["error"]["hint"], "loopx todo show a.1");
    assert_eq!(json.json()["error"]["retryable"], true);
    assert_eq!(json.json()["error"]["details"]["holder"], HOSTILE);
    assert!(!json.out.contains("secret"));

    let text = test_call(&Env::default(), &["todo", "renew", "a.1"]);
    assert_eq!((text.exit, text.out.as_str()), (4, ""));
    let lines: Vec<_> = text.err.lines().collect();
    assert!(lines[0].starts_with("error: a.1 is owned by a\\u{1b}[31mred"), "{}", lines[0]);
    assert_eq!(lines[1..], ["hint: loopx todo show a.1"]);
    assert!(!text.err.contains("secret"));
}

#[test]
fn bad_input_is_typed_with_a_hint_that_runs() {
    let rows: &[(&[&str], &str)] = &[
        (&["stauts"], "there is no command `stauts`"),
        (&["kubernetes"], "there is no command `kubernetes`"),
        (&["todo", "ad"], "`todo` has no verb `ad`"),
        (&["todo"], "`todo` needs a verb"),
        (&["--json"], "no command is given"),
        (&["--goal"], "no command is given"),
        (&["todo", "add"], "`todo add` needs <TITLE>"),
        (&["todo", "add", "x", "--priority"], "`--priority <P>` needs a value"),
        (
            &["todo", "add", "x", "--priority", "P9"],
            "`--priority` cannot be `P9`: one of P0, P1, P2, P3, P4 is wanted",
        ),
        (&["todo", "add", "x", "--priority", "P1", "--priority", "P2"], "can be given only once"),
        (&["todo", "add", "x", "y"], "`todo add` does not take `y`"),
        (&["todo", "add", "x", "--hold=yes"], "`--hold` takes no further value"),
        (&["todo", "add", "x", "--prioritty", "P1"], "did you mean `--priority`?"),
        (&["todo", "add", "x", "--validator", "a 'b"], "a command with closed quotes is wanted"),
        (&["todo", "add", "x", "--progress-exit", "3"], "`todo add` needs --validator"),
        (
            &["todo", "list", "--limit", "0"],
            "`--limit` cannot be `0`: a whole number from 1 to 1000 is wanted",
        ),
        (&["todo", "list", "--all", "--limit", "5"], "cannot be given with"),
        (&["todo", "claim", "a.1", "--ttl", "soon"], "a length of time is wanted"),
        (&["goal", "close", "x"], "`goal close` needs --achieved or --abandoned"),
        (&["goal", "close", "x", "--achieved", "--abandoned", "--reason", "y"], "cannot be given with"),
        (&["gate", "resolve", "x", "--approve", "--deny"], "cannot be given with"),
        (&["turn", "recover", "--resume"], "`turn recover` needs [TURN]"),
        (&["status", "--format", "xml"], "`--format` cannot be `xml`"),
        (&["status", "--json", "--format", "text"], "cannot be given with"),
        (&["todo", "add", ""], ""),
    ];
    for (words, message) in rows {
        let ended = call(words);
        if message.is_empty() {
            // An empty title is the noun's own rule; here there is not even a place for a ledger.
            assert_eq!(ended.exit, 2, "{words:?}");
            continue;
        }
        let mut json: Vec<&str> = words.to_vec();
        if !words.contains(&"--json") {
            json.insert(0, "--json");
        }
        let ended = call(&json);
        assert_eq!(ended.exit, 2, "{words:?} {ended:?}");
        let error = &ended.json()["error"];
        assert_eq!(error["code"], "invalid_argument", "{words:?}");
        if *words != ["status", "--format", "xml"] {
            assert!(error["message"].as_str().unwrap().contains(message), "{words:?}: {error}");
        }
        let hint = error["hint"].as_str().unwrap();
        let hint: Vec<&str> = hint.strip_prefix("loopx ").unwrap().split(' ').collect();
        assert_eq!(call(&hint).exit, 0, "{words:?}: {hint:?}");
    }
}

#[cfg(unix)]
#[test]
fn words_that_are_not_text_are_typed() {
    use std::os::unix::ffi::OsStringExt as _;
    let bad = OsString::from_vec(vec![b'a', 0xff]);
    for argv in [vec![bad.clone()], vec!["find".into(), bad.clone()], vec!["find".into(), "x".into(), bad]] {
        let ended = call_raw(&Env::default(), &argv, &Preset::CORE);
        assert_eq!(ended.exit, 2, "{ended:?}");
    }
    let env = Env::from_pairs([("LOOPX_OWN", OsString::from_vec(b"own_\xff".to_vec()))]);
    let ended = call_in(&env, &["todo", "renew", "a.1"]);
    assert_eq!(ended.err.lines().next(), Some("error: LOOPX_OWN cannot be taken: it is not valid UTF-8"));
}

proptest! {
    #[test]
    fn no_argument_vector_panics(words in prop::collection::vec("[ -~]{0,12}|todo|goal|add|--json|--help|--|-h|--goal", 0..6)) {
        let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with("__")).collect();
        let ended = call(&words);
        prop_assert!(ended.exit <= 3, "{:?}", ended);
    }
}

#[test]
fn a_verb_without_a_handler_is_not_installed() {
    let ended = call_raw(&Env::default(), &["man".into(), "--json".into()], &TEST);
    assert_eq!((ended.exit, ended.json()["error"]["code"].as_str()), (3, Some("not_installed")));
}

#[test]
fn a_variable_stands_for_its_flag_and_the_flag_wins() {
    fn own(_: &mut Context<'_, '_>, args: &Args) -> Result<Rendered> {
        Rendered::new("loopx_test_v1", &Body { title: args.needed("own")?.to_owned(), n: 0 }, Document::new())
    }
    const OWN: Preset = Preset { commands: &[CORE], handlers: &[&[("todo renew", own)]], inner: &[] };
    let env = Env::from_pairs([("LOOPX_OWN", "own_env")]);
    let title = |words: &[&str]| {
        let ended = call_raw(&env, &words.iter().map(OsString::from).collect::<Vec<_>>(), &OWN);
        ended.json()["title"].as_str().map(str::to_owned)
    };
    assert_eq!(title(&["todo", "renew", "a.1", "--json"]).as_deref(), Some("own_env"));
    assert_eq!(title(&["--json", "todo", "renew", "a.1", "--own", "own_flag"]).as_deref(), Some("own_flag"));
}

#[test]
fn colour_obeys_flag_then_no_color_then_force_then_terminal() {
    let coloured = |pairs: &[(&str, &str)], words: &[&str], terminal: bool| {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut stdio = Stdio {
            input: &mut io::empty(),
            out: &mut out,
            err: &mut err,
            input_is_terminal: false,
            out_is_terminal: terminal,
            err_is_terminal: false,
        };
        let env = Env::from_pairs(pairs.to_vec());
        let mut argv: Vec<OsString> = vec!["todo".into(), "--help".into()];
        argv.extend(words.iter().map(OsString::from));
        main("loopx", &Preset::CORE, &argv, &env, &mut stdio);
        String::from_utf8(out).unwrap().contains('\u{1b}')
    };
    let columns = ("COLUMNS", "80");
    for (pairs, words, terminal, wanted) in [
        (&[columns][..], &[][..], false, false),
        (&[columns], &[], true, true),
        (&[columns, ("TERM", "dumb")], &[], true, false),
        (&[columns, ("NO_COLOR", "1")], &[], true, false),
        (&[columns, ("NO_COLOR", "")], &[], true, true),
        (&[columns, ("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], &[], true, false),
        (&[columns, ("CLICOLOR_FORCE", "1")], &[], false, true),
        (&[columns, ("CLICOLOR_FORCE", "0")], &[], false, false),
        (&[columns, ("NO_COLOR", "1")], &["--color", "always"], false, true),
        (&[columns, ("CLICOLOR_FORCE", "1")], &["--color=never"], true, false),
    ] {
        assert_eq!(coloured(pairs, words, terminal), wanted, "{pairs:?} {words:?} {terminal}");
    }
}

#[test]
fn a_table_fits_the_columns_and_counts_wide_characters() {
    use unicode_width::UnicodeWidthStr as _;
    fn wide(_: &mut Context<'_, '_>, _: &Args) -> Result<Rendered> {
        let rows = vec![
            vec!["a.1".to_owned(), "漢字の長い題名がここにあります。".to_owned(), "open".to_owned()],
            vec![
                "a.2".to_owned(),
                "a title of many words that has to be broken somewhere".to_owned(),
                "done".to_owned(),
            ],
        ];
        let page = Document::new().table(&["TODO", "TITLE", "STATE"], rows);
        Rendered::new("loopx_test_v1", &Body { title: String::new(), n: 0 }, page)
    }
    const WIDE: Preset = Preset { commands: &[CORE], handlers: &[&[("status", wide)]], inner: &[] };
    let env = Env::from_pairs([("COLUMNS", "40")]);
    let ended = call_raw(&env, &["status".into()], &WIDE);
    assert!(ended.out.lines().all(|line| line.width() <= 40), "{}", ended.out);
    assert_eq!(ended.out.matches('…').count(), 2, "{}", ended.out);
    for columns in ["0", "1", "2", "7", "65535", "65536", "-1", "x"] {
        let env = Env::from_pairs([("COLUMNS", columns)]);
        assert_eq!(call_raw(&env, &["status".into()], &WIDE).exit, 0, "{columns}");
        assert_eq!(call_raw(&env, &["todo".into(), "add".into(), "-h".into()], &WIDE).exit, 0, "{columns}");
    }
    let free = call_raw(&Env::default(), &["status".into()], &WIDE);
    assert_eq!(free.out.lines().count(), 3, "{}", free.out);
    insta::assert_snapshot!("table_40", ended.out);
}

/// A stream that fails.
struct Failing(io::ErrorKind);

impl Write for Failing {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_broken_pipe_is_quiet_and_a_full_disk_is_typed() {
    for (kind, exit, message) in [
        (io::ErrorKind::BrokenPipe, 0, ""),
        (io::ErrorKind::StorageFull, 7, "error: the answer could not be written to stdout\n"),
    ] {
        let mut err = Vec::new();
        let mut stdio = Stdio {
            input: &mut io::empty(),
            out: &mut Failing(kind),
            err: &mut err,
            input_is_terminal: false,
            out_is_terminal: false,
            err_is_terminal: false,
        };
        let ended = main("loopx", &Preset::CORE, &["man".into()], &Env::default(), &mut stdio);
        assert_eq!((ended, String::from_utf8(err).unwrap().as_str()), (exit, message));
    }
}
