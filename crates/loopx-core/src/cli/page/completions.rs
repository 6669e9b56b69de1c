//! Owns the completion scripts.

use clap_complete::{Shell, generate};

use crate::cli::{parse, table::Command};

/// The completion script for a shell, or nothing for a shell that has none.
pub(in crate::cli) fn completions(
    program: &'static str,
    commands: &[&'static [Command]],
    shell: &str,
) -> Option<String> {
    let shell = match shell {
        "bash" => Shell::Bash,
        "zsh" => Shell::Zsh,
        "fish" => Shell::Fish,
        _ => return None,
    };
    let mut script = Vec::new();
    generate(shell, &mut parse::tree(program, commands), program, &mut script);
    let script = String::from_utf8(script).ok()?;
    // The generator names the top of the tree in two ways when the program's name has a hyphen, so that no
    // verb is ever completed.
    let (wrong, right) = (program.replace('-', "__subcmd__"), program.replace('-', "__"));
    Some(if shell == Shell::Bash && wrong != right {
        script.replace(&format!("{wrong}__subcmd__"), &format!("{right}__subcmd__"))
    } else {
        script
    })
}
