//! Owns our repository of one work tree's contents: making it, naming and keeping bytes, reading them back.
//!
//! Knows nothing of Turns. Contents are named and kept as they lie on disk: no filter, no conversion. What the user's
//! own repository holds already is not kept twice; it is brought over when a Turn has changed it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

use super::{
    listing::failed,
    picture::{FILE_MAX_BYTES, Oid},
};
use crate::{
    authority::profile::{file, make_private_dir, unreadable},
    error::{Code, Error, Result},
    process::{Ended, Outcome},
    turn::tree,
};

/// The most that git says about names, in bytes.
const NAMES_MAX_BYTES: usize = 64 * 1024 * 1024;
/// Up to so many new contents are made durable one by one; more, with all of their file system at once.
const SYNCED_SINGLY_MAX: usize = 16;

/// The repository of one work tree.
#[derive(Debug, Clone)]
pub(super) struct Store {
    dir: PathBuf,
    env: BTreeMap<OsString, OsString>,
}

impl Store {
    /// Names the repository in a folder; nothing is opened.
    pub(super) fn at(dir: PathBuf, env: &BTreeMap<OsString, OsString>) -> Self {
        let mut env = tree::quiet(env);
        // Only what we wrote ourselves is configured there.
        env.insert("GIT_CONFIG_NOSYSTEM".into(), "1".into());
        env.insert("GIT_CONFIG_GLOBAL".into(), "/dev/null".into());
        env.insert("GIT_DIR".into(), dir.clone().into());
        Self { dir, env }
    }

    /// Its folder.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the records of Turns lie.
    pub(super) fn turns(&self) -> PathBuf {
        self.dir.join("loopx")
    }

    /// Where the last picture lies.
    pub(super) fn picture(&self) -> PathBuf {
        self.turns().join("picture")
    }

    /// Makes the repository, if it is not there, for contents named as the user's repository names them.
    ///
    /// Errors: `not_ready`, `disk_full`, `store_*`.
    pub(super) fn ensure(&self, root: &Path, user_env: &BTreeMap<OsString, OsString>) -> Result<()> {
        if self.dir.join("HEAD").exists() {
            return Ok(());
        }
        let (_, format) = user_store(root, user_env)?;
        for folder in ["objects", "refs", "info", "loopx"] {
            make_private_dir(&self.dir.join(folder))?;
        }
        let (version, extension) = if format == "sha1" {
            (0, String::new())
        } else {
            (1, format!("[extensions]\n\tobjectFormat = {format}\n"))
        };
        let config = format!(
            "[core]\n\trepositoryFormatVersion = {version}\n\tbare = true\n\tautocrlf = false\n\tfsync = none\n\
             [gc]\n\tauto = 0\n{extension}"
        );
        let write = |name: &str, text: &str| {
            let path = self.dir.join(name);
            fs::write(&path, text).map_err(|e| unreadable(&path, &e))
        };
        write("config", &config)?;
        write("info/attributes", "* -text -eol -ident -filter -working-tree-encoding\n")?;
        // Last: its being there says that the rest is.
        write("HEAD", "ref: refs/heads/none\n")
    }

    fn git(&self, cwd: &Path, words: &[&str], stdin: &[u8], max_bytes: usize) -> Outcome {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        tree::git(cwd, &self.env, &words, stdin, max_bytes)
    }

    /// Names the contents of files below a root, in order, and keeps them where `keeps`.
    ///
    /// Errors: `not_ready`, also when one of them cannot be read any more.
    pub(super) fn files(&self, root: &Path, paths: &[&[u8]], keeps: bool) -> Result<Vec<Oid>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut stdin = Vec::new();
        for path in paths {
            quote(path, &mut stdin);
            stdin.push(b'\n');
        }
        let mut words = vec!["hash-object", "--no-filters", "--stdin-paths"];
        words.extend(keeps.then_some("-w"));
        let outcome = self.git(root, &words, &stdin, NAMES_MAX_BYTES);
        let what = if keeps { "git could not keep a file" } else { "git could not read a file" };
        let oids = Self::oids(what, &outcome)?;
        if oids.len() == paths.len() { Ok(oids) } else { Err(Error::from(Code::Internal)) }
    }

    /// Names some bytes, and keeps them where `keeps`.
    ///
    /// Errors: `not_ready`.
    pub(super) fn bytes(&self, bytes: &[u8], keeps: bool) -> Result<Oid> {
        let mut words = vec!["hash-object", "--stdin"];
        words.extend(keeps.then_some("-w"));
        let outcome = self.git(&self.dir, &words, bytes, NAMES_MAX_BYTES);
        let mut oids = Self::oids("git could not keep a link", &outcome)?;
        oids.pop().ok_or_else(|| Error::from(Code::Internal))
    }

    fn oids(what: &str, outcome: &Outcome) -> Result<Vec<Oid>> {
        if outcome.ended != Ended::Exited(0) {
            return Err(failed(what, outcome.ended).internal(String::from_utf8_lossy(&outcome.stderr)));
        }
        let lines = outcome.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| Oid::parse(line).ok_or_else(|| Error::from(Code::Internal))).collect()
    }

    /// Makes contents that were just kept survive a power cut.
    ///
    /// Errors: `disk_full`, `store_*`.
    pub(super) fn sync(&self, oids: &BTreeSet<Oid>) -> Result<()> {
        let fault = |e: std::io::Error| unreadable(&self.dir, &e);
        if oids.len() > SYNCED_SINGLY_MAX {
            let dir = fs::File::open(&self.dir).map_err(fault)?;
            #[cfg(target_os = "linux")]
            return rustix::fs::syncfs(&dir).map_err(|e| fault(e.into()));
            #[cfg(not(target_os = "linux"))]
            dir.sync_all().map_err(fault)?;
        }
        for oid in oids {
            if let Ok(file) = fs::File::open(self.loose(oid)) {
                file.sync_data().map_err(fault)?;
            }
        }
        Ok(())
    }

    fn loose(&self, oid: &Oid) -> PathBuf {
        let (head, rest) = oid.as_str().split_at_checked(2).unwrap_or_default();
        self.dir.join("objects").join(head).join(rest)
    }

    /// Whether we keep a content ourselves, as a file of its own.
    pub(super) fn has(&self, oid: &Oid) -> bool {
        self.loose(oid).is_file()
    }

    /// The same, with the user's objects beside ours, for reading alone.
    ///
    /// Errors: `not_ready`.
    pub(super) fn beside(&self, root: &Path, user_env: &BTreeMap<OsString, OsString>) -> Result<Self> {
        let (theirs, _) = user_store(root, user_env)?;
        Ok(self.reading(&[&theirs]))
    }

    /// The same, to keep contents in a folder apart. Nothing else is looked at: what is found there would be touched.
    pub(super) fn apart(&self, folder: &Path) -> Self {
        let mut apart = self.clone();
        apart.env.insert("GIT_OBJECT_DIRECTORY".into(), folder.into());
        apart
    }

    /// The same, with our objects and the user's beside those of a folder apart, for reading alone.
    ///
    /// Errors: `not_ready`.
    pub(super) fn beside_all(&self, root: &Path, user_env: &BTreeMap<OsString, OsString>) -> Result<Self> {
        let (theirs, _) = user_store(root, user_env)?;
        Ok(self.reading(&[&self.dir.join("objects"), &theirs]))
    }

    fn reading(&self, folders: &[&Path]) -> Self {
        let mut quoted = Vec::new();
        for folder in folders {
            if !quoted.is_empty() {
                quoted.push(b':');
            }
            quote(folder.as_os_str().as_bytes(), &mut quoted);
        }
        let mut both = self.clone();
        both.env.insert("GIT_ALTERNATE_OBJECT_DIRECTORIES".into(), OsString::from_vec(quoted));
        both
    }

    /// Those of some contents that cannot be read here.
    ///
    /// Errors: `not_ready`.
    pub(super) fn missing(&self, oids: &BTreeSet<Oid>) -> Result<BTreeSet<Oid>> {
        if oids.is_empty() {
            return Ok(BTreeSet::new());
        }
        let words = ["cat-file", "--batch-check"];
        let looked = self.git(&self.dir, &words, &lines(oids.iter()), NAMES_MAX_BYTES);
        if looked.ended != Ended::Exited(0) {
            return Err(failed("git could not look a content up", looked.ended));
        }
        let said = looked.stdout.split(|byte| *byte == b'\n');
        Ok(said.filter_map(|line| line.strip_suffix(b" missing").and_then(Oid::parse)).collect())
    }

    /// Brings contents over from the user's repository, so that nothing done there takes them from us; gives the name of
    /// the pack they lie in, and those that are gone there already.
    ///
    /// Errors: `not_ready`.
    pub(super) fn bring(
        &self,
        root: &Path,
        user_env: &BTreeMap<OsString, OsString>,
        oids: &BTreeSet<Oid>,
    ) -> Result<(Option<String>, BTreeSet<Oid>)> {
        let mut lost = BTreeSet::new();
        if oids.is_empty() {
            return Ok((None, lost));
        }
        let both = self.beside(root, user_env)?;
        lost = both.missing(oids)?;
        let stdin = lines(oids.iter().filter(|oid| !lost.contains(*oid)));
        if stdin.is_empty() {
            return Ok((None, lost));
        }
        make_private_dir(&self.dir.join("objects/pack"))?;
        let packed = both.git(
            &self.dir,
            &["-c", "core.fsync=pack,pack-metadata", "pack-objects", "-q", "--window=0", "objects/pack/pack"],
            &stdin,
            NAMES_MAX_BYTES,
        );
        if packed.ended != Ended::Exited(0) {
            return Err(failed("git could not bring over what was there before", packed.ended));
        }
        let name = String::from_utf8_lossy(&packed.stdout).trim().to_owned();
        Ok((Some(name), lost))
    }

    /// The bytes of a content; none where it is gone, or larger than is ever kept.
    pub(super) fn read(&self, oid: &Oid) -> Option<Vec<u8>> {
        let max_bytes = usize::try_from(FILE_MAX_BYTES).unwrap_or(usize::MAX);
        let outcome = self.git(&self.dir, &["cat-file", "blob", oid.as_str()], &[], max_bytes);
        (outcome.ended == Ended::Exited(0)).then_some(outcome.stdout)
    }

    /// What git says of the difference of two contents; none where one is gone, or there is too much to say.
    pub(super) fn difference(&self, before: &Oid, after: &Oid, max_bytes: usize) -> Option<Vec<u8>> {
        let words = [
            "diff",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            before.as_str(),
            after.as_str(),
        ];
        let outcome = self.git(&self.dir, &words, &[], max_bytes);
        (outcome.ended == Ended::Exited(0)).then_some(outcome.stdout)
    }

    /// Forgets contents and packs.
    pub(super) fn forget<'o>(
        &self,
        oids: impl Iterator<Item = &'o Oid>,
        packs: impl Iterator<Item = &'o String>,
    ) {
        // What stays is found when all is looked through.
        for oid in oids {
            let _ = fs::remove_file(self.loose(oid));
        }
        for pack in packs {
            for entry in self.packs().filter(|entry| pack_of(entry) == Some(pack)) {
                let _ = fs::remove_file(self.dir.join("objects/pack").join(&entry));
            }
        }
    }

    /// Forgets all contents but these, at most so many, and all packs but these; says whether that was all.
    pub(super) fn forget_all_but(
        &self,
        keeps: &BTreeSet<Oid>,
        packs: &BTreeSet<String>,
        mut left: usize,
    ) -> bool {
        for pack in self.unnamed_packs(packs) {
            // What stays is found the next time.
            let _ = fs::remove_file(pack);
        }
        for content in self.unnamed(keeps) {
            if left == 0 {
                return false;
            }
            left -= 1;
            let _ = fs::remove_file(content);
        }
        true
    }

    /// The files of all packs but these.
    pub(super) fn unnamed_packs<'a>(
        &'a self,
        packs: &'a BTreeSet<String>,
    ) -> impl Iterator<Item = PathBuf> + 'a {
        let others = self.packs().filter(|entry| pack_of(entry).is_none_or(|pack| !packs.contains(pack)));
        others.map(|entry| self.dir.join("objects/pack").join(entry))
    }

    /// The files of all contents but these.
    pub(super) fn unnamed<'a>(&'a self, keeps: &'a BTreeSet<Oid>) -> impl Iterator<Item = PathBuf> + 'a {
        let objects = self.dir.join("objects");
        let heads = names(&objects).filter(|name| name.len() == 2);
        heads.flat_map(move |head| {
            let folder = objects.join(&head);
            names(&folder).filter_map(move |rest| {
                let oid = Oid::parse(format!("{head}{rest}").as_bytes());
                (!oid.is_some_and(|oid| keeps.contains(&oid))).then(|| folder.join(rest))
            })
        })
    }

    fn packs(&self) -> impl Iterator<Item = String> + use<> {
        names(&self.dir.join("objects/pack"))
    }

    /// Replaces a file of ours; `durable` makes it survive a power cut.
    ///
    /// Errors: `disk_full`, `store_*`.
    pub(super) fn write(path: &Path, bytes: &[u8], durable: bool) -> Result<()> {
        if durable {
            return file::replace(path, bytes, 0o600);
        }
        let new = path.with_extension("new");
        fs::write(&new, bytes).and_then(|()| fs::rename(&new, path)).map_err(|e| unreadable(path, &e))
    }
}

fn names(dir: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// Contents as git reads their names.
fn lines<'o>(oids: impl Iterator<Item = &'o Oid>) -> Vec<u8> {
    oids.flat_map(|oid| oid.as_str().bytes().chain([b'\n'])).collect()
}

/// The name of the pack that a file belongs to.
fn pack_of(file: &str) -> Option<&str> {
    file.strip_prefix("pack-")?.split('.').next()
}

/// Where the user's repository has its objects, and how it names them.
fn user_store(root: &Path, env: &BTreeMap<OsString, OsString>) -> Result<(PathBuf, String)> {
    let words = ["rev-parse", "--path-format=absolute", "--git-common-dir", "--show-object-format"];
    let outcome = tree::git(root, &tree::quiet(env), &words.map(OsString::from), &[], NAMES_MAX_BYTES);
    if outcome.ended != Ended::Exited(0) {
        return Err(failed("git does not take it for a work tree", outcome.ended));
    }
    // A path may hold a line break; the format does not.
    let mut lines = outcome.stdout.trim_ascii_end().rsplitn(2, |byte| *byte == b'\n');
    let (format, common) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let format = match format {
        b"sha1" => "sha1",
        b"sha256" => "sha256",
        _ => return Err(Error::new(Code::NotReady, "git names contents in a way that is not known here")),
    };
    let common = PathBuf::from(OsString::from_vec(common.to_vec()));
    Ok((common.join("objects"), format.to_owned()))
}

/// A path as git reads one between quotes.
fn quote(path: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in path {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            0x20..=0x7e => out.push(*byte),
            _ => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
    out.push(b'"');
}
