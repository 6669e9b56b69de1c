//! The `cargo xtask` command line: arguments in, one command out. Knows no rule and no lane.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Arg, ArgAction, Command};
use xtask::{architecture, bench, docs, lanes};

fn main() -> ExitCode {
    let matches = command().get_matches();
    let root = root();
    let mut out = io::stdout().lock();
    let ended = match matches.subcommand() {
        Some(("test", chosen)) => lanes::run(
            &root,
            lanes::Options { provision: chosen.get_flag("provision"), fast: chosen.get_flag("fast") },
            &mut out,
        ),
        Some(("docs", _)) => docs::write(&root, &mut out),
        Some(("bench", chosen)) => bench::run(
            &root,
            &bench::Options {
                only: chosen.get_many("only").into_iter().flatten().cloned().collect(),
                large: chosen.get_flag("large"),
                report_only: chosen.get_flag("report-only"),
                fresh: chosen.get_flag("fresh"),
            },
            &mut out,
        ),
        _ => check_architecture(&root, &mut out),
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            // The stream that failed may be standard output itself, so nothing is expected of this write.
            let _ = writeln!(io::stderr(), "xtask: {error}");
            ExitCode::from(3)
        }
    }
}

fn command() -> Command {
    let flag = |name, help| Arg::new(name).long(name).help(help).action(ArgAction::SetTrue);
    Command::new("xtask")
        .about("The repository's own commands")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("test")
                .about("Run every test lane and print the counts")
                .arg(flag("provision", "Install the programs that optional tests talk to"))
                .arg(flag("fast", "Run only fmt, clippy and the tests")),
        )
        .subcommand(
            Command::new("bench")
                .about("Measure speed and size beside their floors, and write bench/latest.json")
                .arg(
                    Arg::new("only")
                        .long("only")
                        .value_name("GROUP")
                        .help("Only this group of bars; may be repeated")
                        .action(ArgAction::Append)
                        .value_parser(clap::builder::PossibleValuesParser::new(bench::groups())),
                )
                .arg(flag("large", "Also what needs a million Todos, which takes minutes"))
                .arg(flag("report-only", "Succeed even when a bar is missed"))
                .arg(flag("fresh", "Make the fixtures anew")),
        )
        .subcommand(Command::new("architecture").about("Check the repository's rules"))
        .subcommand(Command::new("docs").about("Write the reference pages anew"))
}

/// The root of the workspace that the caller stands in, else of the one in which this was built: a folder of built
/// programs may have been copied since.
fn root() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let around = here.ancestors().find(|dir| dir.join("xtask/Cargo.toml").is_file());
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    around.or_else(|| own.parent()).unwrap_or(own).to_owned()
}

fn check_architecture(root: &Path, out: &mut dyn io::Write) -> io::Result<bool> {
    let repo = architecture::Repo::load(root).map_err(io::Error::other)?;
    for (file, lines) in architecture::long_files(&repo) {
        writeln!(out, "long: {file}: {lines} lines, split it before {}", architecture::LINES_MAX)?;
    }
    let findings = architecture::check(&repo);
    for finding in &findings {
        writeln!(out, "{finding}")?;
    }
    writeln!(
        out,
        "{} rules, {} files, {} findings",
        architecture::RULES.len(),
        repo.sources.len(),
        findings.len()
    )?;
    Ok(findings.is_empty())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_sound() {
        super::command().debug_assert();
        for line in [
            &["xtask", "test", "--fast"][..],
            &["xtask", "test", "--provision"],
            &["xtask", "architecture"],
            &["xtask", "bench", "--only", "claims", "--only", "wake", "--report-only"],
            &["xtask", "bench", "--large", "--fresh"],
        ] {
            assert!(super::command().try_get_matches_from(line).is_ok(), "{line:?}");
        }
        assert!(super::command().try_get_matches_from(["xtask"]).is_err());
        assert!(super::command().try_get_matches_from(["xtask", "doc"]).is_err());
        assert!(super::command().try_get_matches_from(["xtask", "bench", "--only", "speed"]).is_err());
    }
}
