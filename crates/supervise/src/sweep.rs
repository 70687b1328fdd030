//! Removing what earlier runs left when they and their guards were killed, or the machine went down.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{env, fs};

use rustix::process::{Pid, geteuid};

use crate::child::Process;
use crate::folder::{self, MARKER, PREFIX, remove_folder};
use crate::privilege;

/// How programs of one kind are known to be ours: by their name, and by an argument that leads into a private folder.
/// The folder's name is random, so no foreign process carries it. Unlike a recorded process number it cannot come to
/// mean another process.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// The names of the program files.
    pub programs: &'static [&'static str],
    /// True for an argument by which such a program works in exactly this folder.
    pub works_in: fn(argument: &[u8], folder: &Path) -> bool,
}

/// Removes this user's private folders that nobody holds any more, and ends programs of these kinds that still run in
/// them. Called at every start; what cannot be removed is left for the next one.
pub fn sweep_stale(known: &[Known]) {
    sweep(&env::temp_dir(), known);
}

fn sweep(parent: &Path, known: &[Known]) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        if entry.file_name().as_bytes().starts_with(PREFIX.as_bytes()) {
            sweep_folder(&entry.path(), known);
        }
    }
}

fn sweep_folder(path: &Path, known: &[Known]) {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return;
    };
    if !metadata.is_dir() || metadata.uid() != geteuid().as_raw() {
        return;
    }
    // The lock is held until the folder is gone.
    let Ok(Some(_lock)) = folder::lock_alone(path) else {
        return;
    };
    if path.join(MARKER).exists() {
        end_programs(path, known);
        let _ = remove_folder(path);
    } else {
        // Left between making the folder and marking it; not ours if there is anything in it.
        let _ = fs::remove_dir(path);
    }
}

/// Kills programs of ours in `folder` and waits for their end. Normally there are none: a program dies with its guard.
fn end_programs(folder: &Path, known: &[Known]) {
    let Ok(processes) = fs::read_dir("/proc") else {
        return;
    };
    for process in processes.flatten() {
        let Some(pid) = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
            .and_then(Pid::from_raw)
        else {
            continue;
        };
        // The handle is opened first: what is checked afterwards is checked of the process it stands for.
        let Ok(handle) = Process::open(pid) else {
            continue;
        };
        if known.iter().any(|known| is_ours(&process.path(), folder, known)) {
            // The next start finds what does not die.
            let _ = handle.kill();
        }
    }
}

/// True for a program of this user, or of those that root lets programs run as, and of this kind that was started to
/// work in exactly this folder.
fn is_ours(process: &Path, folder: &Path, known: &Known) -> bool {
    let me = geteuid();
    let user_fits = |user: u32| user == me.as_raw() || (me.is_root() && privilege::RESERVED.contains(&user));
    let same_user = fs::metadata(process).is_ok_and(|metadata| user_fits(metadata.uid()));
    let program_fits = fs::read_link(process.join("exe")).is_ok_and(|exe| {
        exe.file_name()
            .is_some_and(|name| known.programs.iter().any(|program| name == *program))
    });
    let option_fits = fs::read(process.join("cmdline")).is_ok_and(|line| {
        line.split(|byte| *byte == 0)
            .any(|argument| (known.works_in)(argument, folder))
    });
    same_user && program_fits && option_fits
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::PathBuf;
    use std::process::{Child, Command};
    use std::thread;
    use std::time::Duration;

    use super::*;

    const KNOWN: Known = Known {
        programs: &["worker"],
        works_in: |argument, folder| argument == settings_option(folder).as_bytes(),
    };

    fn settings_option(folder: &Path) -> OsString {
        let mut option = OsString::from("--settings=");
        option.push(folder.join("worker.conf"));
        option
    }

    #[test]
    fn a_stale_folder_goes_with_the_program_in_it() {
        let parent = tempfile::tempdir().unwrap();
        let folder = stale_folder(parent.path());
        let mut program = pretend_program(parent.path(), "worker", &folder);
        sweep(parent.path(), &[KNOWN]);
        assert!(!folder.exists());
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&program.wait().unwrap()),
            Some(9)
        );
    }

    #[test]
    fn a_foreign_process_is_never_killed() {
        let parent = tempfile::tempdir().unwrap();
        let folder = stale_folder(parent.path());
        // The same number as a recorded program, the same option but another program, the same program but another
        // folder.
        let mut with_recorded_pid = Command::new("sleep").arg("60").spawn().unwrap();
        fs::write(folder.join("worker.pid"), with_recorded_pid.id().to_string()).unwrap();
        let mut other_program = pretend_program(parent.path(), "another", &folder);
        let mut other_folder = pretend_program(parent.path(), "worker", &parent.path().join("elsewhere"));
        sweep(parent.path(), &[KNOWN]);
        assert!(!folder.exists());
        for process in [&mut with_recorded_pid, &mut other_program, &mut other_folder] {
            let is_running = process.try_wait().unwrap().is_none();
            assert!(is_running, "a foreign process was killed");
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    #[test]
    fn a_folder_in_use_is_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let folder = stale_folder(parent.path());
        let lock = folder::lock_shared(&folder).unwrap().unwrap();
        sweep(parent.path(), &[KNOWN]);
        assert!(folder.exists());
        drop(lock);
        // A child that another test forks meanwhile has the lock too, until it becomes another program.
        let sweeps_it = || {
            sweep(parent.path(), &[KNOWN]);
            !folder.exists()
        };
        assert!(ciphertax_testkit::within(Duration::from_secs(60), sweeps_it));
    }

    #[test]
    fn folders_that_are_not_private_are_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let unmarked = parent.path().join(format!("{PREFIX}results"));
        let run = parent.path().join("ciphertax-quick-1");
        for folder in [&unmarked, &run] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("run.json"), "{}").unwrap();
        }
        fs::write(run.join(MARKER), "").unwrap();
        let target = parent.path().join("precious");
        fs::create_dir(&target).unwrap();
        fs::write(target.join(MARKER), "").unwrap();
        std::os::unix::fs::symlink(&target, parent.path().join(format!("{PREFIX}link"))).unwrap();
        sweep(parent.path(), &[KNOWN]);
        assert!(unmarked.join("run.json").exists());
        assert!(run.join("run.json").exists());
        assert!(target.join(MARKER).exists());
    }

    #[test]
    fn an_empty_folder_left_before_it_was_marked_goes() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join(format!("{PREFIX}empty"));
        fs::create_dir(&folder).unwrap();
        sweep(parent.path(), &[KNOWN]);
        assert!(!folder.exists());
    }

    fn stale_folder(parent: &Path) -> PathBuf {
        let folder = parent.join(format!("{PREFIX}stale"));
        fs::create_dir_all(folder.join("data")).unwrap();
        fs::write(folder.join(MARKER), "").unwrap();
        folder
    }

    /// By a process of its own: a program that this process wrote cannot be run while the child of another test has it
    /// open.
    fn copy_program(from: &str, to: &Path) {
        assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
    }

    /// A shell under the name `program` that was started as if to serve `folder`, and runs already.
    fn pretend_program(parent: &Path, program: &str, folder: &Path) -> Child {
        let bin = tempfile::Builder::new().tempdir_in(parent).unwrap().keep();
        let path = bin.join(program);
        copy_program("/bin/sh", &path);
        let child = Command::new(&path)
            .args(["-c", "read line"])
            .arg(settings_option(folder))
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let process = PathBuf::from(format!("/proc/{}", child.id()));
        let started = || {
            fs::read_link(process.join("exe")).is_ok_and(|exe| exe == path)
                && fs::read(process.join("cmdline")).is_ok_and(|line| line.ends_with(b"/worker.conf\0"))
        };
        while !started() {
            thread::sleep(Duration::from_millis(1));
        }
        child
    }
}
