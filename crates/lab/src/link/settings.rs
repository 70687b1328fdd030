//! A link's settings, the program that it needs, and why there is none.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use ciphertax_model as model;

use crate::error::path::{LinkError, WITHOUT_ROOT};
use crate::locate::{program_in, system_folders};

/// What happens to packets in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Settings {
    /// Half the round-trip time.
    pub(super) one_way: Duration,
    /// Standard deviation of the time one way, in seconds.
    pub(super) sigma: f64,
    /// Bytes per second.
    pub(super) rate: Option<f64>,
}

/// What happens to packets on all ways of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WaySettings {
    pub(super) to_servers: Settings,
    pub(super) between_nodes: Settings,
}

impl TryFrom<&model::Distances> for WaySettings {
    type Error = LinkError;

    fn try_from(distances: &model::Distances) -> Result<Self, LinkError> {
        let of = |link: Option<model::Link>| Settings::try_from(&link.unwrap_or(model::Link::NONE));
        Ok(Self {
            to_servers: of(distances.to_servers)?,
            between_nodes: of(distances.between_nodes)?,
        })
    }
}

impl TryFrom<&model::Link> for Settings {
    type Error = LinkError;

    fn try_from(link: &model::Link) -> Result<Self, LinkError> {
        if let Some((_, problem)) = link.problems().into_iter().next() {
            return Err(LinkError::Settings { problem });
        }
        Ok(Self {
            one_way: link.round_trip() / 2,
            // Both ways are independent, so their variances add up.
            sigma: link.jitter_ms / 1e3 / 2_f64.sqrt(),
            rate: link.bandwidth_mbit.map(|megabits| megabits * 1e6 / 8.0),
        })
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_round_trip_goes_each_way() {
        let link = model::Link {
            rtt_ms: 40.0,
            jitter_ms: 2.0,
            bandwidth_mbit: Some(8.0),
        };
        let settings = Settings::try_from(&link).unwrap();
        assert_eq!(settings.one_way, Duration::from_millis(20));
        assert!((2.0 * settings.sigma.powi(2) - 0.002_f64.powi(2)).abs() < 1e-12);
        assert_eq!(settings.rate, Some(1e6));
    }

    #[test]
    fn what_no_link_can_be_is_refused_by_its_name() {
        let link = |rtt_ms, jitter_ms, bandwidth_mbit| model::Link {
            rtt_ms,
            jitter_ms,
            bandwidth_mbit,
        };
        for (link, setting) in [
            (link(-1.0, 0.0, None), "rtt_ms"),
            (link(f64::NAN, 0.0, None), "rtt_ms"),
            (link(1e9, 0.0, None), "rtt_ms"),
            (link(10.0, -1.0, None), "jitter_ms"),
            (link(10.0, 3.0, None), "jitter_ms"),
            (link(10.0, f64::INFINITY, None), "jitter_ms"),
            (link(10.0, 0.0, Some(0.0)), "bandwidth_mbit"),
            (link(10.0, 0.0, Some(f64::NAN)), "bandwidth_mbit"),
        ] {
            let error = Settings::try_from(&link).unwrap_err().to_string();
            assert!(error.contains(setting), "{error}");
        }
    }
}
