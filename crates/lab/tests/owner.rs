//! A process that owns servers or tunnels among temporary files of its own, and ends however the tests have it end.

use ciphertax_testkit::{folders_in, is_running, parent_of};

use crate::prelude::*;

pub(crate) struct Owner {
    pub(crate) process: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) parent: TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) folder: PathBuf,
    /// The processes that serve there.
    pub(crate) pids: Vec<u32>,
    /// How the folders begin that it may not leave; empty for all.
    pub(crate) prefix: &'static str,
}

impl Owner {
    pub(crate) fn start(mut command: Command, parent: TempDir) -> Self {
        let mut process = command.spawn().unwrap();
        let (address, folder, pids) = said_by(&mut process);
        let owner = Self {
            stdin: process.stdin.take(),
            process,
            parent,
            address,
            folder,
            pids,
            prefix: "",
        };
        assert!(owner.runs());
        assert!(owner.folder.starts_with(owner.parent.path()));
        owner
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// The guard is the parent of what serves.
    pub(crate) fn guard(&self) -> Pid {
        Pid::from_raw(parent_of(self.pids[0]).unwrap().cast_signed()).unwrap()
    }

    /// By which the processes of a PostgreSQL name themselves.
    pub(crate) fn name(&self) -> String {
        self.folder.file_name().unwrap().to_str().unwrap().to_owned()
    }

    pub(crate) fn runs(&self) -> bool {
        self.pids.iter().any(|pid| is_running(*pid))
    }

    pub(crate) fn kill(&self) {
        kill_process(self.pid(), Signal::KILL).unwrap();
    }

    /// Kills its guard when it cannot clean up itself, since it is stopped, and then it too; returns what is left.
    pub(crate) fn kill_with_guard(mut self) -> (TempDir, PathBuf) {
        kill_process(self.pid(), Signal::STOP).unwrap();
        kill_process(self.guard(), Signal::KILL).unwrap();
        assert!(within(PATIENCE, || !self.runs()));
        self.kill();
        self.process.wait().unwrap();
        assert!(self.folder.exists());
        (self.parent, self.folder)
    }

    pub(crate) fn killed_leaves_nothing(self) {
        self.kill();
        self.expect_nothing_left();
    }

    pub(crate) fn expect_nothing_left(mut self) {
        self.process.wait().unwrap();
        assert!(within(PATIENCE, || !self.runs()), "{:?} still run", self.pids);
        let in_time = within(PATIENCE, || !self.folder.exists());
        assert!(in_time, "the folder is still there");
        let in_time = within(PATIENCE, || processes_with(self.parent.path()).is_empty());
        assert!(in_time, "{:?}", processes_with(self.parent.path()));
        assert_eq!(folders_in(self.parent.path(), self.prefix), Vec::<PathBuf>::new());
        assert!(TcpStream::connect(self.address).is_err());
    }
}

/// What an owner says in its first line, in any order: an address, a folder, and processes with commas between them.
pub(crate) fn said_by(process: &mut Child) -> (SocketAddr, PathBuf, Vec<u32>) {
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let words = || line.split_whitespace();
    let address = words().find_map(|word| word.parse().ok());
    let folder = words().find(|word| Path::new(word).is_absolute());
    let pids = words().find_map(|word| word.split(',').map(|pid| pid.parse().ok()).collect());
    match (address, folder, pids) {
        (Some(address), Some(folder), Some(pids)) => (address, folder.into(), pids),
        _ => panic!("it said {line:?}"),
    }
}
