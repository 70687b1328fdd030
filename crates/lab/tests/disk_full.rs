//! A real private MongoDB whose disk is full, from the start or later: the error names it, nothing hangs or stays.

use ciphertax_testkit::{example, temporary_folder};

use crate::prelude::*;

#[test]
fn a_disk_that_is_too_small_is_refused_before_anything_is_started() {
    let Some(said) = on_a_disk("size=100m", "start") else {
        return;
    };
    assert!(said.contains("refused: the disk is full: "), "{said}");
    says(&said, "350 MB are needed … TMPDIR");
    assert!(said.contains("left: 0"), "{said}");
}

/// Files run out before bytes do, so a server finds no space left although the disk seems to have room: at several
/// points of its start, of which some come after it said that it was ready.
#[test]
fn a_disk_that_fills_up_during_the_start_is_named() {
    let mut named = 0;
    for files in [12, 16, 18, 20, 22, 24, 26, 28] {
        let disk = format!("size=1g,nr_inodes={files}");
        let Some(said) = on_a_disk(&disk, "start") else {
            return;
        };
        assert!(said.contains("left: 0"), "{disk}: {said}");
        if said.contains("refused: ") {
            assert!(said.contains("refused: the disk is full: "), "{disk}: {said}");
            assert!(said.contains("set TMPDIR"), "{disk}: {said}");
            named += 1;
        }
    }
    assert!(named >= 2, "{named}");
}

#[test]
fn a_disk_that_fills_up_while_a_set_is_made_is_named() {
    let Some(said) = on_a_disk("size=2g,nr_inodes=84", "start-set") else {
        return;
    };
    assert!(said.contains("refused: the disk is full: "), "{said}");
    assert!(said.contains("left: 0"), "{said}");
}

#[test]
fn a_disk_that_fills_up_under_a_running_server_ends_it_and_is_named() {
    let Some(said) = on_a_disk("size=450m", "fill") else {
        return;
    };
    assert!(said.contains("a write failed: "), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    says(&said, "ended: the disk is full: mongodb found no space left in ");
    assert!(said.contains("left: 0"), "{said}");
}

/// What comes of a server whose temporary files are on a disk of its own, mounted where only it can see it; `None`
/// where nothing may be mounted.
fn on_a_disk(options: &str, task: &str) -> Option<String> {
    fetched(&MONGODB)?;
    let folder = temporary_folder();
    let can_mount = Command::new("unshare")
        .args(["--mount", "mount", "-t", "tmpfs", "-o", options, "tmpfs"])
        .arg(folder.path())
        .status()
        .is_ok_and(|status| status.success());
    if !can_mount {
        not_tested("no tmpfs may be mounted here, so no disk is full");
        return None;
    }
    let script = r#"mount -t tmpfs -o "$1" tmpfs "$2" && shift 2 && exec "$@""#;
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh", options])
        .arg(folder.path())
        .arg(example("owner"))
        .args(["small-disk", task])
        .env("TMPDIR", folder.path())
        .process_group(0)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
