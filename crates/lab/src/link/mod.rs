//! Distance between client and server: round-trip time, jitter and bandwidth, the same for all arms.
//!
//! ```text
//!   root namespace                                      namespace of the link
//!            ┌── ct-tun-… ──► queue with delay ──► delayed ──┐
//!   client ──┤            ◄── (link process)   ◄──           ├── server
//!            └── ct-eth-… ◄─────── veth pair ──────► direct ─┘
//! ```
//!
//! A [`RunningLink`] is a small process of ciphertax's own that moves IP packets between two TUN devices, each after
//! its delay. TCP is the kernel's own at both ends, so a SYN travels as slowly as a result, and slow start and windows
//! act as on a real line of that length. Only the server lives in a namespace, because then the client and everything
//! around it need no wrapper: they choose the distance by the address they connect to. The second address is for
//! control connections, which should not wait.
//!
//! Nodes inside may have a distance among themselves. They share one address more, in the namespace, and what one sends to it goes
//! into a third TUN device and comes out of it again, half of their round-trip time later.
//!
//! The namespace has no name and the TUN devices are not persistent: the kernel removes them, and the veth pair with
//! them, when the link process ends, however it ends. What a namespace may keep for a while is removed by the process
//! before it ends, or, if it was killed, by the next link. The process is the child of a
//! [guard](ciphertax_supervise::guard). Addresses come from ranges that are never routed, and only where this machine
//! has neither an address nor a route; no existing interface, route or kernel setting is touched.
//!
//! The kernel's own netem is not used: many kernels lack it, and this way the same code runs, and says how late it was,
//! everywhere.
//!
//! All this needs rights over networks (`CAP_NET_ADMIN`, `CAP_SYS_ADMIN`) in the namespaces that ciphertax runs in: root's,
//! or those that an ordinary user has made ([`WITHOUT_ROOT`]).

mod devices;
mod forward;
mod process;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use ciphertax_model as model;
use ciphertax_supervise::guard::GuardProgram;
use rustix::thread::{CapabilitySet, capabilities};

use crate::error::Result;
use crate::helper_process::{HelperProcess, Role};
use crate::locate::{program_in, system_folders};
use devices::TUN;
use process::{Answer, Request};

pub use crate::error::path::{LinkError, WITHOUT_ROOT};
pub use crate::server::spec::Endpoints;
pub use process::{LinkReport, main};

static ROLE: Role = Role {
    name: "link",
    title: "the link between client and server",
    purpose: "to put a distance between client and server",
};

/// A line of a certain length between this network namespace and one of its own, with TCP's real behaviour. It and
/// everything it made go when this is dropped or when this process ends in whatever way.
#[derive(Debug)]
pub struct RunningLink {
    /// Where it is.
    pub endpoints: Endpoints,
    /// Its process, which also runs the kernel's receiving side of every packet. When it has ended, nothing travels any more. Servers
    /// inside should be ended before it is stopped.
    pub process: HelperProcess,
}

impl RunningLink {
    /// Makes a link with the distances that are given; they can be changed, but neither is added later. It takes some tens of
    /// milliseconds. `program` is also the link's own program, in the role `link` (see
    /// [`main`](super::main)).
    ///
    /// # Errors
    /// If the settings are impossible, if the rights, the kernel's TUN devices or a program is missing, or if devices
    /// or addresses are not available; each with its remedy.
    pub fn start(distances: &model::Distances, program: &GuardProgram) -> Result<Self> {
        WaySettings::try_from(distances)?;
        Self::check()?;
        let process = HelperProcess::start(&ROLE, None, program)?;
        match process.ask(&Request::Start(*distances))? {
            Answer::Started(endpoints) => Ok(Self { endpoints, process }),
            other => Err(process.nonsense(&other)),
        }
    }

    /// Finds out whether this process can have links.
    ///
    /// # Errors
    /// If the rights, the kernel's TUN devices or a program is missing; each with its remedy.
    pub fn check() -> Result<()> {
        check_rights()?;
        find_ip()?;
        Ok(())
    }

    /// Changes the distances for packets sent from now on; connections stay.
    ///
    /// # Errors
    /// If the settings are impossible or the link process is gone.
    pub fn set(&self, distances: &model::Distances) -> Result<()> {
        WaySettings::try_from(distances)?;
        match self.process.ask(&Request::Set(*distances))? {
            Answer::Set => Ok(()),
            other => Err(self.process.nonsense(&other)),
        }
    }

    /// What the link did since it was started.
    ///
    /// # Errors
    /// If the link process is gone.
    pub fn report(&self) -> Result<LinkReport> {
        match self.process.ask(&Request::Report)? {
            Answer::Report(report) => Ok(report),
            other => Err(self.process.nonsense(&other)),
        }
    }
}

/// Finds out whether this process may make devices and namespaces, and whether there are TUN devices that it may open.
///
/// # Errors
/// [`LinkError::NotPermitted`] or [`LinkError::NoTun`], with the remedy.
pub fn check_rights() -> Result<(), LinkError> {
    let needed = CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN;
    if !capabilities(None).is_ok_and(|sets| sets.effective.contains(needed)) {
        return Err(LinkError::NotPermitted);
    }
    let tun = File::options().read(true).write(true).open(TUN);
    tun.map(drop).map_err(LinkError::NoTun)
}

/// What happens to packets in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Settings {
    /// Half the round-trip time.
    one_way: Duration,
    /// Standard deviation of the time one way, in seconds.
    sigma: f64,
    /// Bytes per second.
    rate: Option<f64>,
}

/// What happens to packets on all ways of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
struct WaySettings {
    to_servers: Settings,
    between_nodes: Settings,
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
            return Err(LinkError::Settings(problem));
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
fn find_ip() -> Result<PathBuf, LinkError> {
    program_in(&["ip"], &system_folders()).ok_or(LinkError::NoIp)
}

/// What `ip` prints with these arguments, about the namespace of this thread.
fn ip<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> io::Result<String> {
    run(arguments, "")
}

/// Lets `ip` do what each line says, in the namespace of this thread. It ends at the first that fails.
fn ip_batch(lines: &[String]) -> io::Result<()> {
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
