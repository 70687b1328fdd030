//! Where the programs of both ends run.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use ciphertax_supervise::guard::{Ending, Guard, Helper, User};

use crate::error::Result;
use crate::link::FarSide;
use crate::tunnel::half::Half;
use crate::tunnel::process::Side;
use crate::tunnel::program::{Program, run_to_success};

use super::programs::Programs;

/// A mount namespace without a name, held by a process that sleeps, and without a link a network namespace too.
#[derive(Debug)]
pub(super) struct Shelter {
    holder: Half,
    nsenter: Program,
    far: Option<FarSide>,
}

impl Shelter {
    pub(super) fn start(programs: &Programs, guard: &mut Guard) -> Result<Self> {
        let namespaces: &[&str] = match programs.far {
            None => &["--net", "--mount", "--"],
            Some(_) => &["--mount", "--"],
        };
        let mut words = programs.unshare.command_line(namespaces);
        words.extend(programs.sleep.command_line(["infinity"]));
        let helper = Helper {
            command_line: words,
            log: "namespace.log".into(),
            user: User::Owner,
            namespace: None,
            ending: Ending::Terminate,
        };
        let holder = Half::start(guard, "unshare", Side::Server, helper)?;
        let shelter = Self {
            nsenter: programs.nsenter.clone(),
            holder,
            far: programs.far.clone(),
        };
        // unshare becomes sleep once it has done its work.
        let program = shelter.process().join("comm");
        shelter
            .holder
            .wait_until(|| fs::read_to_string(&program).is_ok_and(|name| name.trim() == "sleep"))?;
        // Programs put their sockets into /run: it is one of our own here, and goes with the namespace.
        let mount = programs
            .mount
            .command_line(["-t", "tmpfs", "-o", "mode=0755,size=1m", "tmpfs", "/run"]);
        run_to_success(&shelter.command_line(Side::Server, mount), "")?;
        Ok(shelter)
    }

    /// The words that run a command of an end.
    pub(super) fn command_line(&self, side: Side, command: Vec<OsString>) -> Vec<OsString> {
        let target = format!("--target={}", self.holder.pid());
        let mut words = self.nsenter.command_line([&target, "--mount"]);
        if let Some(network) = self.network(side) {
            let mut word = OsString::from("--net=");
            word.push(network);
            words.push(word);
        }
        words.push("--".into());
        words.extend(command);
        words
    }

    /// The network namespace of an end; `None` for the machine's.
    pub(super) fn network(&self, side: Side) -> Option<PathBuf> {
        match (&self.far, side) {
            (None, _) => Some(self.process().join("ns/net")),
            (Some(far), Side::Server) => Some(far.namespace.clone()),
            (Some(_), Side::Client) => None,
        }
    }

    /// A file as it is seen in here.
    pub(super) fn path(&self, below_root: &str) -> PathBuf {
        self.process().join("root").join(below_root)
    }

    fn process(&self) -> PathBuf {
        Path::new("/proc").join(self.holder.pid().to_string())
    }
}
