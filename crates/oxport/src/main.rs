//! The command line: `oxport COMMAND …`. The contract is in `docs/cli.md`.

mod cmd;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cmd::Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            let _ = e.print();
            return ExitCode::from(if e.use_stderr() { 2 } else { 0 });
        }
    };
    match cmd::run(cli) {
        Ok(code) => code,
        Err(e) => {
            cmd::report::error(&e);
            ExitCode::from(e.exit_code())
        }
    }
}
