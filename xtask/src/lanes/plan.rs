//! Owns which lanes there are and the command of each. Runs nothing.

use std::{io, path::Path, process::Command};

use cargo_metadata::MetadataCommand;

use super::{
    counts::Runner,
    tools::{self, Tools},
};
use crate::{architecture::rust_files, process};

/// The crate whose tests build other crates; it has a lane of its own.
const COMPILE_FAIL: &str = "architecture";
/// The crate whose tests need a real agent program; it has a lane of its own.
const REAL_HOSTS: &str = "real-hosts";
/// The crate that stands for an adapter of somebody else: it is also built alone, as a package is.
const ADAPTER: &str = "codex-adapter";
/// The feature that puts named failpoints into a build.
const FAILPOINTS: &str = "failpoints";
/// The module name of tests that need strace.
const TRACED: &str = "traced";
/// The module name of tests that explore every state of small worlds, and the feature that puts them into a build.
const EXPLORE: [&str; 2] = ["explore", "loopx-core/seeded"];

/// One step of a run.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// What it is called in the output.
    pub(super) name: String,
    /// What it runs; nothing where its program is missing.
    pub(super) work: Option<Command>,
    /// Whose counts its output holds. Without any, the lane itself counts as one.
    pub(super) counts_by: Option<Runner>,
    /// Whether it picks out tests of which other lanes run the rest, so that those are not skipped.
    pub(super) picks: bool,
}

/// What the lanes are made of.
#[derive(Debug, Default)]
struct Workspace {
    /// Features to switch on in tests, as `crate/feature`.
    test_features: Vec<String>,
    /// The capability packages, each also built alone.
    packages: Vec<String>,
    /// Every Rust file: the formatter finds no module that a macro declares.
    sources: Vec<String>,
}

impl Workspace {
    fn read(root: &Path) -> io::Result<Self> {
        let metadata = MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .no_deps()
            .exec()
            .map_err(io::Error::other)?;
        let mut workspace = Self::default();
        for package in metadata.workspace_packages() {
            if let Some(dir) = package.manifest_path.parent() {
                rust_files(root, dir.as_std_path(), &mut workspace.sources)?;
            }
            if package.features.contains_key(FAILPOINTS) {
                workspace.test_features.push(format!("{}/{FAILPOINTS}", package.name));
            }
            if package.manifest_path.starts_with(metadata.workspace_root.join("packages")) {
                workspace.packages.push(package.name.to_string());
            }
        }
        Ok(workspace)
    }
}

pub(super) fn lanes(root: &Path, tools: &Tools, fast: bool) -> io::Result<Vec<Lane>> {
    Ok(plan(&Workspace::read(root)?, tools, fast))
}

fn plan(workspace: &Workspace, tools: &Tools, fast: bool) -> Vec<Lane> {
    let mut lanes = vec![
        Lane {
            name: "format".to_owned(),
            work: tools
                .has(tools::RUSTFMT)
                .then(|| process::program("rustfmt").also(["--check"]).also(&workspace.sources)),
            ..Lane::default()
        },
        Lane {
            name: "lint".to_owned(),
            work: tools.has(tools::CLIPPY).then(|| {
                process::cargo(["clippy", "--workspace", "--all-targets", "--all-features"])
                    .also(["--", "-D", "warnings"])
            }),
            ..Lane::default()
        },
        tests(
            "tests",
            tools,
            &["--workspace", "--exclude", COMPILE_FAIL, "--exclude", REAL_HOSTS],
            &workspace.test_features,
        ),
    ];
    if fast {
        return lanes;
    }
    lanes.push(Lane {
        name: "doc tests".to_owned(),
        work: Some(with_features(process::cargo(["test", "--doc", "--workspace"]), &workspace.test_features)),
        counts_by: Some(Runner::Harness),
        ..Lane::default()
    });
    lanes.push(exploration(tools));
    lanes.push(tests("architecture and compile-fail tests", tools, &["--package", COMPILE_FAIL], &[]));
    let real = tests(tools::CODEX.name, tools, &["--package", REAL_HOSTS], &[]);
    lanes.push(Lane { work: real.work.filter(|_| tools.has(tools::CODEX)), ..real });
    lanes.push(check("core without `tier`", &["--package", "loopx-core"]));
    let minimal = ["--package", "loopx", "--no-default-features", "--features", "minimal"];
    lanes.push(check("loopx, preset minimal", &minimal));
    for package in workspace.packages.iter().map(String::as_str).chain([ADAPTER]) {
        lanes.push(check(&format!("{package} alone"), &["--package", package]));
    }
    let mut pages = process::cargo(["doc", "--workspace", "--no-deps", "--all-features"]);
    pages.env("RUSTDOCFLAGS", "-D warnings");
    lanes.push(Lane { name: "rustdoc".to_owned(), work: Some(pages), ..Lane::default() });
    lanes
}

/// A lane of tests: through nextest, or the same ones through `cargo test`.
fn tests(name: &str, tools: &Tools, selection: &[&str], features: &[String]) -> Lane {
    let (runner, fixed, leave_traced_out) = if tools.has(tools::NEXTEST) {
        let fixed = "nextest run --no-fail-fast --no-tests pass --status-level slow";
        let filter = format!("not test(/(^|::){TRACED}::/)");
        (Runner::Nextest, fixed, ["--filterset".to_owned(), filter].to_vec())
    } else {
        let fixed = "test --no-fail-fast --lib --bins --tests";
        let filter = format!("{TRACED}::");
        (Runner::Harness, fixed, ["--".to_owned(), "--skip".to_owned(), filter].to_vec())
    };
    let work = process::cargo(fixed.split(' ')).also(selection);
    let work = with_features(work, features);
    let work = if tools.has(tools::STRACE) { work } else { work.also(leave_traced_out) };
    Lane { name: name.to_owned(), work: Some(work), counts_by: Some(runner), picks: false }
}

/// The lane of the exploration, whose seeded bugs are in no other build.
fn exploration(tools: &Tools) -> Lane {
    let [module, feature] = EXPLORE;
    let (runner, fixed, chosen) = if tools.has(tools::NEXTEST) {
        let chosen = ["--filterset".to_owned(), format!("test(/(^|::){module}::/)")].to_vec();
        (Runner::Nextest, "nextest run --no-fail-fast --status-level slow", chosen)
    } else {
        (Runner::Harness, "test --no-fail-fast", ["--".to_owned(), format!("{module}::")].to_vec())
    };
    let selection = ["--package", "loopx-core", "--lib", "--features", feature];
    let work = process::cargo(fixed.split(' ')).also(selection).also(chosen);
    let name = "exploration of the rules".to_owned();
    Lane { name, work: Some(work), counts_by: Some(runner), picks: true }
}

fn check(name: &str, selection: &[&str]) -> Lane {
    let work = Some(process::cargo(["check"]).also(selection));
    Lane { name: name.to_owned(), work, ..Lane::default() }
}

fn with_features(work: Command, features: &[String]) -> Command {
    if features.is_empty() { work } else { work.also(["--features", &features.join(",")]) }
}

/// Adds arguments and passes the command on.
trait Also {
    fn also<S: AsRef<std::ffi::OsStr>>(self, arguments: impl IntoIterator<Item = S>) -> Self;
}

impl Also for Command {
    fn also<S: AsRef<std::ffi::OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.args(arguments);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Lane, Workspace, plan};
    use crate::lanes::tools::{CLIPPY, RUSTFMT, STRACE, Tools};

    fn workspace() -> Workspace {
        Workspace {
            test_features: vec!["loopx-core/failpoints".to_owned()],
            packages: vec!["loopx-scheduler".to_owned()],
            sources: vec!["a/src/lib.rs".to_owned()],
        }
    }

    fn line(lane: &Lane) -> String {
        let Some(work) = &lane.work else {
            return String::new();
        };
        work.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn fast_is_the_first_three_lanes_of_a_full_run() {
        let full: Vec<String> = plan(&workspace(), &Tools::all(), false).iter().map(line).collect();
        let fast: Vec<String> = plan(&workspace(), &Tools::all(), true).iter().map(line).collect();
        assert_eq!(fast.len(), 3);
        assert_eq!(full.get(..3), Some(fast.as_slice()));
        assert!(full.iter().any(|line| line == "check --package loopx-scheduler"), "{full:?}");
    }

    #[test]
    fn a_missing_linter_leaves_its_lane_out_by_name() {
        let lanes = plan(&workspace(), &Tools::of(&[RUSTFMT]), true);
        let left_out: Vec<&str> =
            lanes.iter().filter(|lane| lane.work.is_none()).map(|lane| lane.name.as_str()).collect();
        assert_eq!(left_out, ["lint"]);
    }

    #[test]
    fn without_the_real_host_its_lane_is_left_out_by_name_and_no_other_lane_runs_its_tests() {
        let with = plan(&workspace(), &Tools::all(), false);
        let without = plan(&workspace(), &Tools::of(&[RUSTFMT, CLIPPY, STRACE]), false);
        let lane = |lanes: &[Lane]| {
            let found = lanes.iter().find(|lane| lane.name == "real host: codex");
            found.map(line).unwrap_or_default()
        };
        assert!(lane(&with).ends_with("--package real-hosts"), "{}", lane(&with));
        assert_eq!(lane(&without), "");
        let left_out = without.iter().filter(|lane| lane.work.is_none()).count();
        assert_eq!(left_out, 1);
        let others = without.iter().chain(&with).map(line).filter(|line| line.contains("--workspace"));
        let tests = others.filter(|line| line.contains("test ") || line.contains("run "));
        assert!(
            tests.filter(|line| !line.contains("--doc")).all(|line| line.contains("--exclude real-hosts"))
        );
    }

    #[test]
    fn only_one_lane_of_a_full_run_has_the_seeded_bugs_and_it_runs_the_exploration_alone() {
        let full: Vec<String> = plan(&workspace(), &Tools::all(), false).iter().map(line).collect();
        let seeded: Vec<&String> = full.iter().filter(|line| line.contains("seeded")).collect();
        assert_eq!(seeded.len(), 1, "{full:?}");
        assert!(
            seeded.iter().all(|line| line.ends_with("--filterset test(/(^|::)explore::/)")),
            "{seeded:?}"
        );
        let bare: Vec<String> = plan(&workspace(), &Tools::of(&[]), false).iter().map(line).collect();
        assert!(
            bare.iter().any(|line| line.ends_with("--features loopx-core/seeded -- explore::")),
            "{bare:?}"
        );
    }

    #[test]
    fn without_nextest_and_strace_the_same_tests_run_but_the_traced_ones() {
        let lanes = plan(&workspace(), &Tools::of(&[RUSTFMT, CLIPPY]), true);
        let line = lanes.last().map(line).unwrap_or_default();
        assert!(line.starts_with("test ") && line.contains("--features loopx-core/failpoints"), "{line}");
        assert!(line.ends_with("-- --skip traced::"), "{line}");
    }
}
