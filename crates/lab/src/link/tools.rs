//! The system's program that a link needs.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::error::LinkError;
use crate::search::{program_in, system_folders};

/// Where `ip` is, which makes devices and gives them addresses.
///
/// # Errors
/// Names the package it is in.
pub(super) fn find_ip() -> Result<PathBuf, LinkError> {
    program_in(&["ip"], &system_folders()).ok_or(LinkError::NoTool {
        program: "ip",
        package: "iproute2",
    })
}

/// What `ip` prints with these arguments, about the namespace of this thread.
pub(super) fn ip<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> io::Result<String> {
    run(arguments, "")
}

/// Lets `ip` do what each line says, in the namespace of this thread. It ends at the first that fails.
pub(super) fn ip_batch(lines: &[String]) -> io::Result<()> {
    run(["-batch", "-"], &(lines.join("\n") + "\n")).map(drop)
}

fn run<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>, input: &str) -> io::Result<String> {
    let program = find_ip().map_err(io::Error::other)?;
    let mut process = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // If it ends before it has read all, its own words say why.
    let _ = process
        .stdin
        .take()
        .map(|mut stdin| stdin.write_all(input.as_bytes()));
    let output = process.wait_with_output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let complaint: Vec<&str> = complaint.lines().map(str::trim).collect();
    Err(io::Error::other(format!("ip says: {}", complaint.join("; "))))
}
