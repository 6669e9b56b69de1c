//! Owns what every rule reads: the workspace as cargo describes it, and its sources, each scanned once.
//!
//! Knows no rule.

use std::{fs, io, num::NonZero, path::Path, path::PathBuf, thread};

use cargo_metadata::{Metadata, MetadataCommand};

use super::source::Source;
use crate::process;

/// The folder below a member that holds deliberately bad code, relative to the repository's root.
const FIXTURES: &str = "tests/architecture/fixtures";

/// The example of an adapter, which is a test crate and no package, and has a package's doors.
const ADAPTER: &str = "tests/codex-adapter";

/// A crate of the workspace.
#[derive(Debug, Clone)]
pub struct Member {
    /// The package's name.
    pub name: String,
    /// Its folder, relative to the repository's root.
    pub dir: String,
}

impl Member {
    /// Whether the crate stands outside core's tiers, as somebody else's would: a package, or the example of an adapter.
    pub fn is_outside(&self) -> bool {
        is_below(&self.dir, "packages") || self.dir == ADAPTER
    }
}

/// A workspace, read once.
#[derive(Debug)]
pub struct Repo {
    /// The folder of the root manifest.
    pub root: PathBuf,
    /// What cargo says about it, resolved for this machine's platform with every feature on.
    pub metadata: Metadata,
    /// Its crates, by folder.
    pub members: Vec<Member>,
    /// Every Rust source of its crates, by path, without the fixtures.
    pub sources: Vec<Source>,
}

impl Repo {
    /// Reads the workspace at `root`.
    pub fn load(root: &Path) -> Result<Self, String> {
        let metadata = MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .other_options(vec![
                "--all-features".to_owned(),
                "--filter-platform".to_owned(),
                process::host_platform().map_err(|error| error.to_string())?,
            ])
            .exec()
            .map_err(|error| error.to_string())?;
        let root = metadata.workspace_root.clone().into_std_path_buf();
        let mut members: Vec<Member> = metadata
            .workspace_packages()
            .into_iter()
            .map(|package| Member {
                name: package.name.to_string(),
                dir: package
                    .manifest_path
                    .parent()
                    .and_then(|dir| dir.strip_prefix(&metadata.workspace_root).ok())
                    .map(|dir| dir.as_str().replace('\\', "/"))
                    .unwrap_or_default(),
            })
            .collect();
        members.sort_by(|one, other| one.dir.cmp(&other.dir));
        let mut files = Vec::new();
        for member in &members {
            let mut found = Vec::new();
            rust_files(&root, &root.join(&member.dir), &mut found).map_err(|error| error.to_string())?;
            files.extend(found.into_iter().map(|path| (member.dir.clone(), path)));
        }
        files.sort();
        files.dedup_by(|one, other| one.1 == other.1);
        let mut sources = scan(&root, &files)?;
        mark_test_modules(&mut sources);
        Ok(Self { root, metadata, members, sources })
    }

    /// The sources below a folder, given relative to the repository's root.
    pub fn below<'a>(&'a self, dir: &'a str) -> impl Iterator<Item = &'a Source> {
        self.sources.iter().filter(move |source| is_below(&source.path, dir))
    }

    /// The sources that ship: no test, no test crate, and not the repository's own tools.
    pub fn shipped(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| !source.test && source.member != "xtask")
    }

    /// The line of a manifest that first names a dependency, or 1.
    pub fn manifest_line(&self, dir: &str, dependency: &str) -> usize {
        let text = fs::read_to_string(self.root.join(dir).join("Cargo.toml")).unwrap_or_default();
        let named = |line: &str| {
            line.trim_start().strip_prefix(dependency).is_some_and(|rest| rest.starts_with([' ', '.', '=']))
        };
        text.lines().position(named).map_or(1, |index| index + 1)
    }
}

/// Whether a relative path lies in a folder, or is it.
pub(super) fn is_below(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Collects the Rust files below a folder, by their paths below the root; not what breaks a rule on purpose.
pub(crate) fn rust_files(root: &Path, dir: &Path, found: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        let Ok(relative) = path.strip_prefix(root) else {
            continue;
        };
        let relative = relative.to_string_lossy().replace('\\', "/");
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            let hidden = name.to_string_lossy().starts_with('.');
            if !hidden && name != "target" && relative != FIXTURES {
                rust_files(root, &path, found)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(relative);
        }
    }
    Ok(())
}

/// Scans on every core: an unoptimised build of the parser is the slow part of the whole check.
fn scan(root: &Path, files: &[(String, String)]) -> Result<Vec<Source>, String> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let scan_one = |(member, path): &(String, String)| {
        let text = fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))?;
        Source::scan(member, path, text)
    };
    thread::scope(|scope| {
        let running: Vec<_> = files
            .chunks(files.len().div_ceil(workers).max(1))
            .map(|part| scope.spawn(move || part.iter().map(scan_one).collect::<Result<Vec<_>, _>>()))
            .collect();
        let mut sources = Vec::with_capacity(files.len());
        for worker in running {
            let part = worker.join().map_err(|_| "a scanning thread panicked".to_owned())??;
            sources.extend(part);
        }
        Ok(sources)
    })
}

/// A file that is reached only through `#[cfg(test)] mod …;` is a test wherever it lies.
fn mark_test_modules(sources: &mut [Source]) {
    let gated: Vec<(String, Vec<String>)> = sources
        .iter()
        .flat_map(|source| {
            let member = source.member.clone();
            source.test_modules.iter().map(move |module| (member.clone(), module.clone()))
        })
        .collect();
    for source in sources {
        source.test |= gated
            .iter()
            .any(|(member, module)| *member == source.member && source.module.starts_with(module));
    }
}
