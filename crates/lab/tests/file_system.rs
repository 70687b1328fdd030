//! File systems under a data folder, on the real kernel: what can be read on the disk, and without the key.

use std::ops::Deref;
use std::os::unix::fs::{OpenOptionsExt, chown};

use ciphertax_lab::disk_search::search;
use ciphertax_lab::file_system::MountedFileSystem;
use ciphertax_supervise::PrivateFolder;
use ciphertax_supervise::guard::Guard;
use rustix::io::Errno;

use crate::file_systems_left_behind::loop_devices_of;
use crate::prelude::*;

const MEGABYTES: u64 = 64;

/// What stands in a file, in its name, and in a file from before the file system was mounted.
const CONTENTS: &str = "canary-of-contents-5c1f0f3be7a94bd2";
const NAME: &str = "canary-of-names-0be63f8c21d74a96";
const BEFORE: &str = "canary-from-before-91d4b6f07e2c48aa";

#[test]
fn each_leaves_readable_on_the_disk_what_it_says_and_nothing_else() {
    for kind in FileSystem::ALL {
        let Some(mounted) = Mounted::new(kind) else {
            continue;
        };
        let folder = mounted.folder();
        // In the second of three blocks of a megabyte, across a page of memory.
        let mut contents = vec![b'.'; 3 << 20];
        let at = (1 << 20) + 4096 - 7;
        contents[at..at + CONTENTS.len()].copy_from_slice(CONTENTS.as_bytes());
        fs::write(folder.join(NAME), &contents).unwrap();
        for (canary, is_readable) in [
            (CONTENTS, !kind.is_encrypted()),
            (BEFORE, !kind.is_encrypted()),
            (NAME, !kind.is_encrypted()),
        ] {
            let on_disk = mounted.search_disk(canary.as_bytes()).unwrap();
            let is_found = !on_disk.found.is_empty();
            assert_eq!(is_found, is_readable, "{kind}: {canary}: {on_disk:?}");
            // A search that found nothing has looked at everything.
            let all = on_disk.files > 0 && on_disk.bytes > 3 << 20;
            assert!(is_readable || all, "{kind}: {canary}: {on_disk:?}");
            let by_server = search(folder, canary.as_bytes()).unwrap();
            assert_eq!(by_server.found.len(), 1, "{kind}: {canary}");
        }
    }
}

#[test]
fn what_was_deleted_is_still_on_the_disk_unless_it_was_encrypted() {
    for kind in [FileSystem::Ext4, FileSystem::Fscrypt] {
        let Some(mounted) = Mounted::new(kind) else {
            continue;
        };
        let file = mounted.folder().join("file");
        fs::write(&file, CONTENTS.repeat(1000)).unwrap();
        mounted.flush().unwrap();
        fs::remove_file(&file).unwrap();
        let on_disk = mounted.search_disk(CONTENTS.as_bytes()).unwrap();
        assert_eq!(on_disk.found.is_empty(), kind.is_encrypted(), "{kind}");
    }
}

#[test]
fn what_was_in_the_folder_keeps_its_owners_and_rights() {
    for kind in FileSystem::ALL {
        let Some(mounted) = Mounted::new(kind) else {
            continue;
        };
        let folder = mounted.folder();
        let before = folder.join("inner/before");
        assert_eq!(fs::read_to_string(&before).unwrap(), BEFORE);
        let target = fs::read_link(folder.join("link")).unwrap();
        assert_eq!(target, Path::new("inner/before"));
        let inner = folder.join("inner");
        for (path, mode) in [
            (folder, 0o710),
            (inner.as_path(), 0o750),
            (before.as_path(), 0o640),
        ] {
            let metadata = fs::metadata(path).unwrap();
            assert_eq!(metadata.mode() & 0o7777, mode, "{kind}: {}", path.display());
            assert_eq!(metadata.uid(), owner(), "{kind}: {}", path.display());
        }
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["inner", "link"], "{kind}");
    }
}

#[test]
fn the_kernel_says_what_it_is_and_nothing_stays() {
    for kind in FileSystem::ALL {
        let Some(Mounted { mut guard, mounted }) = Mounted::new(kind) else {
            continue;
        };
        let says = mounted.witness().unwrap();
        let words = match kind {
            FileSystem::Bind => "without a policy of fscrypt",
            FileSystem::Ext4 => "ext4, without a policy of fscrypt",
            FileSystem::Fscrypt => "ext4, encrypted by fscrypt v2: contents AES-256-XTS, names AES-256-CTS",
            FileSystem::Gocryptfs => "fuse.gocryptfs",
        };
        assert!(says.contains(words), "{kind}: {says}");
        assert_eq!(mounted.facts()["file system"], kind.name());
        let private = guard.folder().to_owned();
        let mounts = usize::from(kind != FileSystem::Bind || is_root());
        assert_eq!(mounts_below(&private).unwrap().len(), mounts, "{kind}");
        assert!(!private.join("data.password").exists());
        assert!(!private.join("data.mount").exists());
        // A file in use holds nothing up.
        let _open = File::create(mounted.folder().join("open")).unwrap();
        guard.finish().unwrap();
        assert!(!private.exists());
        drop(_open);
        let is_free = within(PATIENCE, || loop_devices_of(&private).is_empty());
        assert!(is_free, "{kind}");
    }
}

#[test]
fn what_is_written_past_the_kernels_memory_is_on_neither_side_where_that_is_heeded_and_is_dropped_elsewhere()
{
    const BYTES: usize = 4 << 20;
    for kind in FileSystem::ALL {
        let Some(mounted) = Mounted::new(kind) else {
            continue;
        };
        let path = mounted.folder().join("direct");
        let mut options = File::options();
        options.write(true).create_new(true);
        let Ok(mut file) = options.custom_flags(libc::O_DIRECT).open(&path) else {
            not_tested(format_args!(
                "{kind}: the disk of temporary files knows no O_DIRECT"
            ));
            continue;
        };
        // Memory must begin where pages do.
        let memory = vec![b'.'; BYTES + 4096];
        let begin = memory.as_ptr().align_offset(4096);
        file.write_all(&memory[begin..begin + BYTES]).unwrap();
        let beneath = match kind.is_in_an_image() {
            // It has the file system's own tables too, which are written otherwise.
            true => 0,
            false => cached(mounted.beneath()).unwrap().bytes,
        };
        let in_memory = cached(&path).unwrap().bytes.max(beneath);
        let is_direct = in_memory < BYTES as u64 / 4;
        assert_eq!(is_direct, mounted.heeds_direct_io(), "{kind}: {in_memory}");
        drop(file);
        assert_eq!(mounted.drop_cached().unwrap().left.bytes, 0, "{kind}");
    }
}

#[test]
fn without_its_key_nothing_can_be_read() {
    for kind in [FileSystem::Fscrypt, FileSystem::Gocryptfs] {
        let Some(Mounted { mut guard, mounted }) = Mounted::new(kind) else {
            continue;
        };
        let folder = mounted.folder().to_owned();
        let before = folder.join("inner/before");
        mounted.lock(&mut guard).unwrap();
        let error = fs::read(&before).unwrap_err().kind();
        assert_eq!(error, ErrorKind::NotFound, "{kind}");
        let names: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(!names.contains(&folder.join("inner")), "{kind}: {names:?}");
        if kind != FileSystem::Fscrypt {
            assert!(names.is_empty(), "{kind}: {names:?}");
            continue;
        }
        // Names stand for those that are encrypted.
        assert_eq!(names.len(), 2);
        let inner = names.iter().find(|name| name.is_dir()).unwrap();
        let file = fs::read_dir(inner).unwrap().next().unwrap().unwrap().path();
        let error = fs::read(file).unwrap_err();
        assert_eq!(Errno::from_io_error(&error), Some(Errno::NOKEY));
        let error = File::create(folder.join("new")).unwrap_err();
        assert_eq!(Errno::from_io_error(&error), Some(Errno::NOKEY));
    }
}

#[test]
fn a_key_in_use_is_not_gone_and_what_has_none_says_so() {
    let Some(Mounted { mut guard, mounted }) = Mounted::new(FileSystem::Fscrypt) else {
        return;
    };
    let open = File::open(mounted.folder().join("inner/before")).unwrap();
    says(
        mounted.lock(&mut guard).unwrap_err(),
        "files that are open can still be read",
    );
    drop(open);
    mounted.lock(&mut guard).unwrap();
    let Mounted { mut guard, mounted } = Mounted::new(FileSystem::Ext4).unwrap();
    says(mounted.lock(&mut guard).unwrap_err(), "ext4 encrypts nothing");
}

#[test]
fn an_image_is_as_large_as_it_may_be_and_its_disk_must_have_room() {
    let Some(mounted) = Mounted::new(FileSystem::Ext4) else {
        return;
    };
    let on_disk = fs::metadata(mounted.beneath()).unwrap();
    assert!(on_disk.len() <= MEGABYTES * 1_000_000);
    assert!(on_disk.blocks() * 512 < on_disk.len() / 2, "it is not sparse");
    let mut file = File::create(mounted.folder().join("large")).unwrap();
    let megabyte = vec![b'.'; 1_000_000];
    let error = (0..MEGABYTES).find_map(|_| file.write_all(&megabyte).err());
    assert_eq!(error.unwrap().kind(), ErrorKind::StorageFull);

    let mut guard = guard();
    let folder = data_folder(&guard);
    let error = file_system::mount(FileSystem::Ext4, &folder, 1_000_000_000, &mut guard)
        .unwrap_err()
        .to_string();
    says(&error, "the disk is full");
    assert_eq!(mounts_below(guard.folder()).unwrap(), []);
}

/// A file system over a folder that had a link, and a folder with a file.
struct Mounted {
    /// It unmounts when this is dropped.
    guard: Guard,
    mounted: MountedFileSystem,
}

impl Deref for Mounted {
    type Target = MountedFileSystem;

    fn deref(&self) -> &MountedFileSystem {
        &self.mounted
    }
}

impl Mounted {
    /// `None` where there can be none of this kind.
    #[track_caller]
    fn new(kind: FileSystem) -> Option<Self> {
        if let Err(error) = file_system::check(kind) {
            not_tested(format_args!("{kind}: {error}"));
            return None;
        }
        let mut guard = guard();
        let folder = data_folder(&guard);
        let mounted = file_system::mount(kind, &folder, MEGABYTES, &mut guard).unwrap();
        Some(Self { guard, mounted })
    }
}

fn guard() -> Guard {
    Guard::start(
        &GuardProgram::this_program(),
        PrivateFolder::create(MEGABYTES).unwrap(),
    )
    .unwrap()
}

fn data_folder(guard: &Guard) -> std::path::PathBuf {
    let folder = guard.folder().join("data");
    let inner = folder.join("inner");
    fs::create_dir_all(&inner).unwrap();
    fs::write(inner.join("before"), BEFORE).unwrap();
    symlink("inner/before", folder.join("link")).unwrap();
    for (path, mode) in [(&folder, 0o710), (&inner, 0o750), (&inner.join("before"), 0o640)] {
        chown(path, Some(owner()), None).unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    folder
}

/// Servers that refuse to run as root have a user of their own.
fn owner() -> u32 {
    match is_root() {
        true => 65_533,
        false => rustix::process::geteuid().as_raw(),
    }
}
