//! The command line: `oxport COMMAND …`. The contract is in `docs/cli.md`.

mod cmd;
#[cfg(unix)]
mod signals;

use clap::Parser;
use cmd::report;
use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(unix)]
    signals::clean_up_on_signals();
    report::finish(execute())
}

fn execute() -> ExitCode {
    let cli = match cmd::Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) if e.use_stderr() => {
            report::print_stderr(cmd::with_suggestion(e).render());
            return ExitCode::from(2);
        }
        Err(e) => {
            report::text(e.render());
            return ExitCode::SUCCESS;
        }
    };
    cmd::run(cli).unwrap_or_else(|e| {
        if !e.is_closed_pipe() {
            report::error(&e);
        }
        ExitCode::from(e.exit_code())
    })
}
