//! `cipherloom completions` and `cipherloom man`: made from the same argument types that parse the command line.

use crate::arguments::Arguments;
use crate::exit_code::ExitCode;
use crate::{output, passphrase};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use std::io::{self, Write};

pub fn completions(shell: Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "cipherloom", &mut script);
    print(&script)
}

pub fn man() -> anyhow::Result<ExitCode> {
    let mut command = Arguments::command();
    command.build();
    let mut page = Vec::new();
    let top = Man::new(command.clone()).section("1").manual("cipherloom");
    top.render_title(&mut page)?;
    top.render_name_section(&mut page)?;
    top.render_synopsis_section(&mut page)?;
    top.render_description_section(&mut page)?;
    for subcommand in
        command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
    {
        render_command(subcommand, &mut page)?;
    }
    render_exit_status(&mut page)?;
    writeln!(page, ".SH ENVIRONMENT")?;
    writeln!(
        page,
        ".TP\n\\fB{}\\fR\nThe passphrase, where one is needed and no file is named.",
        passphrase::VARIABLE
    )?;
    writeln!(
        page,
        ".TP\n\\fBXDG_CACHE_HOME\\fR\nWhere the figures of \\fBcipherloom calibrate\\fR are kept."
    )?;
    print(&page)
}

/// A command as a section of its own, its options below.
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
    Ok(())
}

fn render_exit_status(page: &mut Vec<u8>) -> io::Result<()> {
    writeln!(page, ".SH \"EXIT STATUS\"")?;
    for (code, meaning) in ExitCode::ALL {
        writeln!(page, ".TP\n\\fB{}\\fR\n{meaning}", code as u8)?;
    }
    Ok(())
}

fn print(bytes: &[u8]) -> anyhow::Result<ExitCode> {
    output::print(&String::from_utf8_lossy(bytes))?;
    Ok(ExitCode::Success)
}
