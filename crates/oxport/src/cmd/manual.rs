//! `oxport completions` and `oxport man`: both made from the definition of the command line.

use super::Cli;
use super::report;
use clap::CommandFactory;
use oxport::{Error, Result};
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints a completion script for a shell.
#[derive(clap::Args)]
pub struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    /// Runs the command; see the module.
    pub fn execute(&self) -> Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "oxport", &mut script);
        report::text(String::from_utf8_lossy(&script));
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints the manual page, or writes the pages of all commands to a folder.
#[derive(clap::Args)]
pub struct Man {
    /// The folder for `oxport.1`, `oxport-run.1`, …, which are replaced
    folder: Option<PathBuf>,
}

impl Man {
    /// Runs the command; see the module.
    pub fn execute(&self) -> Result<ExitCode> {
        let mut command = Cli::command();
        command.build();
        let page = |command: &clap::Command, title: &str| -> Result<Vec<u8>> {
            let mut page = Vec::new();
            let rendered = clap_mangen::Man::new(command.clone()).title(title).render(&mut page);
            rendered.map_err(|e| Error::io("cannot make the page", e))?;
            Ok(page)
        };
        let Some(folder) = &self.folder else {
            report::text(String::from_utf8_lossy(&page(&command, "oxport")?));
            return Ok(ExitCode::SUCCESS);
        };
        std::fs::create_dir_all(folder)
            .map_err(|e| Error::io(format!("cannot make the folder {}", folder.display()), e))?;
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            let name = format!("oxport-{}", sub.get_name());
            oxport_pt2::write_atomic(&folder.join(format!("{name}.1")), &page(sub, &name)?)?;
        }
        oxport_pt2::write_atomic(&folder.join("oxport.1"), &page(&command, "oxport")?)?;
        Ok(ExitCode::SUCCESS)
    }
}
