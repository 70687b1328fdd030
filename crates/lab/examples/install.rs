//! Installs the servers that its arguments name, as `ciphertax servers install` does, and says what it does.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use ciphertax_lab::{catalogue, install};

fn main() -> ExitCode {
    for name in std::env::args().skip(1) {
        let Some(entry) = catalogue::find(&name) else {
            eprintln!("there is no server {name}");
            return ExitCode::from(2);
        };
        let outcome = install(entry, &AtomicBool::new(false), &mut |step| {
            println!("{name}: {step}");
        });
        match outcome {
            Ok(installation) => println!("{name}: {}", installation.program().display()),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}
