//! The owner's side of a link.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use ciphertax_model as model;
use ciphertax_supervise::guard::GuardProgram;
use rustix::thread::{CapabilitySet, capabilities};

use super::devices::TUN;
use super::error::LinkError;
use super::protocol::{Answer, Endpoints, Request, SOCKET};
use super::report::LinkReport;
use super::settings::{Settings, WaySettings};
use super::tools::find_ip;
use crate::asked_process::{AskedProcess, Role};
use crate::error::Result;

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
    process: LinkProcess,
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
        let process = LinkProcess::start(program)?;
        match process.ask(&Request::Start(*distances))? {
            Answer::Started(endpoints) => Ok(Self { endpoints, process }),
            other => Err(process.nonsense(&other).into()),
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
        self.process.set(distances)
    }

    /// What the link did since it was started.
    ///
    /// # Errors
    /// If the link process is gone.
    pub fn report(&self) -> Result<LinkReport> {
        self.process.report()
    }

    /// The link process, which also runs the kernel's receiving side of every packet.
    pub fn pid(&self) -> u32 {
        self.process.0.pid()
    }

    /// False once the link process has ended: then nothing travels any more.
    pub fn is_alive(&self) -> bool {
        !self.process.0.has_ended()
    }

    /// Ends it and removes everything it had. Servers inside should be ended before. Dropping does the same without a
    /// word.
    ///
    /// # Errors
    /// If something could not be removed.
    pub fn stop(mut self) -> Result<()> {
        self.process.0.stop()
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

/// A TCP relay to one server that delays bytes by half the round-trip time each way. It needs no rights, but
/// [does not behave like a real line](model::LinkKind::caveat). It goes when this is dropped or when this process ends
/// in whatever way.
#[derive(Debug)]
pub struct DelayRelay {
    address: SocketAddr,
    process: LinkProcess,
}

impl DelayRelay {
    /// Starts a relay to `target`. For `program` see [`RunningLink::start`].
    ///
    /// # Errors
    /// If the settings are impossible, or its process cannot be started or cannot listen.
    pub fn start(link: &model::Link, target: SocketAddr, program: &GuardProgram) -> Result<Self> {
        Settings::try_from(link)?;
        let process = LinkProcess::start(program)?;
        match process.ask(&Request::StartRelay(*link, target))? {
            Answer::RelayStarted(address) => Ok(Self { address, process }),
            other => Err(process.nonsense(&other).into()),
        }
    }

    /// Where clients connect to: 127.0.0.1 and a port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the distance for bytes sent from now on; connections stay.
    ///
    /// # Errors
    /// If the settings are impossible or the relay's process is gone.
    pub fn set(&self, link: &model::Link) -> Result<()> {
        self.process.set(&(*link).into())
    }

    /// What the relay did since it was started.
    ///
    /// # Errors
    /// If the relay's process is gone.
    pub fn report(&self) -> Result<LinkReport> {
        self.process.report()
    }

    /// The relay's process.
    pub fn pid(&self) -> u32 {
        self.process.0.pid()
    }

    /// False once the relay's process has ended.
    pub fn is_alive(&self) -> bool {
        !self.process.0.has_ended()
    }

    /// Ends it and removes its folder. Dropping does the same without a word.
    ///
    /// # Errors
    /// If something could not be removed.
    pub fn stop(mut self) -> Result<()> {
        self.process.0.stop()
    }
}

/// A process that makes a line or relays bytes.
#[derive(Debug)]
struct LinkProcess(AskedProcess);

impl LinkProcess {
    fn start(program: &GuardProgram) -> Result<Self> {
        Ok(Self(AskedProcess::start::<LinkError>(&ROLE, None, program)?))
    }

    fn set(&self, distances: &model::Distances) -> Result<()> {
        WaySettings::try_from(distances)?;
        match self.ask(&Request::Set(*distances))? {
            Answer::Set => Ok(()),
            other => Err(self.nonsense(&other).into()),
        }
    }

    fn report(&self) -> Result<LinkReport> {
        match self.ask(&Request::Report)? {
            Answer::Report(report) => Ok(report),
            other => Err(self.nonsense(&other).into()),
        }
    }

    fn ask(&self, request: &Request) -> std::result::Result<Answer, LinkError> {
        Ok(self.0.ask(request)?)
    }

    fn nonsense(&self, answer: &Answer) -> LinkError {
        self.0.nonsense(answer).into()
    }
}

/// Finds out whether this process may make devices and namespaces, and whether there are TUN devices.
///
/// # Errors
/// [`LinkError::NotPermitted`] or [`LinkError::NoTun`], with the remedy.
pub fn check_rights() -> std::result::Result<(), LinkError> {
    let needed = CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN;
    if !capabilities(None).is_ok_and(|sets| sets.effective.contains(needed)) {
        return Err(LinkError::NotPermitted);
    }
    if !Path::new(TUN).exists() {
        return Err(LinkError::NoTun);
    }
    Ok(())
}
