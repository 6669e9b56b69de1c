//! Owns what a git work tree looks like at one moment, so that two moments can be compared.
//!
//! Knows nothing of Turns. A folder that is no git work tree, or holds more changes than are read in a moment, has no
//! such picture; then nothing is claimed about it. Whether a small plain folder is the same can be told all the same.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fs::{File, read_link},
    io::Read as _,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::{Path, PathBuf},
};

use super::workspace::repository_root;
use crate::{
    model::{Digest, ScopePath, gathered},
    process::{self, Capture, Control, Ended, Overflow},
};

/// How long git may take.
const GIT_WALL_MS: u64 = 20_000;
/// The most that git may list, in bytes.
const LISTING_MAX_BYTES: usize = 4 * 1024 * 1024;
/// The most that is read of changed files, in bytes.
const CONTENT_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The most entries a plain folder may have to be compared.
const ENTRIES_MAX: usize = 1000;

/// The digest of all that lies in a folder, git work tree or not; none when that is more than is read in a moment.
///
/// For telling that nothing changed, and for nothing else: build output counts here like anything.
pub(super) fn whole(folder: &Path, env: &BTreeMap<OsString, OsString>) -> Option<Digest> {
    if repository_root(folder).is_some() {
        return Tree::of(folder, env).map(|tree| tree.digest(&BTreeSet::new()));
    }
    let (mut left, mut entries, mut folders) = (CONTENT_MAX_BYTES, BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(place) = folders.pop() {
        for entry in std::fs::read_dir(place).ok()? {
            let path = entry.ok()?.path();
            if path.symlink_metadata().ok()?.is_dir() {
                folders.push(path.clone());
            }
            let found = blob(&path, &mut left)?;
            entries.insert(path, found);
            if entries.len() > ENTRIES_MAX {
                return None;
            }
        }
    }
    let mut parts: Vec<&[u8]> = vec![b"loopx folder"];
    for (path, blob) in &entries {
        parts.extend([path.as_os_str().as_bytes(), blob.as_bytes().as_slice()]);
    }
    Some(Digest::of_parts(&parts))
}

/// A work tree at one moment: the commit it stands on, and what differs from that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    root: PathBuf,
    /// The folder's place below the root.
    prefix: PathBuf,
    head: Vec<u8>,
    /// Changed and untracked files, by their path below the root.
    changed: BTreeMap<PathBuf, Digest>,
}

impl Tree {
    /// Looks at a folder; none where it is no git work tree or cannot be read as one.
    pub(super) fn of(folder: &Path, env: &BTreeMap<OsString, OsString>) -> Option<Self> {
        let root = repository_root(folder)?.to_owned();
        let prefix = folder.strip_prefix(&root).ok()?.to_owned();
        let listing = list(folder, env)?;
        let (head, paths) = parse(&listing)?;
        let mut left = CONTENT_MAX_BYTES;
        let changed = paths.into_iter().map(|path| Some((path.clone(), blob(&root.join(&path), &mut left)?)));
        let mut changed: BTreeMap<_, _> = changed.collect::<Option<_>>()?;
        for path in submodules(&root, env)?.into_iter().filter(|path| root.join(path).starts_with(folder)) {
            let inner = Self::of(&root.join(&path), env)?;
            if !inner.changed.is_empty() || changed.contains_key(&path) {
                changed.insert(path, inner.digest(&BTreeSet::new()));
            }
        }
        Some(Self { root, prefix, head, changed })
    }

    /// The digest of what a Turn with these scopes may have changed; without scopes, of the whole tree.
    pub(super) fn digest(&self, scopes: &BTreeSet<ScopePath>) -> Digest {
        let mut parts: Vec<&[u8]> = vec![b"loopx tree", &self.head];
        for (path, blob) in self.changed.iter().filter(|(path, _)| self.is_within(path, scopes)) {
            parts.extend([path.as_os_str().as_bytes(), blob.as_bytes().as_slice()]);
        }
        Digest::of_parts(&parts)
    }

    /// Whether what counts at `self` has another content at `later`: a path within the scopes, or, where there are
    /// none, a path that differs from what it was `before` the Turn.
    pub(super) fn moved(&self, later: &Self, before: Option<&Self>, scopes: &BTreeSet<ScopePath>) -> bool {
        let counts = |path: &Path| {
            if scopes.is_empty() {
                self.changed.contains_key(path)
                    && before.is_none_or(|before| before.changed.get(path) != self.changed.get(path))
            } else {
                self.is_within(path, scopes)
            }
        };
        let paths: BTreeSet<&PathBuf> = gathered(self.changed.keys().chain(later.changed.keys()));
        paths.into_iter().filter(|path| counts(path)).any(|path| {
            let mut left = CONTENT_MAX_BYTES;
            // What is no longer listed was committed, or put back: only its content tells which.
            let now = later.changed.get(path).copied().or_else(|| blob(&self.root.join(path), &mut left));
            self.changed.get(path).copied() != now
        })
    }

    /// Paths below the folder that changed since `before` outside the scopes; at most `max`.
    pub(super) fn outside(&self, before: &Self, scopes: &[ScopePath], max: usize) -> Vec<String> {
        let scopes: BTreeSet<ScopePath> = gathered(scopes.iter().cloned());
        let paths: BTreeSet<&PathBuf> = gathered(self.changed.keys().chain(before.changed.keys()));
        let moved = |path: &&PathBuf| self.changed.get(*path) != before.changed.get(*path);
        let name =
            |path: &PathBuf| path.strip_prefix(&self.prefix).unwrap_or(path).to_string_lossy().into_owned();
        paths
            .into_iter()
            .filter(moved)
            .filter(|path| !self.is_within(path, &scopes))
            .take(max)
            .map(name)
            .collect()
    }

    fn is_within(&self, path: &Path, scopes: &BTreeSet<ScopePath>) -> bool {
        let Ok(below) = path.strip_prefix(&self.prefix) else { return false };
        let whole = scopes.is_empty();
        whole || scopes.iter().any(|scope| scope.as_str() == "." || below.starts_with(scope.as_str()))
    }
}

/// The submodules that are checked out below the root of a work tree; git is asked about each by itself, since within
/// one it runs the filters that this one names.
fn submodules(root: &Path, env: &BTreeMap<OsString, OsString>) -> Option<Vec<PathBuf>> {
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

/// Asks git what differs from the commit; it writes nothing, and runs no hook, no monitor and no filter.
fn list(folder: &Path, env: &BTreeMap<OsString, OsString>) -> Option<Vec<u8>> {
    let mut env = quiet(env);
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
    (outcome.ended == Ended::Exited(0)).then_some(outcome.stdout)
}

/// The environment in which git asks nobody anything, and finds only its program and its owner's settings.
pub(super) fn quiet(env: &BTreeMap<OsString, OsString>) -> BTreeMap<OsString, OsString> {
    let passed = [OsStr::new("PATH"), OsStr::new("HOME")];
    let kept = env.iter().filter(|(name, _)| passed.contains(&name.as_os_str()));
    let mut env: BTreeMap<OsString, OsString> = gathered(kept.map(|(k, v)| (k.clone(), v.clone())));
    env.insert("LC_ALL".into(), "C".into());
    env.insert("GIT_TERMINAL_PROMPT".into(), "0".into());
    env
}

/// Runs git in a folder, for at most 20 s; it prints at most `max_bytes`.
pub(super) fn git(
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

/// The digest of what lies at a path; none when more would have to be read than is left.
fn blob(path: &Path, left: &mut u64) -> Option<Digest> {
    let Ok(meta) = path.symlink_metadata() else { return Some(Digest::of_parts(&[b"gone"])) };
    if meta.is_symlink() {
        let target = read_link(path).ok()?;
        return Some(Digest::of_parts(&[b"link", target.as_os_str().as_bytes()]));
    }
    if !meta.is_file() {
        return Some(Digest::of_parts(&[b"other"]));
    }
    let mut content = Vec::new();
    File::open(path).ok()?.take(left.saturating_add(1)).read_to_end(&mut content).ok()?;
    *left = left.checked_sub(u64::try_from(content.len()).ok()?)?;
    let is_program = meta.permissions().mode() & 0o100 != 0;
    Some(Digest::of_parts(&[if is_program { b"program" } else { b"file" }, &content]))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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
        assert!(second.moved(&third, None, &scopes(&[])) && !second.moved(&third, None, &scopes(&["src"])));
        // what was dirty before and did not change in the Turn does not count
        assert!(!second.moved(&third, Some(&second), &scopes(&[])));
        assert_eq!(third.outside(&clean, &["src".parse().unwrap()], 32), ["b"]);
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
        assert!(second.moved(&third, None, &scopes(&["sub"])));
        assert!(!second.moved(&third, None, &scopes(&["src"])));
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
        assert_eq!(submodules(dir.path(), &env()), Some(Vec::new()));
        assert!(Tree::of(dir.path(), &env()).is_some());
    }

    #[test]
    fn a_commit_of_the_same_content_is_no_move_and_a_new_file_in_scope_is() {
        let dir = repository();
        fs::write(dir.path().join("src/a"), "2").unwrap();
        let candidate = Tree::of(dir.path(), &env()).unwrap();
        git(dir.path(), &["commit", "-qam", "two"]);
        let committed = Tree::of(dir.path(), &env()).unwrap();
        assert!(!candidate.moved(&committed, None, &scopes(&[])));
        fs::write(dir.path().join("src/new file"), "x").unwrap();
        let added = Tree::of(dir.path(), &env()).unwrap();
        assert!(
            candidate.moved(&added, None, &scopes(&["src"])) && !candidate.moved(&added, None, &scopes(&[]))
        );
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
}
