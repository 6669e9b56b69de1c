//! Rule: a package, and the example of an adapter, names `loopx_core::sdk` and nothing else of core; what it
//! names besides is pinned, a new edge fails, and a pinned edge that is gone fails until the pin is lowered.
//!
//! An edge is a file and a path. The crate is followed through renames in the manifest, in `use`, in
//! `extern crate`, through a rename another module of the package made, and into macro arguments.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde::Deserialize;

use super::{Finding, Kind, Member, Repo, Source};

pub(super) const RULE: &str = "import_pins";
const PINS: &str = "tests/architecture/package_kernel_import_pins.json";
const SCHEMA: &str = "loopx_package_kernel_import_pins_v1";
const CORE: &str = "loopx_core";
const DOOR: &str = "sdk";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pins {
    schema: String,
    /// For every package, the edges it still has: `<file>: <path>`.
    pins: BTreeMap<String, BTreeSet<String>>,
}

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let pins = match read(repo) {
        Ok(pins) => pins,
        Err(message) => return vec![pin_finding(message)],
    };
    let mut findings = Vec::new();
    if pins.schema != SCHEMA {
        findings.push(pin_finding(format!("the schema is `{SCHEMA}`, not `{}`", pins.schema)));
    }
    let none = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for member in repo.members.iter().filter(|member| member.is_outside()) {
        let pinned = pins.pins.get(&member.name).unwrap_or(&none);
        let names = names_of_core(repo, member);
        for source in repo.sources.iter().filter(|source| source.member == member.dir) {
            for (line, path) in edges(source, &names) {
                let edge = format!("{}: {path}", source.path);
                if !pinned.contains(&edge) {
                    findings.push(Finding {
                        rule: RULE,
                        file: source.path.clone(),
                        line,
                        message: format!("`{path}` reaches past `{CORE}::{DOOR}`: ask the sdk for a door"),
                    });
                }
                seen.insert((member.name.clone(), edge));
            }
        }
    }
    for (package, edges) in &pins.pins {
        for edge in edges {
            if !seen.contains(&(package.clone(), edge.clone())) {
                findings.push(pin_finding(format!("`{edge}` of `{package}` is gone: remove its pin")));
            }
        }
    }
    findings
}

fn read(repo: &Repo) -> Result<Pins, String> {
    let text = fs::read_to_string(repo.root.join(PINS)).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// The names by which a package's sources can start a path into core.
fn names_of_core(repo: &Repo, member: &Member) -> BTreeSet<String> {
    let mut names = BTreeSet::from([CORE.to_owned()]);
    let manifest = repo.metadata.packages.iter().find(|package| *package.name == member.name);
    for dependency in manifest.into_iter().flat_map(|package| &package.dependencies) {
        if dependency.name.replace('-', "_") == CORE {
            names.extend(dependency.rename.as_ref().map(|name| name.replace('-', "_")));
        }
    }
    for source in repo.sources.iter().filter(|source| source.member == member.dir) {
        for (bound, target) in &source.imports {
            if matches!(target.as_slice(), [only] if names.contains(only)) {
                names.insert(bound.clone());
            }
        }
    }
    names
}

/// Every path of a file that goes into core by another door, in one spelling.
fn edges(source: &Source, names: &BTreeSet<String>) -> BTreeSet<(usize, String)> {
    source
        .mentions
        .iter()
        .filter_map(|mention| {
            let at = if mention.segments.first().is_some_and(|first| first == "crate") {
                mention.segments.iter().position(|segment| names.contains(segment))?
            } else {
                0
            };
            let inside = mention.segments.get(at..)?;
            let (first, rest) = inside.split_first()?;
            let is_core = names.contains(first) && (mention.segments.len() > 1 || first == CORE);
            let allowed = match rest.first().map(String::as_str) {
                Some(door) => door == DOOR,
                // A bare name outside a declaration is an argument of a macro that builds a path from it.
                None => mention.kind != Kind::Path,
            };
            let spelled: Vec<&str> = [CORE].into_iter().chain(rest.iter().map(String::as_str)).collect();
            (is_core && !allowed).then(|| (mention.line, spelled.join("::")))
        })
        .collect()
}

fn pin_finding(message: String) -> Finding {
    Finding { rule: RULE, file: PINS.to_owned(), line: 1, message }
}
