//! Rule: dependencies between the crates point down only, packages meet core without `tier`, and core pulls
//! no async runtime, HTTP or TLS.
//!
//! Read from what cargo resolves. Test crates below `tests/` may depend on anything, but the example of an adapter,
//! which meets core as a package does.

use std::{
    collections::{BTreeMap, VecDeque},
    fs,
};

use cargo_metadata::{DependencyKind, Package, PackageId};

use super::{Finding, Member, Repo};

pub(super) const RULE: &str = "tiers";
const CORE: &str = "loopx-core";
/// What core's closure must not hold.
const TOO_HEAVY: &[&str] = &[
    "async-std",
    "curl",
    "futures",
    "h2",
    "hyper",
    "hyper-util",
    "native-tls",
    "openssl",
    "openssl-sys",
    "reqwest",
    "rustls",
    "smol",
    "tokio",
    "ureq",
];

/// Which workspace crates a crate may depend on.
enum Allowed {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
    Anything,
    NotPlaced,
}

fn allowed(member: &Member) -> Allowed {
    let (top, below) = member.dir.split_once('/').unwrap_or((&member.dir, ""));
    match (top, below) {
        ("crates", "loopx-core") | ("xtask", "") => Allowed::Only(&[]),
        ("crates", "loopx-hosts") | ("packages", _) | ("tests", "codex-adapter") => Allowed::Only(&[CORE]),
        ("crates", "loopx-chat") => Allowed::Only(&[CORE, "loopx-hosts"]),
        ("crates", "loopx-workspace") => Allowed::Only(&[CORE, "loopx-hosts", "loopx-chat"]),
        ("loopx", "") => Allowed::AllBut(&["xtask", "architecture"]),
        ("tests", _) => Allowed::Anything,
        _ => Allowed::NotPlaced,
    }
}

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &repo.members {
        let package = repo.metadata.packages.iter().find(|package| *package.name == member.name);
        if let Some(package) = package {
            findings.extend(check_direction(repo, member, package));
        }
    }
    findings.extend(check_members(repo));
    findings.extend(check_weight(repo));
    findings
}

fn check_direction(repo: &Repo, member: &Member, package: &Package) -> Vec<Finding> {
    let finding =
        |line, message| Finding { rule: RULE, file: format!("{}/Cargo.toml", member.dir), line, message };
    let name = &member.name;
    let mut findings = Vec::new();
    let inside = |dependency: &str| repo.members.iter().any(|member| member.name == dependency);
    for dependency in package.dependencies.iter().filter(|dependency| inside(&dependency.name)) {
        let target = dependency.name.as_str();
        let fits = match allowed(member) {
            Allowed::Only(names) => names.contains(&target),
            Allowed::AllBut(names) => !names.contains(&target),
            Allowed::Anything => true,
            Allowed::NotPlaced => false,
        };
        let written = dependency.rename.as_deref().unwrap_or(target);
        let line = repo.manifest_line(&member.dir, written);
        if !fits {
            findings.push(finding(line, format!("`{name}` must not depend on `{target}`")));
        }
        let opens = target == CORE && dependency.features.iter().any(|feature| feature == "tier");
        if opens && member.is_outside() {
            findings.push(finding(line, format!("`{name}` stands outside core and must not enable `tier`")));
        }
    }
    if matches!(allowed(member), Allowed::NotPlaced) {
        findings
            .push(finding(1, format!("`{name}` is in no tier: `{}` is not a place for a crate", member.dir)));
    }
    findings
}

/// A crate that lies in a tier's folder without being a member would be checked by nothing.
fn check_members(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for top in ["crates", "packages", "tests"] {
        for entry in fs::read_dir(repo.root.join(top)).into_iter().flatten().flatten() {
            let dir = format!("{top}/{}", entry.file_name().to_string_lossy());
            let is_member = repo.members.iter().any(|member| member.dir == dir);
            if !is_member && entry.path().join("Cargo.toml").is_file() {
                findings.push(Finding {
                    rule: RULE,
                    file: format!("{dir}/Cargo.toml"),
                    line: 1,
                    message: format!("`{dir}` is no member of the workspace: nothing checks it"),
                });
            }
        }
    }
    findings
}

/// Follows core's normal and build dependencies, nearest first, and names the way to what is too heavy.
fn check_weight(repo: &Repo) -> Vec<Finding> {
    let names: BTreeMap<&PackageId, &str> =
        repo.metadata.packages.iter().map(|package| (&package.id, package.name.as_str())).collect();
    let nodes: BTreeMap<&PackageId, _> = repo
        .metadata
        .resolve
        .iter()
        .flat_map(|resolve| &resolve.nodes)
        .map(|node| (&node.id, node))
        .collect();
    let core = repo.metadata.packages.iter().find(|package| *package.name == CORE);
    let mut way: BTreeMap<&PackageId, Vec<&str>> =
        core.iter().map(|package| (&package.id, vec![CORE])).collect();
    let mut open: VecDeque<&PackageId> = core.iter().map(|package| &package.id).collect();
    let mut findings = Vec::new();
    while let Some(id) = open.pop_front() {
        let here = way.get(id).cloned().unwrap_or_default();
        for next in nodes.get(id).iter().flat_map(|node| &node.deps) {
            let ships = next.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development);
            if !ships || way.contains_key(&next.pkg) {
                continue;
            }
            let name = names.get(&next.pkg).copied().unwrap_or_default();
            let mut there = here.clone();
            there.push(name);
            if TOO_HEAVY.contains(&name) {
                let first = there.get(1).copied().unwrap_or_default();
                findings.push(Finding {
                    rule: RULE,
                    file: format!("crates/{CORE}/Cargo.toml"),
                    line: repo.manifest_line(&format!("crates/{CORE}"), first),
                    message: format!("core must stay light and synchronous: {}", there.join(" -> ")),
                });
            }
            way.insert(&next.pkg, there);
            open.push_back(&next.pkg);
        }
    }
    findings
}
