//! Whoever kills the owner of a file system, however hard: neither mount nor loop device nor image nor daemon stays.

use ciphertax_testkit::*;

use crate::prelude::*;

#[test]
fn an_owner_that_ends_by_itself() {
    for kind in kinds() {
        let mut owner = Owner::start(kind);
        drop(owner.process.stdin.take());
        owner.expect_nothing_left();
    }
}

#[test]
fn an_owner_killed_by_sigkill() {
    for kind in kinds() {
        let mut owner = Owner::start(kind);
        owner.process.kill().unwrap();
        owner.expect_nothing_left();
    }
}

#[test]
fn what_stays_when_the_guard_is_killed_too_goes_with_the_next_start() {
    for kind in kinds() {
        let mut owner = Owner::start(kind);
        // First the owner is stopped, so that it cannot clean up.
        kill_process(Pid::from_child(&owner.process), Signal::STOP).unwrap();
        kill_process(owner.guard(), Signal::KILL).unwrap();
        owner.process.kill().unwrap();
        owner.process.wait().unwrap();
        let Owner { parent, folder, .. } = owner;
        let is_over = within(PATIENCE, || processes_with(parent.path()).is_empty());
        assert!(is_over, "{kind}: a daemon still runs");
        assert!(folder.exists());
        let mut next = Owner::start_in(command(kind, parent.path()), parent);
        assert!(!folder.exists(), "{kind}");
        let mounts = mounts_below(next.parent.path()).unwrap();
        let are_its = mounts.iter().all(|mount| mount.at.starts_with(&next.folder));
        assert!(are_its, "{kind}: {mounts:?}");
        assert!(within(PATIENCE, || loop_devices_of(&folder).is_empty()), "{kind}");
        next.process.kill().unwrap();
        next.expect_nothing_left();
    }
}

#[test]
fn an_ordinary_user_has_all_but_images_and_is_told_why() {
    if !is_root() {
        return not_tested("whoever is not root cannot become another user; the other tests have shown it");
    }
    for (kind, instead) in [
        (FileSystem::Ext4, "choose bind"),
        (FileSystem::Fscrypt, "choose gocryptfs"),
    ] {
        let (mut command, _parent) = as_ordinary_user(kind);
        let output = command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        let has_instead = said.contains(&format!("{kind} needs root")) && said.contains(instead);
        assert!(has_instead, "{said}");
    }
    let (command, parent) = as_ordinary_user(FileSystem::Bind);
    let mut owner = Owner::start_in(command, parent);
    owner.process.kill().unwrap();
    owner.expect_nothing_left();
}

#[test]
fn an_ordinary_user_has_gocryptfs() {
    if !is_root() {
        return not_tested("whoever is not root cannot become another user; the other tests have shown it");
    }
    if let Err(error) = file_system::check(FileSystem::Gocryptfs) {
        return not_tested(error);
    }
    let programs = temporary_folder();
    for name in ["gocryptfs", "fusermount3"] {
        let Some(program) = find(name) else {
            return not_tested(format_args!("there is no {name} to copy"));
        };
        copy_program(&program, &programs.path().join(name));
    }
    // As the system's own is.
    let fusermount = programs.path().join("fusermount3");
    fs::set_permissions(&fusermount, Permissions::from_mode(0o4755)).unwrap();
    std::os::unix::fs::symlink(&fusermount, programs.path().join("fusermount")).unwrap();
    let (command, parent) = as_ordinary_user(FileSystem::Gocryptfs);
    let mut command = where_all_may_use_fuse(&command, parent.path());
    command.env("PATH", format!("{}:/usr/bin:/bin", programs.path().display()));
    let mut owner = Owner::start_in(command, parent);
    owner.process.kill().unwrap();
    owner.expect_nothing_left();
}

/// Runs a command of an ordinary user where `/dev/fuse` is for everybody, as on most machines, and nobody else sees it.
fn where_all_may_use_fuse(command: &Command, temporary: &Path) -> Command {
    let user = OrdinaryUser::find();
    let script = format!(
        r#"mknod "$1" c 10 229 && chmod 666 "$1" && mount --bind "$1" /dev/fuse && shift &&
        exec setpriv --reuid={} --regid={} --clear-groups "$@""#,
        user.user, user.group
    );
    let mut inside = owner_command(Path::new("unshare"), temporary);
    inside
        .args(["--mount", "sh", "-c", &script, "sh"])
        .arg(temporary.join("fuse"))
        .arg(command.get_program())
        .args(command.get_args());
    inside
}

/// The kinds that this user can have here.
#[track_caller]
fn kinds() -> Vec<FileSystem> {
    let mut kinds = FileSystem::ALL.to_vec();
    kinds.retain(|kind| match file_system::check(*kind) {
        Ok(()) => true,
        Err(error) => {
            not_tested(format_args!("{kind}: {error}"));
            false
        }
    });
    kinds
}

/// A process that owns a file system among temporary files of its own.
struct Owner {
    process: Child,
    parent: TempDir,
    folder: PathBuf,
}

impl Owner {
    fn start(kind: FileSystem) -> Self {
        let parent = temporary_folder();
        Self::start_in(command(kind, parent.path()), parent)
    }

    fn start_in(mut command: Command, parent: TempDir) -> Self {
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let folder = PathBuf::from(line.split_whitespace().last().unwrap_or_default());
        if !folder.starts_with(parent.path()) {
            let mut said = String::new();
            process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            panic!("it said {line:?} and {said:?}");
        }
        assert!(folder.join("data").exists() || folder.join("disk").exists());
        Self {
            process,
            parent,
            folder,
        }
    }

    /// The only child of the owner.
    fn guard(&self) -> Pid {
        let owner = self.process.id();
        let children = fs::read_to_string(format!("/proc/{owner}/task/{owner}/children")).unwrap();
        Pid::from_raw(children.trim().parse().unwrap()).unwrap()
    }

    fn expect_nothing_left(mut self) {
        self.process.wait().unwrap();
        let is_gone = within(PATIENCE, || !self.folder.exists());
        assert!(is_gone, "the folder is still there");
        assert_eq!(mounts_below(self.parent.path()).unwrap(), []);
        assert!(within(PATIENCE, || processes_with(self.parent.path()).is_empty()));
        // The device is cleared when its last user has let it go.
        assert!(within(PATIENCE, || loop_devices_of(&self.folder).is_empty()));
        let left = folders_in(self.parent.path(), "ciphertax-");
        assert_eq!(left, Vec::<PathBuf>::new());
    }
}

fn command(kind: FileSystem, temporary: &Path) -> Command {
    let mut command = owner_command(&example("owner"), temporary);
    command.args(["file-system", kind.name()]);
    command
}

/// Its own copy of the program, which lies where others do not come.
fn as_ordinary_user(kind: FileSystem) -> (Command, TempDir) {
    let (user, parent) = (OrdinaryUser::find(), temporary_folder());
    let program = parent.path().join("owner");
    copy_program(&example("owner"), &program);
    user.give(parent.path());
    let mut command = owner_command(&program, parent.path());
    command.args(["file-system", kind.name()]);
    user.run(&mut command);
    (command, parent)
}

/// A program of the system, or that the set-up script has unpacked.
fn find(name: &str) -> Option<PathBuf> {
    let folders = ["/usr/bin", "/bin"].map(PathBuf::from);
    let unpacked = ["usr/bin", "bin"].map(|folder| cache().join("ciphertax/tunnels").join(folder));
    let mut paths = folders
        .into_iter()
        .chain(unpacked)
        .map(|folder| folder.join(name));
    paths.find(|path| path.is_file())
}

/// The files of loop devices in a folder.
pub(crate) fn loop_devices_of(folder: &Path) -> Vec<String> {
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    let files = devices.filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok());
    files
        .filter(|file| file.starts_with(folder.to_str().unwrap()))
        .collect()
}

mod test_all {
    use super::*;

    #[test]
    fn a_server_on_one_goes_with_it_however_its_owner_or_its_guard_is_killed() {
        for (entry, kind) in [
            (&MARIADB, FileSystem::Fscrypt),
            (&MONGODB, FileSystem::Gocryptfs),
            (&POSTGRESQL, FileSystem::Gocryptfs),
        ] {
            if fetched(entry).is_none() || !kinds().contains(&kind) {
                continue;
            }
            let with_server = |parent: &Path| {
                let mut command = command(kind, parent);
                command.arg(entry.name);
                command
            };
            let parent = temporary_folder();
            let mut owner = Owner::start_in(with_server(parent.path()), parent);
            owner.process.kill().unwrap();
            owner.expect_nothing_left();

            let parent = temporary_folder();
            let mut owner = Owner::start_in(with_server(parent.path()), parent);
            kill_process(Pid::from_child(&owner.process), Signal::STOP).unwrap();
            kill_process(owner.guard(), Signal::KILL).unwrap();
            owner.process.kill().unwrap();
            owner.process.wait().unwrap();
            let Owner { parent, folder, .. } = owner;
            // gocryptfs becomes its caller's user thread by thread, and whoever changes its user no longer dies with its parent.
            let is_daemon = |process: &String| process.contains("gocryptfs -fg");
            let is_over = within(PATIENCE, || processes_with(parent.path()).iter().all(is_daemon));
            assert!(is_over, "{entry} on {kind} still runs");
            let mut next = Owner::start_in(with_server(parent.path()), parent);
            assert!(!folder.exists(), "{entry} on {kind}");
            let is_over = within(PATIENCE, || processes_with(&folder).is_empty());
            assert!(is_over, "{kind} of {entry} still runs");
            drop(next.process.stdin.take());
            next.expect_nothing_left();
        }
    }
}
