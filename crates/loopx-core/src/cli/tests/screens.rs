//! Help, manual, completions and the reference page.

use unicode_width::UnicodeWidthStr as _;

use super::{call, call_in};
use crate::cli::{CORE, Env};

fn every_path() -> Vec<Vec<&'static str>> {
    let nouns = CORE.iter().map(|command| vec![command.name]);
    let verbs = CORE.iter().flat_map(|noun| noun.verbs.iter().map(|verb| vec![noun.name, verb.name]));
    std::iter::once(Vec::new()).chain(nouns).chain(verbs).collect()
}

#[test]
fn every_help_renders_fits_eighty_columns_and_has_an_example() {
    for path in every_path() {
        let mut words = path.clone();
        words.push("--help");
        let ended = call(&words);
        assert_eq!((ended.exit, ended.err.as_str()), (0, ""), "{path:?}");
        for line in ended.out.lines() {
            assert!(line.width() <= 80, "{path:?}: {line}");
            assert_eq!(line.trim_end(), line, "{path:?}");
        }
        assert!(ended.out.contains("Examples\n  loopx "), "{path:?}");
        // One screen.
        assert!(ended.out.lines().count() <= 40, "{path:?}: {}", ended.out.lines().count());
    }
}

#[test]
fn the_top_screen_is_one_screen() {
    let top = call(&["--help"]);
    assert!(top.out.lines().count() <= 40, "{}", top.out.lines().count());
    insta::assert_snapshot!("help_top", top.out);
    for words in [&["help"][..], &["-h"], &[]] {
        assert_eq!(call(words).out, top.out, "{words:?}");
    }
    assert_eq!(call(&["--json", "--help"]).json()["help"], top.out);
}

#[test]
fn the_screens_people_see_most() {
    insta::assert_snapshot!("help_todo", call(&["todo", "-h"]).out);
    insta::assert_snapshot!("help_todo_done", call(&["help", "todo", "done"]).out);
    insta::assert_snapshot!("help_turn_run", call(&["turn", "run", "--help"]).out);
}

#[test]
fn help_fits_a_narrow_terminal() {
    let env = Env::from_pairs([("COLUMNS", "60")]);
    let ended = call_in(&env, &["turn", "list", "--help"]);
    for line in ended.out.lines().take_while(|line| *line != "Examples") {
        assert!(line.width() <= 60 || line.starts_with("Usage"), "{line}");
    }
}

#[test]
fn help_wins_over_what_is_missing_or_wrong_after_the_verb() {
    let plain = call(&["todo", "done", "--help"]).out;
    assert_eq!(call(&["todo", "done", "--bogus", "--help"]).out, plain);
    assert_eq!(call(&["--goal", "x", "todo", "done", "-h"]).out, plain);
    // Behind `--` it is a value.
    assert_eq!(call(&["find", "--", "--help"]).exit, 2);
}

#[test]
fn the_version_is_one_line() {
    for words in [&["--version"][..], &["-V"]] {
        assert_eq!(call(words).out, format!("loopx {}\n", env!("CARGO_PKG_VERSION")));
    }
    assert_eq!(call(&["--version", "--json"]).json()["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn every_manual_page_has_its_sections() {
    for path in every_path() {
        let mut words = vec!["man"];
        words.extend(&path);
        let ended = call(&words);
        assert_eq!(ended.exit, 0, "{path:?}: {}", ended.err);
        assert!(ended.out.starts_with(".TH \"LOOPX"), "{path:?}");
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION"] {
            assert!(ended.out.contains(&format!(".SH \"{section}\"\n")), "{path:?} {section}");
        }
        assert!(ended.out.is_ascii(), "{path:?}");
    }
    assert_eq!(call(&["man", "todo add"]).out, call(&["man", "todo", "add"]).out);
    assert_eq!(call(&["man", "tod"]).exit, 2);
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let ended = call(&["completions", shell]);
        assert_eq!(ended.exit, 0, "{shell}");
        for path in every_path() {
            if let Some(word) = path.last() {
                assert!(ended.out.contains(word), "{shell} {word}");
            }
        }
        assert!(ended.out.contains("successor") && ended.out.contains("P4"), "{shell}");
    }
    assert_eq!(call(&["completions", "tcsh"]).exit, 2);
}

#[test]
fn the_reference_pages_are_current() {
    for (page, argv) in [("cli.md", ["__reference", "cli"]), ("errors.md", ["__reference", "errors"])] {
        let path = format!("{}/../../docs/reference/{page}", env!("CARGO_MANIFEST_DIR"));
        let stored = std::fs::read_to_string(path).unwrap();
        assert!(stored == call(&argv).out, "docs/reference/{page} is not current; run `cargo xtask docs`");
    }
}
