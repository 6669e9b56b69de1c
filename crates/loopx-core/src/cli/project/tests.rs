//! Tests of the binding, beside real git where it is installed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{Bound, Project, bind, discover};
use crate::{error::Code, process::tests::skipped};

fn project(root: &Path) -> Project {
    Project { root: root.to_owned(), profile: Some("default".into()), goal: Some("importer".into()) }
}

/// A folder with the files of a repository that are read here.
fn repository(top: &Path) {
    fs::create_dir_all(top.join(".git/info")).unwrap();
    fs::write(top.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
}

fn exclude(top: &Path) -> String {
    fs::read_to_string(top.join(".git/info/exclude")).unwrap_or_default()
}

#[test]
fn a_binding_is_written_once_and_found_from_below() {
    let place = tempfile::tempdir().unwrap();
    let (top, deep) = (place.path().join("repo"), place.path().join("repo/a/b"));
    repository(&top);
    fs::create_dir_all(&deep).unwrap();
    fs::write(top.join(".git/info/exclude"), "# theirs\n*.tmp").unwrap();
    assert_eq!(discover(&deep).unwrap(), None);

    assert_eq!(bind(&project(&top)).unwrap(), Bound { created: true, excluded: true });
    assert_eq!(bind(&project(&top)).unwrap(), Bound { created: false, excluded: false });
    assert_eq!(discover(&deep).unwrap(), Some(project(&top)));
    assert_eq!(exclude(&top), "# theirs\n*.tmp\n.loopx/\n");
    let text = fs::read_to_string(top.join(".loopx/project.toml")).unwrap();
    assert_eq!(text, "profile = \"default\"\ngoal = \"importer\"\n");

    // The nearest binding wins.
    let inner = Project { goal: None, ..project(&deep) };
    assert_eq!(bind(&inner).unwrap(), Bound { created: true, excluded: false });
    assert_eq!(discover(&deep).unwrap(), Some(inner));
}

#[test]
fn without_git_only_the_binding_is_written() {
    let place = tempfile::tempdir().unwrap();
    assert_eq!(bind(&project(place.path())).unwrap(), Bound { created: true, excluded: false });
    let names: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [".loopx"]);
}

#[test]
fn a_worktree_is_bound_by_its_main_tree() {
    let place = tempfile::tempdir().unwrap();
    let (main, tree) = (place.path().join("main"), place.path().join("tree"));
    repository(&main);
    let git_dir = main.join(".git/worktrees/tree");
    fs::create_dir_all(&git_dir).unwrap();
    fs::write(git_dir.join("commondir"), "../..\n").unwrap();
    fs::create_dir_all(tree.join("src")).unwrap();
    fs::write(tree.join(".git"), format!("gitdir: {}\n", git_dir.display())).unwrap();
    bind(&project(&main)).unwrap();
    let found = discover(&tree.join("src")).unwrap().unwrap();
    assert_eq!(found.root, main.canonicalize().unwrap());
    assert_eq!(found.goal.as_deref(), Some("importer"));

    // Its own binding wins, and the list is the repository's one.
    fs::write(main.join(".git/info/exclude"), "").unwrap();
    assert_eq!(bind(&project(&tree)).unwrap(), Bound { created: true, excluded: true });
    assert_eq!(exclude(&main), ".loopx/\n");
    assert_eq!(discover(&tree.join("src")).unwrap(), Some(project(&tree)));
}

#[test]
fn a_broken_git_file_or_folder_is_no_repository() {
    for text in ["", "gitdir:", "gitdir: /nowhere/at/all\n", "something else\n", "\u{0}"] {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(".git"), text).unwrap();
        assert_eq!(discover(place.path()).unwrap(), None, "{text:?}");
        assert_eq!(
            bind(&project(place.path())).unwrap(),
            Bound { created: true, excluded: false },
            "{text:?}"
        );
    }
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join(".git")).unwrap();
    assert_eq!(bind(&project(place.path())).unwrap(), Bound { created: true, excluded: false });
}

#[test]
fn a_binding_that_cannot_be_taken_is_typed() {
    for (text, code) in [
        ("goal = \"a\"\nextra = 1\n", Code::UnknownField),
        ("goal = 1\n", Code::InvalidArgument),
        ("goal = \"Has Space\"\n", Code::InvalidId),
        ("profile = \"../up\"\n", Code::InvalidId),
        ("profile = \"\"\n", Code::InvalidId),
        ("= \n", Code::InvalidArgument),
    ] {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join(".loopx")).unwrap();
        fs::write(place.path().join(".loopx/project.toml"), text).unwrap();
        let error = discover(place.path()).unwrap_err();
        assert_eq!(error.code(), code, "{text}");
        let shown = format!("{} {:?}", error.message(), error.details());
        assert!(!shown.contains(&*place.path().to_string_lossy()), "{shown}");
    }
}

#[test]
fn git_itself_agrees() {
    let place = tempfile::tempdir().unwrap();
    let main = place.path().join("main");
    fs::create_dir(&main).unwrap();
    let git = |folder: &PathBuf, args: &[&str]| {
        #[expect(clippy::disallowed_methods, reason = "a test compares with the real program")]
        let output = std::process::Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
            .args(args)
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output();
        output
            .ok()
            .map(|output| (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()))
    };
    let Some((true, _)) = git(&main, &["init", "-q"]) else {
        skipped("no git");
        return;
    };
    git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]).unwrap();
    git(&main, &["worktree", "add", "-q", "../tree"]).unwrap();
    let tree = place.path().join("tree");
    bind(&project(&main)).unwrap();
    assert_eq!(discover(&tree).unwrap().unwrap().goal.as_deref(), Some("importer"));
    bind(&project(&tree)).unwrap();
    for folder in [&main, &tree] {
        let (clean, status) = git(folder, &["status", "--porcelain"]).unwrap();
        assert_eq!((clean, status.as_str()), (true, ""), "{}", folder.display());
    }
}
