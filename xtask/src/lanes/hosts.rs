//! Owns the real agent programs that tests drive: which version of each, where it lies, and how it gets there.
//!
//! Knows no test. The versions are pinned in one file, which the steps that test with a host raise.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;

use super::tools::apt_get;
use crate::process;

const PINS: &str = include_str!("../../../tests/kits/hosts.json");
/// Where hosts are installed, below the root: it is built, not kept.
const FOLDER: &str = "target/hosts";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pin {
    /// Its package.
    npm: String,
    version: String,
    /// What the program prints of itself in that version.
    prints: String,
}

fn pin(name: &str) -> Option<Pin> {
    serde_json::from_str::<BTreeMap<String, Pin>>(PINS).ok()?.remove(name)
}

fn folder(root: &Path, name: &str) -> PathBuf {
    root.join(FOLDER).join(name)
}

/// Whether a host is there in the version that is pinned.
pub(super) fn is_installed(root: &Path, name: &str) -> bool {
    let program = folder(root, name).join("node_modules/.bin").join(name);
    let said = program.to_str().and_then(|program| process::said(program, &["--version"]));
    pin(name).is_some_and(|pin| said == Some(pin.prints))
}

/// The commands that install a host, none where this machine has no installer for it.
pub(super) fn install_steps(root: &Path, name: &str) -> Vec<Command> {
    let Some(pin) = pin(name) else { return Vec::new() };
    let mut steps = Vec::new();
    if !process::exists("npm", &["--version"]) {
        if !process::exists("apt-get", &["--version"]) {
            return Vec::new();
        }
        steps.push(apt_get(&["update"]));
        steps.push(apt_get(&["install", "--yes", "--no-install-recommends", "npm"]));
    }
    let mut install = process::program("npm");
    install.args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"]).arg(folder(root, name));
    install.arg(format!("{}@{}", pin.npm, pin.version));
    steps.push(install);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pin_names_one_version_and_what_it_prints() {
        let pins: BTreeMap<String, Pin> = serde_json::from_str(PINS).expect("the file of pins is read");
        assert!(pins.contains_key("codex"));
        for (name, pin) in pins {
            assert!(
                pin.version.split('.').all(|part| part.parse::<u32>().is_ok()),
                "{name}: {}",
                pin.version
            );
            assert!(pin.prints.contains(&pin.version), "{name}: {}", pin.prints);
        }
    }

    #[test]
    fn a_host_that_is_not_there_is_not_installed() {
        assert!(!is_installed(Path::new("/nowhere"), "codex"));
        assert!(install_steps(Path::new("/nowhere"), "unheard-of").is_empty());
    }
}
