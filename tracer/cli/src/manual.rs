//! `wirelap manual`: manual pages of all commands, for packages. They are made of what `--help` is made of.

use clap::Args;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use wirelap_process::outputs::unwritable;
use wirelap_process::{Failure, Outputs};

/// `wirelap manual`.
#[derive(Clone, Debug, Args)]
pub struct ManualArgs {
    /// An existing folder
    #[arg(long, value_name = "FOLDER")]
    pub to: PathBuf,

    /// Replace existing files
    #[arg(long)]
    pub force: bool,
}

/// A file name and the page's text.
type ManualPage = (String, Vec<u8>);

/// Writes a page for wirelap, whose command line `program` is, and one for each of its commands.
///
/// # Errors
/// A page cannot be written, or is there already and `force` is not set.
pub fn run(args: &ManualArgs, program: clap::Command) -> Result<ExitCode, Failure> {
    let outputs = Outputs::new(args.force, None);
    for (name, text) in pages(program).map_err(|error| Failure::Measured(error.to_string()))? {
        let path = args.to.join(name);
        outputs.allow(&path, false)?;
        let written = outputs.create(&path).and_then(|mut file| file.write_all(&text));
        written.map_err(|error| Failure::Measured(unwritable(&path, &error)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn pages(program: clap::Command) -> io::Result<Vec<ManualPage>> {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let commands = program.get_subcommands().filter(|command| !command.is_hide_set());
    std::iter::once(&program).chain(commands).map(page).collect()
}

fn page(command: &clap::Command) -> io::Result<ManualPage> {
    let man = Man::new(command.clone())
        .source(concat!("wirelap ", env!("WIRELAP_VERSION")))
        .manual("wirelap");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    if let Some(help) = command.get_after_help() {
        after_help(&help.to_string()).to_writer(&mut text)?;
    }
    if !command.has_subcommands() {
        Roff::new().control("SH", ["SEE ALSO"]).text([roman("wirelap(1)")]).to_writer(&mut text)?;
    }
    Ok((man.get_filename(), text))
}

/// Formats the text below the options. `Man` would fill its lines, so that examples would become one paragraph.
fn after_help(help: &str) -> Roff {
    let mut roff = Roff::new();
    for paragraph in help.split("\n\n") {
        match (paragraph.split_once(":\n  "), paragraph.split_once(": ")) {
            (Some((heading, lines)), _) => verbatim(&mut roff, heading, lines),
            (None, Some(("Exit status", text))) => section(&mut roff, "EXIT STATUS", text),
            _ => section(&mut roff, "NOTES", paragraph),
        }
    }
    roff
}

fn section(roff: &mut Roff, heading: &str, text: &str) {
    roff.control("SH", [heading]);
    for line in text.lines() {
        roff.text([roman(line.trim())]);
    }
}

fn verbatim(roff: &mut Roff, heading: &str, lines: &str) {
    roff.control("SH", [heading.to_uppercase().as_str()]).control("nf", []);
    for line in lines.lines() {
        roff.text([roman(line.trim())]);
    }
    roff.control("fi", []);
}

#[cfg(test)]
mod tests;
