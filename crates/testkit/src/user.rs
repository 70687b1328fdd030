//! Doing something as an ordinary user, which root alone can arrange.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use ciphertax_supervise::privilege::run_as_reader;

/// An account that is neither root nor `nobody`, whom some systems treat in a way of its own: where systemd speaks for
/// it, sshd finds it locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrdinaryUser {
    /// Its number.
    pub user: u32,
    /// The number of its group.
    pub group: u32,
}

impl OrdinaryUser {
    /// The first one of this machine that has a shell, even if it is one that refuses.
    pub fn find() -> Self {
        fs::read_to_string("/etc/passwd")
            .unwrap()
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>())
            .filter(|fields| Path::new(fields[6]).is_file())
            .map(|fields| Self {
                user: fields[2].parse().unwrap(),
                group: fields[3].parse().unwrap(),
            })
            .find(|found| (1..65_534).contains(&found.user))
            .expect("an account besides root")
    }

    /// Gives it a folder, and all that is in it.
    pub fn give(self, folder: &Path) {
        let changed = Command::new("chown")
            .args(["-R", &format!("{}:{}", self.user, self.group)])
            .arg(folder)
            .status();
        assert!(changed.unwrap().success());
    }

    /// Has it run a command, with no other group than its own.
    pub fn run(self, command: &mut Command) -> &mut Command {
        command.uid(self.user).gid(self.group)
    }

    /// The same, but for the right of root to read all files: programs that were fetched lie where no other user comes.
    pub fn run_as_reader(self, command: &mut Command) -> &mut Command {
        run_as_reader(command, self.user);
        command
    }

    /// True if a process that runs has its rights and no other.
    pub fn has(self, pid: u32) -> bool {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        status.contains(&format!("Uid:\t{}\t", self.user)) && status.contains("CapEff:\t0000000000000000")
    }
}

/// True if the tests are root's.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
