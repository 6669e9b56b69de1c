//! Owns the building of what is measured, in the profile that is shipped.

use std::{
    collections::BTreeMap,
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use cargo_metadata::Message;

use crate::process::{self, Ended, Limits};

/// The worker and the comparators, by their names in core's `benches/`.
const WORKERS: [&str; 4] = ["empty_clap", "floor", "host", "worker"];

/// What was built.
#[derive(Debug)]
pub(super) struct Programs {
    found: BTreeMap<String, PathBuf>,
}

impl Programs {
    /// Builds all.
    pub(super) fn build(root: &Path, limits: &Limits) -> io::Result<Self> {
        let mut found = BTreeMap::new();
        let mut workers = vec!["--package", "loopx-core", "--features", "loopx-core/tier"];
        workers.extend(WORKERS.iter().flat_map(|name| ["--bench", name]));
        build(root, &workers, limits, &mut found)?;
        // Apart and last: beside the workers they would be linked with features of what only tests need.
        let shipped =
            ["--package", "loopx-core", "--package", "loopx", "--bin", "loopx-core", "--bin", "loopx"];
        build(root, &shipped, limits, &mut found)?;
        Ok(Self { found })
    }

    /// The path of one.
    pub(super) fn path(&self, name: &str) -> io::Result<&Path> {
        let found = self.found.get(name).map(PathBuf::as_path);
        found.ok_or_else(|| io::Error::other(format!("`{name}` was not built")))
    }
}

fn build(
    root: &Path,
    selection: &[&str],
    limits: &Limits,
    found: &mut BTreeMap<String, PathBuf>,
) -> io::Result<()> {
    let mut command = process::cargo(["build", "--release", "--message-format=json-render-diagnostics"]);
    command.current_dir(root).args(selection);
    let (mut messages, mut said) = (String::new(), String::new());
    let ended = process::run(command, limits, &mut |line| {
        let to = if line.starts_with('{') { &mut messages } else { &mut said };
        to.push_str(line);
        to.push('\n');
        Ok(())
    })?;
    match ended {
        Ended::Itself(status) if status.success() => {}
        Ended::Itself(_) => return Err(io::Error::other(format!("it does not build:\n{said}"))),
        Ended::Limited(reason) => return Err(io::Error::other(format!("the build was ended: {reason}"))),
    }
    for message in Message::parse_stream(BufReader::new(messages.as_bytes())) {
        if let Message::CompilerArtifact(artifact) = message?
            && let Some(path) = artifact.executable
        {
            found.insert(artifact.target.name, path.into_std_path_buf());
        }
    }
    Ok(())
}
