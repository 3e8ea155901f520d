//! `cipherloom completions` and `cipherloom man`: made from the same argument types that parse the command line.

use crate::arguments::Arguments;
use crate::exit_code::ExitCode;
use crate::{keys, output, passphrase};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use std::io::{self, Write};

pub fn completions(shell: Shell) -> anyhow::Result<ExitCode> {
    print(&script(shell))
}

fn script(shell: Shell) -> Vec<u8> {
    let whole = Arguments::command();
    // Hidden commands are not completed either.
    let mut shown =
        Command::new("cipherloom").args(whole.get_arguments().cloned()).subcommands(visible(&whole).cloned());
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut shown, "cipherloom", &mut script);
    script
}

pub fn man() -> anyhow::Result<ExitCode> {
    print(&page()?)
}

fn page() -> io::Result<Vec<u8>> {
    let mut command = Arguments::command();
    command.build();
    let mut page = Vec::new();
    let top = Man::new(command.clone()).section("1").manual("cipherloom");
    top.render_title(&mut page)?;
    top.render_name_section(&mut page)?;
    top.render_synopsis_section(&mut page)?;
    top.render_description_section(&mut page)?;
    for subcommand in visible(&command) {
        render_command(subcommand, &mut page)?;
    }
    writeln!(page, ".SH \"EXIT STATUS\"")?;
    for (code, meaning) in ExitCode::ALL {
        writeln!(page, ".TP\n\\fB{}\\fR\n{meaning}", code as u8)?;
    }
    writeln!(page, ".SH ENVIRONMENT")?;
    for (names, meaning) in [
        (passphrase::VARIABLE, "The passphrase, if one is needed and no file is named."),
        (keys::VARIABLE, "The key file, if \\fB\\-\\-key\\fR is not given."),
        ("XDG_CACHE_HOME", "The folder for the figures of \\fBcipherloom calibrate\\fR."),
        #[cfg(feature = "stores")]
        (
            "AWS_*\\fR, \\fBGOOGLE_*\\fR, \\fBAZURE_*",
            "Endpoints and credentials of stores, with the names that their own tools use.",
        ),
    ] {
        writeln!(page, ".TP\n\\fB{names}\\fR\n{meaning}")?;
    }
    Ok(page)
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

/// A command as a section of its own, its options below; its own commands follow it.
fn render_command(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    writeln!(page, ".SH \"{}\"", command.get_bin_name().unwrap_or(command.get_name()).to_uppercase())?;
    if let Some(about) = command.get_about() {
        writeln!(page, "{about}.")?;
    }
    let mut options = Vec::new();
    let man = Man::new(command.clone());
    man.render_synopsis_section(&mut options)?;
    man.render_options_section(&mut options)?;
    let options = String::from_utf8_lossy(&options);
    // Below a command these are subsections.
    page.extend_from_slice(options.replace(".SH ", ".SS ").as_bytes());
    if let Some(examples) = command.get_after_help() {
        writeln!(page, ".SS EXAMPLES\n.nf")?;
        for line in examples.to_string().lines().filter(|line| line.starts_with("  ")) {
            writeln!(page, "{}", line.trim_start().replace('\\', "\\e").replace('-', "\\-"))?;
        }
        writeln!(page, ".fi")?;
    }
    visible(command).try_for_each(|subcommand| render_command(subcommand, page))
}

fn print(bytes: &[u8]) -> anyhow::Result<ExitCode> {
    output::print(&String::from_utf8_lossy(bytes))?;
    Ok(ExitCode::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_help_shows_is_in_the_manual_and_in_completions_and_no_other() {
        let page = String::from_utf8(page().unwrap()).unwrap();
        let script = String::from_utf8(script(Shell::Bash)).unwrap();
        for section in ["CIPHERLOOM ENCRYPT", "CIPHERLOOM LCP ENCRYPT", "CIPHERLOOM LCP INSPECT"] {
            assert!(page.contains(&format!(".SH \"{section}\"")), "{section}");
            assert!(script.contains(&section.to_lowercase().replace(' ', "__subcmd__")), "{section}");
        }
        assert!(page.contains("notify"), "options of lcp's commands");
        assert!(!page.contains("FLOOR") && !script.contains("floor"));
    }
}
