//! Owns the list of programs that lanes need beside cargo: how each is found, installed, and what is left out
//! without it.

use std::{path::Path, process::Command};

use super::hosts;
use crate::process;

/// A program some lane needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tool {
    /// Its name, by which a skip is reported.
    pub(super) name: &'static str,
    /// What is left out without it.
    pub(super) without: &'static str,
    probe: Probe,
    install: Install,
}

/// How a program shows that it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probe {
    /// It starts with these arguments.
    Starts(&'static str, &'static [&'static str]),
    /// It is the agent program of this name, in the version that is pinned.
    Host(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Install {
    Component(&'static str),
    Crate(&'static str),
    Package(&'static str),
    Host(&'static str),
}

pub(super) const RUSTFMT: Tool = Tool {
    name: "rustfmt",
    without: "the format lane is left out",
    probe: Probe::Starts("cargo", &["fmt", "--version"]),
    install: Install::Component("rustfmt"),
};

pub(super) const CLIPPY: Tool = Tool {
    name: "clippy",
    without: "the lint lane is left out",
    probe: Probe::Starts("cargo", &["clippy", "--version"]),
    install: Install::Component("clippy"),
};

pub(super) const NEXTEST: Tool = Tool {
    name: "cargo-nextest",
    without: "`cargo test` runs the same tests, without the check for leaked processes",
    probe: Probe::Starts("cargo", &["nextest", "--version"]),
    install: Install::Crate("cargo-nextest"),
};

/// Tests that watch system calls live in modules named `traced`.
pub(super) const STRACE: Tool = Tool {
    name: "strace",
    without: "the tests in modules named `traced` are left out",
    probe: Probe::Starts("strace", &["-V"]),
    install: Install::Package("strace"),
};

/// Tests of `real-hosts`.
pub(super) const CODEX: Tool = Tool {
    name: "real host: codex",
    without: "the lane of this name is left out",
    probe: Probe::Host("codex"),
    install: Install::Host("codex"),
};

const ALL: [Tool; 5] = [RUSTFMT, CLIPPY, NEXTEST, STRACE, CODEX];

impl Tool {
    /// The commands that install it, none where this machine has no installer for it.
    pub(super) fn install_steps(self, root: &Path) -> Vec<Command> {
        match self.install {
            Install::Component(name) if process::exists("rustup", &["--version"]) => {
                let mut step = process::program("rustup");
                step.args(["component", "add", name]);
                vec![step]
            }
            Install::Crate(name) => vec![process::cargo(["install", "--locked", name])],
            Install::Package(name) if process::exists("apt-get", &["--version"]) => {
                vec![apt_get(&["update"]), apt_get(&["install", "--yes", "--no-install-recommends", name])]
            }
            Install::Host(name) => hosts::install_steps(root, name),
            Install::Component(_) | Install::Package(_) => Vec::new(),
        }
    }
}

/// A call of the system's own installer.
pub(super) fn apt_get(arguments: &[&str]) -> Command {
    let root = rustix::process::geteuid().is_root();
    let mut step = process::program(if root { "apt-get" } else { "sudo" });
    if !root {
        step.args(["--non-interactive", "apt-get"]);
    }
    step.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    step
}

/// The tools this machine has.
#[derive(Debug)]
pub(super) struct Tools(Vec<Tool>);

impl Tools {
    /// Starts each tool once to see whether it is there.
    pub(super) fn find(root: &Path) -> Self {
        let is_there = |tool: &Tool| match tool.probe {
            Probe::Starts(program, arguments) => process::exists(program, arguments),
            Probe::Host(name) => hosts::is_installed(root, name),
        };
        Self(ALL.into_iter().filter(is_there).collect())
    }

    pub(super) fn has(&self, tool: Tool) -> bool {
        self.0.contains(&tool)
    }

    pub(super) fn missing(&self) -> impl Iterator<Item = Tool> {
        ALL.into_iter().filter(|tool| !self.has(*tool))
    }

    #[cfg(test)]
    pub(super) fn of(tools: &[Tool]) -> Self {
        Self(tools.to_vec())
    }

    #[cfg(test)]
    pub(super) fn all() -> Self {
        Self(ALL.to_vec())
    }
}
