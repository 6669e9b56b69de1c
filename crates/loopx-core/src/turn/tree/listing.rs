//! Owns asking git about a work tree: what differs from its commit, between two commits, and which submodules it has.
//!
//! Knows nothing of contents. Invariant: git writes nothing here, and runs no hook, no monitor and no filter.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use crate::{
    model::gathered,
    process::{self, Capture, Control, Ended, Overflow},
};

/// How long git may take.
const GIT_WALL_MS: u64 = 20_000;
/// The most that git may list, in bytes.
const LISTING_MAX_BYTES: usize = 4 * 1024 * 1024;

/// What git says instead of a commit before there is one.
const UNBORN: &str = "(initial)";

/// The submodules that are checked out below the root of a work tree; git is asked about each by itself, since within
/// one it runs the filters that this one names.
pub(super) fn submodules(root: &Path, env: &BTreeMap<OsString, OsString>) -> Option<Vec<PathBuf>> {
    if !root.join(".gitmodules").is_file() {
        return Some(Vec::new());
    }
    let words = ["config", "--null", "--file", ".gitmodules", "--get-regexp", r"^submodule\..+\.path$"];
    let asked = git(root, &quiet(env), &words.map(OsString::from), &[], LISTING_MAX_BYTES);
    let listed = match asked.ended {
        Ended::Exited(0) => asked.stdout,
        // It names none.
        Ended::Exited(1) => return Some(Vec::new()),
        _ => return None,
    };
    let path = |entry: &[u8]| {
        let at = entry.iter().position(|byte| *byte == b'\n')?;
        Some(PathBuf::from(OsStr::from_bytes(entry.get(at + 1..)?)))
    };
    let real_root = root.canonicalize().ok()?;
    // What leads out of the tree, or round in it, is none.
    let is_below = |path: &PathBuf| {
        let place = real_root.join(path);
        let is_real = place.canonicalize().is_ok_and(|real| real == place && real != real_root);
        is_real && place.join(".git").symlink_metadata().is_ok()
    };
    Some(listed.split(|byte| *byte == 0).filter_map(path).filter(is_below).collect())
}

/// Asks git what differs from the commit: that commit, and every path.
pub(super) fn changed(
    folder: &Path,
    env: &BTreeMap<OsString, OsString>,
) -> Option<(Vec<u8>, BTreeSet<PathBuf>)> {
    let mut env = quiet(env);
    // The tree may name another in its place.
    env.insert("GIT_WORK_TREE".into(), folder.into());
    // A filter is a program that the work tree may name; what differs is told without it.
    let filters =
        ["config", "--null", "--name-only", "--get-regexp", r"^filter\..+\.(clean|process|required)$"];
    let listed = git(folder, &env, &filters.map(OsString::from), &[], LISTING_MAX_BYTES);
    let names = listed.stdout;
    let names: Vec<_> = match listed.ended {
        Ended::Exited(0) => names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect(),
        // There is none.
        Ended::Exited(1) => Vec::new(),
        _ => return None,
    };
    env.insert("GIT_CONFIG_COUNT".into(), names.len().to_string().into());
    for (place, name) in names.iter().enumerate() {
        let off = if name.ends_with(b".required") { "false" } else { "" };
        env.insert(format!("GIT_CONFIG_KEY_{place}").into(), OsStr::from_bytes(name).to_owned());
        env.insert(format!("GIT_CONFIG_VALUE_{place}").into(), off.into());
    }
    let status = [
        "--no-optional-locks",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.untrackedCache=false",
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--untracked-files=all",
        "--ignore-submodules=dirty",
        "--",
        ".",
    ];
    let outcome = git(folder, &env, &status.map(OsString::from), &[], LISTING_MAX_BYTES);
    if outcome.ended == Ended::Exited(0) { parse(&outcome.stdout) } else { None }
}

/// The paths that two commits hold differently; none where git cannot tell, or they are more than it may list.
pub(super) fn committed(
    root: &Path,
    env: &BTreeMap<OsString, OsString>,
    before: &[u8],
    after: &[u8],
) -> Option<BTreeSet<PathBuf>> {
    let (before, after) = (OsStr::from_bytes(before), OsStr::from_bytes(after));
    let mut words: Vec<OsString> = gathered(["--no-replace-objects"].map(OsString::from));
    // Before the first commit there is none to compare with; all that it holds is new.
    if before == UNBORN {
        words.extend(["ls-tree", "-r", "-z", "--name-only"].map(OsString::from));
    } else {
        words.extend(["diff-tree", "-r", "-z", "--name-only", "--no-renames"].map(OsString::from));
        words.push(before.to_owned());
    }
    words.push(after.to_owned());
    let outcome = git(root, &quiet(env), &words, &[], LISTING_MAX_BYTES);
    let names = outcome.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let named = || gathered(names.map(|name| PathBuf::from(OsStr::from_bytes(name))));
    (outcome.ended == Ended::Exited(0)).then(named)
}

/// The environment in which git asks nobody anything, and finds only its program and its owner's settings.
pub(in crate::turn) fn quiet(env: &BTreeMap<OsString, OsString>) -> BTreeMap<OsString, OsString> {
    let passed = [OsStr::new("PATH"), OsStr::new("HOME")];
    let kept = env.iter().filter(|(name, _)| passed.contains(&name.as_os_str()));
    let mut env: BTreeMap<OsString, OsString> = gathered(kept.map(|(k, v)| (k.clone(), v.clone())));
    env.insert("LC_ALL".into(), "C".into());
    env.insert("GIT_TERMINAL_PROMPT".into(), "0".into());
    env
}

/// Runs git in a folder, for at most 20 s; it prints at most `max_bytes`.
pub(in crate::turn) fn git(
    folder: &Path,
    env: &BTreeMap<OsString, OsString>,
    words: &[OsString],
    stdin: &[u8],
    max_bytes: usize,
) -> process::Outcome {
    let argv = std::iter::once(OsString::from("git")).chain(words.iter().cloned()).collect();
    let mut spec = process::Spec::new(argv, folder.to_owned());
    spec.env.clone_from(env);
    spec.stdin = stdin.to_vec();
    spec.stdout = Capture { max_bytes, overflow: Overflow::End };
    spec.wall_ms = GIT_WALL_MS;
    // No hook, monitor or filter is run, so there is nobody whom it could leave behind.
    spec.alone = true;
    process::run(&spec, &mut |_| Control::Continue)
}

/// Reads git's listing: the commit, and every path it names.
fn parse(listing: &[u8]) -> Option<(Vec<u8>, BTreeSet<PathBuf>)> {
    let (mut head, mut paths) = (None, BTreeSet::new());
    let mut records = listing.split(|byte| *byte == 0).filter(|record| !record.is_empty());
    while let Some(record) = records.next() {
        let field = |n: usize| record.splitn(n, |byte| *byte == b' ').nth(n - 1);
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        match record.first()? {
            b'#' => head = record.strip_prefix(b"# branch.oid ").map(<[u8]>::to_vec).or(head),
            b'1' => paths.extend(field(9).map(path)),
            b'2' => {
                paths.extend(field(10).map(path));
                paths.extend(records.next().map(path));
            }
            b'u' => paths.extend(field(11).map(path)),
            b'?' => paths.extend(field(2).map(path)),
            _ => return None,
        }
    }
    head.map(|head| (head, paths))
}
