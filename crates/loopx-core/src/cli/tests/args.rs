//! Parsed values, as a handler asks for them.

use std::path::Path;

use super::table::parsed;
use crate::cli::{Origin, Wake, When};

#[test]
fn each_kind_comes_back_as_itself() {
    let args = parsed(
        "goal start 'Ship it' --acceptance a --acceptance 'b c' --check '2=make check' --validator \"a 'b c'\" \
         --validator d --progress-exit 3 --timeout 90s --exclusive-workspace --workspace /tmp/x --goal g",
    )
    .unwrap();
    assert_eq!(args.needed("objective").unwrap(), "Ship it");
    assert_eq!(args.texts("acceptance").collect::<Vec<_>>(), ["a", "b c"]);
    let checks: Vec<_> = args.numbered_argvs("check").collect();
    assert_eq!(checks, [(2, &["make".to_owned(), "check".to_owned()][..])]);
    let validators: Vec<_> = args.argvs("validator").map(|words| words.join("+")).collect();
    assert_eq!(validators, ["a+b c", "d"]);
    assert_eq!((args.number("progress-exit"), args.millis("timeout")), (Some(3), Some(90_000)));
    assert!(args.switch("exclusive-workspace") && !args.switch("json"));
    assert_eq!(args.file("workspace"), Some(Path::new("/tmp/x")));
    assert_eq!((args.text("goal"), args.text("profile")), (Some("g"), None));
    assert_eq!((args.text("unvalidated"), args.origin("unvalidated")), (Some("ask"), Some(Origin::Default)));
    assert_eq!(args.origin("goal"), Some(Origin::Flag));
    assert!(args.needed("id").is_err());
}

#[test]
fn times_and_wakes_come_back_as_themselves() {
    let args = parsed("gate resolve g --defer 2d").unwrap();
    assert_eq!(args.when("defer"), Some(When::Span(172_800_000)));
    let args = parsed("todo defer a.1 --wake todo_done:a.2").unwrap();
    assert_eq!(args.wake("wake"), Some(&Wake::TodoDone("a.2".to_owned())));
}

#[test]
fn a_flag_counts_before_the_command_and_behind_it() {
    for line in ["--goal x todo list", "--goal=x todo list", "todo --goal x list", "todo list --goal x"] {
        let args = parsed(line).unwrap();
        assert_eq!((args.path(), args.text("goal")), ("todo list", Some("x")), "{line}");
    }
    // A command's own flag of the same name is that command's.
    let args = parsed("init --goal 'Some title'").unwrap();
    assert_eq!(args.text("goal"), Some("Some title"));
    // An alias is the command.
    assert_eq!(parsed("todo ls").unwrap().path(), "todo list");
    // What follows `--` is a value.
    assert_eq!(parsed("find -- --goal").unwrap().text("text"), Some("--goal"));
}
