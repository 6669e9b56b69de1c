//! A picture of a work tree: what it sees, what it runs, and what it says of two moments.

use std::fs;

use super::*;
use crate::process::{self, Control, Ended};

fn env() -> BTreeMap<OsString, OsString> {
    std::env::vars_os().filter(|(name, _)| name == "PATH").collect()
}

fn git(folder: &Path, words: &[&str]) {
    let mut argv: Vec<OsString> =
        ["git", "-c", "user.name=a", "-c", "user.email=a@b"].iter().map(OsString::from).collect();
    argv.extend(words.iter().map(OsString::from));
    let mut spec = process::Spec::new(argv, folder.to_owned());
    spec.env = env();
    assert_eq!(process::run(&spec, &mut |_| Control::Continue).ended, Ended::Exited(0), "git {words:?}");
}

fn repository() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q"]);
    fs::create_dir(dir.path().join("src")).unwrap();
    fs::write(dir.path().join("src/a"), "1").unwrap();
    fs::write(dir.path().join("b"), "1").unwrap();
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "one"]);
    dir
}

/// The paths that hold something else now than they did.
fn since(now: &Tree, before: &Tree) -> Vec<String> {
    let changed = now.since(before, &env()).unwrap();
    changed.iter().map(|path| path.to_str().unwrap().to_owned()).collect()
}

fn scopes(names: &[&str]) -> BTreeSet<ScopePath> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

#[test]
fn a_picture_sees_content_and_not_only_names() {
    let dir = repository();
    let look = || Tree::of(dir.path(), &env()).unwrap();
    let clean = look();
    assert_eq!(clean.digest(&scopes(&[])), look().digest(&scopes(&[])));
    fs::write(dir.path().join("b"), "2").unwrap();
    let second = look();
    fs::write(dir.path().join("b"), "3").unwrap();
    let third = look();
    assert_ne!(clean.digest(&scopes(&[])), second.digest(&scopes(&[])));
    assert_ne!(second.digest(&scopes(&[])), third.digest(&scopes(&[])));
    assert_eq!(second.digest(&scopes(&["src"])), third.digest(&scopes(&["src"])));
    assert_eq!(since(&third, &second), ["b"]);
    assert_eq!(since(&third, &clean), ["b"]);
    assert!(since(&third, &third).is_empty());
    // what is put back is as it was
    fs::write(dir.path().join("b"), "1").unwrap();
    assert!(since(&look(), &clean).is_empty());
    assert_eq!(since(&look(), &third), ["b"]);
}

#[test]
fn regress_a_filter_that_the_tree_names_is_not_run() {
    let dir = repository();
    let ran = dir.path().join(".git/ran");
    fs::write(dir.path().join(".gitattributes"), "* filter=x\n").unwrap();
    let clean = format!("touch '{}'; cat", ran.display());
    git(dir.path(), &["config", "filter.x.clean", &clean]);
    git(dir.path(), &["config", "filter.x.required", "true"]);
    // a filter is run for what may have changed
    fs::write(dir.path().join("b"), "2").unwrap();
    let picture = Tree::of(dir.path(), &env()).unwrap();
    assert!(picture.changed.contains_key(Path::new("b")) && !ran.exists());
    git(dir.path(), &["status"]);
    assert!(ran.exists(), "git itself would have run it");
}

#[test]
fn regress_a_filter_that_a_submodule_names_is_not_run_and_its_changes_are_seen() {
    let (dir, inner) = (repository(), repository());
    let from = inner.path().to_str().unwrap();
    git(dir.path(), &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "sub"]);
    git(dir.path(), &["commit", "-qm", "two"]);
    let (sub, ran) = (dir.path().join("sub"), dir.path().join(".git/ran"));
    fs::write(sub.join(".gitattributes"), "* filter=x\n").unwrap();
    git(&sub, &["config", "filter.x.clean", &format!("touch '{}'; cat", ran.display())]);
    fs::write(sub.join("b"), "2").unwrap();
    let look = || Tree::of(dir.path(), &env()).unwrap();
    let second = look();
    fs::write(sub.join("b"), "3").unwrap();
    let third = look();
    assert!(!ran.exists());
    assert_ne!(second.digest(&scopes(&[])), third.digest(&scopes(&[])));
    assert_eq!(since(&third, &second), ["sub"]);
    // the commit it stands on counts as well
    git(&sub, &["-c", "filter.x.clean=cat", "commit", "-qam", "three"]);
    assert!(look().changed.contains_key(Path::new("sub")) && look() != third);
    fs::write(sub.join("b"), "once more").unwrap();
    look();
    assert!(!ran.exists());
    git(&sub, &["add", "b"]);
    assert!(ran.exists(), "git itself runs it");
}

#[test]
fn a_submodule_that_leads_round_is_none() {
    let dir = repository();
    std::os::unix::fs::symlink(".", dir.path().join("round")).unwrap();
    let named = "[submodule \"a\"]\n\tpath = round\n[submodule \"b\"]\n\tpath = ..\n";
    fs::write(dir.path().join(".gitmodules"), named).unwrap();
    assert_eq!(listing::submodules(dir.path(), &env()), Some(Vec::new()));
    assert!(Tree::of(dir.path(), &env()).is_some());
}

#[test]
fn what_is_committed_is_told_by_its_content_and_hides_nothing() {
    let dir = repository();
    let look = || Tree::of(dir.path(), &env()).unwrap();
    let clean = look();
    fs::write(dir.path().join("src/a"), "2").unwrap();
    let changed = look();
    git(dir.path(), &["commit", "-qam", "two"]);
    assert!(since(&look(), &changed).is_empty());
    assert_eq!(since(&look(), &clean), ["src/a"]);
    fs::write(dir.path().join("src/new file"), "x").unwrap();
    assert_eq!(since(&look(), &changed), ["src/new file"]);
    // committed and changed back in the tree alone: the commit stays
    fs::write(dir.path().join("src/a"), "1").unwrap();
    assert_eq!(since(&look(), &clean), ["src/a", "src/new file"]);
    // what it is compared with may be in no branch any more, and may be lost
    git(dir.path(), &["checkout", "-q", "--orphan", "other"]);
    git(dir.path(), &["commit", "-qam", "three"]);
    assert_eq!(since(&look(), &clean), ["src/new file"]);
    assert_eq!(since(&look(), &changed), ["src/a", "src/new file"]);
    let lost = Tree { head: b"0123456789012345678901234567890123456789".to_vec(), ..clean };
    assert_eq!(look().since(&lost, &env()), None);
}

#[test]
fn all_that_the_first_commit_holds_is_new_unless_it_lay_there() {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q"]);
    fs::write(dir.path().join("a"), "1").unwrap();
    let unborn = Tree::of(dir.path(), &env()).unwrap();
    fs::write(dir.path().join("b"), "1").unwrap();
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "one"]);
    assert_eq!(since(&Tree::of(dir.path(), &env()).unwrap(), &unborn), ["b"]);
}

#[test]
fn a_picture_is_read_back_as_it_was_whatever_its_names_are() {
    use std::os::unix::ffi::OsStrExt as _;
    let dir = repository();
    for name in [&b"new\nline"[..], b"no \xff text", b"src/\"quoted\""] {
        fs::write(dir.path().join(OsStr::from_bytes(name)), name).unwrap();
    }
    let tree = Tree::of(dir.path(), &env()).unwrap();
    assert_eq!(tree.changed.len(), 3);
    let bytes = tree.encode();
    assert_eq!(Tree::decode(dir.path().to_owned(), &bytes).as_ref(), Some(&tree));
    for cut in [1, 20, bytes.len() - 1] {
        assert_eq!(Tree::decode(dir.path().to_owned(), &bytes[..cut]), None, "{cut}");
    }
}

#[test]
fn a_plain_folder_has_no_picture_and_can_be_compared_while_it_is_small() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(Tree::of(dir.path(), &env()), None);
    let empty = whole(dir.path(), &env()).unwrap();
    fs::create_dir(dir.path().join("d")).unwrap();
    fs::write(dir.path().join("d/a"), "1").unwrap();
    let one = whole(dir.path(), &env()).unwrap();
    fs::write(dir.path().join("d/a"), "2").unwrap();
    let two = whole(dir.path(), &env()).unwrap();
    assert!(empty != one && one != two && whole(dir.path(), &env()) == Some(two));
    (0..ENTRIES_MAX).for_each(|n| fs::write(dir.path().join(n.to_string()), "").unwrap());
    assert_eq!(whole(dir.path(), &env()), None);
}
