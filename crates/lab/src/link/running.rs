//! The owner's side of a link.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use ciphertax_model as model;
use ciphertax_supervise::guard::GuardProgram;
use rustix::thread::{CapabilitySet, capabilities};

use super::devices::TUN;
use super::process::{Answer, Endpoints, LinkReport, Request, SOCKET};
use super::settings::{LinkError, WaySettings, find_ip};
use crate::asked_process::{AskedProcess, Role};
use crate::error::{Error, Result};

const ROLE: Role = Role {
    name: "link",
    socket: SOCKET,
    log: "link.log",
};

/// A line of a certain length between this network namespace and one of its own, with TCP's real behaviour. It and
/// everything it made go when this is dropped or when this process ends in whatever way.
#[derive(Debug)]
pub struct RunningLink {
    endpoints: Endpoints,
    process: AskedProcess,
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
        let process = AskedProcess::start::<LinkError>(&ROLE, None, program)?;
        match process
            .ask(&Request::Start(*distances))
            .map_err(LinkError::from)?
        {
            Answer::Started(endpoints) => Ok(Self { endpoints, process }),
            other => Err(LinkError::from(process.nonsense(&other)).into()),
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

    /// Where a server inside, listening on all addresses, is reached at the link's distance.
    pub fn delayed_address(&self) -> IpAddr {
        self.endpoints.delayed.into()
    }

    /// Where the nodes of a server inside reach each other, at their distance, and where they are found by who is told of this
    /// address, at the link's; `None` if they have no distance.
    pub fn nodes_address(&self) -> Option<IpAddr> {
        self.endpoints.nodes.map(IpAddr::from)
    }

    /// Where measured clients reach a server inside.
    pub fn measured_address(&self) -> IpAddr {
        self.nodes_address().unwrap_or(self.delayed_address())
    }

    /// Where the same server is reached without delay, for control connections.
    pub fn direct_address(&self) -> IpAddr {
        self.endpoints.direct.into()
    }

    /// The network namespace in which a server is at the link's distance, as long as the link lives.
    pub fn namespace(&self) -> &Path {
        &self.endpoints.namespace
    }

    /// The link as a tunnel sees it.
    pub(crate) fn far_side(&self) -> FarSide {
        FarSide {
            delayed: self.endpoints.delayed,
            namespace: self.endpoints.namespace.clone(),
        }
    }

    /// Changes the distances for packets sent from now on; connections stay.
    ///
    /// # Errors
    /// If the settings are impossible or the link process is gone.
    pub fn set(&self, distances: &model::Distances) -> Result<()> {
        WaySettings::try_from(distances)?;
        match self.ask(&Request::Set(*distances))? {
            Answer::Set => Ok(()),
            other => Err(self.nonsense(&other)),
        }
    }

    /// What the link did since it was started.
    ///
    /// # Errors
    /// If the link process is gone.
    pub fn report(&self) -> Result<LinkReport> {
        match self.ask(&Request::Report)? {
            Answer::Report(report) => Ok(report),
            other => Err(self.nonsense(&other)),
        }
    }

    /// The link process, which also runs the kernel's receiving side of every packet.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// False once the link process has ended: then nothing travels any more.
    pub fn is_alive(&self) -> bool {
        !self.process.has_ended()
    }

    /// Ends it and removes everything it had. Servers inside should be ended before. Dropping does the same without a
    /// word.
    ///
    /// # Errors
    /// If something could not be removed.
    pub fn stop(mut self) -> Result<()> {
        self.process.stop()
    }

    fn ask(&self, request: &Request) -> Result<Answer> {
        Ok(self.process.ask(request).map_err(LinkError::from)?)
    }

    fn nonsense(&self, answer: &Answer) -> Error {
        LinkError::from(self.process.nonsense(answer)).into()
    }
}

/// What is on the other side of a link, and how it is reached.
#[derive(Debug, Clone)]
pub(crate) struct FarSide {
    /// Where the other side is reached.
    pub(crate) delayed: Ipv4Addr,
    /// Its network namespace.
    pub(crate) namespace: PathBuf,
}

/// How an ordinary user gets the rights that a link needs. The namespaces have a network of their own, which leads nowhere, so
/// what is to be downloaded must be there before.
pub const WITHOUT_ROOT: &str =
    "unshare --user --map-current-user --keep-caps --net sh -c 'ip link set lo up && ciphertax run …'";

/// Finds out whether this process may make devices and namespaces, and whether there are TUN devices that it may open.
///
/// # Errors
/// [`LinkError::NotPermitted`] or [`LinkError::NoTun`], with the remedy.
pub fn check_rights() -> std::result::Result<(), LinkError> {
    let needed = CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN;
    if !capabilities(None).is_ok_and(|sets| sets.effective.contains(needed)) {
        return Err(LinkError::NotPermitted);
    }
    let tun = File::options().read(true).write(true).open(TUN);
    tun.map(drop).map_err(|cause| LinkError::NoTun { cause })
}
