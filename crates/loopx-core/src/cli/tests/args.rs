//! Parsed values, as a handler asks for them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::table::{parsed, verbs};
use crate::cli::{Origin, Wake, When, parse::Reader, table::GLOBAL};

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

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "`quota set` reads wall as Number, and the table has it as another kind")]
fn the_reader_of_another_kind_is_a_mistake_that_a_debug_build_tells() {
    let _ = parsed("quota set --wall 90s").unwrap().number("wall");
}

/// What reads which kind.
const READERS: &[(&str, Reader)] = &[
    ("switch", Reader::Switch),
    ("text", Reader::Text),
    ("texts", Reader::Text),
    ("needed", Reader::Text),
    ("number", Reader::Number),
    ("millis", Reader::Millis),
    ("when", Reader::When),
    ("wake", Reader::Wake),
    ("argvs", Reader::Argv),
    ("numbered_argvs", Reader::NumberedArgv),
    ("file", Reader::Path),
    ("files", Reader::Path),
];

#[test]
fn every_handler_reads_an_argument_as_a_row_of_the_table_has_it() {
    let mut folders = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src/cli/handlers"))];
    let verbs = verbs();
    let rows = || verbs.iter().flat_map(|(_, verb)| verb.args).chain(GLOBAL);
    let mut looked = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let text = fs::read_to_string(entry.path()).unwrap();
            for (name, reader) in READERS {
                for read in text.split(&format!("args.{name}(\"")).skip(1) {
                    let id = read.split('"').next().unwrap();
                    let fits = rows().any(|arg| arg.id == id && Reader::of(arg) == *reader);
                    assert!(
                        fits,
                        "{}: nothing that is read as {reader:?} is called {id}",
                        entry.path().display()
                    );
                    looked += 1;
                }
            }
        }
    }
    assert!(looked > 100, "{looked} readers were found");
}
