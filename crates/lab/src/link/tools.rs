//! The system's program that a link needs.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::error::LinkError;

/// Where it is although it may not be in `PATH`.
const SYSTEM_FOLDERS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// Where `ip` is, which makes devices and gives them addresses.
///
/// # Errors
/// Names the package it is in.
pub(super) fn find_ip() -> Result<PathBuf, LinkError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .chain(SYSTEM_FOLDERS.map(PathBuf::from))
        .map(|folder| folder.join("ip"))
        .find(|path| path.is_file())
        .ok_or(LinkError::NoTool {
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
