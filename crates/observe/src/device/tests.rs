use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;

use ciphertax_testkit::{PATIENCE, not_tested, within};

use super::*;

/// A folder on a device, whose use may be anybody's.
fn device_here() -> Option<(tempfile::TempDir, Device)> {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    match Storage::under(folder.path()) {
        Storage::Device(device) => Some((folder, device)),
        other => {
            not_tested(format_args!("this checkout lies on no block device: {other:?}"));
            None
        }
    }
}

#[test]
fn what_is_written_to_a_file_and_flushed_is_written_to_the_device_under_it() {
    const BYTES: usize = 8 << 20;
    let Some((folder, device)) = device_here() else {
        return;
    };
    let before = device.read().unwrap();
    let mut file = File::create(folder.path().join("written")).unwrap();
    // Bytes that no device makes smaller.
    let mut state = 1_u64;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    });
    file.write_all(&noise.take(BYTES).collect::<Vec<_>>()).unwrap();
    file.sync_all().unwrap();
    let used = device.read().unwrap().since(&before);
    assert!(used.written_bytes >= BYTES as u64, "{used:?}");
    assert!(used.writes > 0, "{used:?}");
    // The kernel looks at its clock in steps, which may leave out what is quick.
    let is_busy = || {
        (&file).write_all(b"x").unwrap();
        file.sync_all().unwrap();
        let used = device.read().unwrap().since(&before);
        used.busy_ns > 0 && used.queue_ns > 0
    };
    assert!(within(PATIENCE, is_busy), "{used:?}");
}

#[test]
fn a_file_that_is_flushed_so_often_flushes_the_device_that_has_a_cache_at_least_as_often() {
    const TIMES: u64 = 50;
    let Some((folder, device)) = device_here() else {
        return;
    };
    let cache = fs::read_to_string(format!("/sys/block/{}/queue/write_cache", device.name()));
    if cache.is_ok_and(|cache| cache.trim() != "write back") {
        return not_tested("the device keeps what it acknowledged, so nobody flushes it");
    }
    let mut file = File::create(folder.path().join("flushed")).unwrap();
    file.write_all(&[0; 4096]).unwrap();
    file.sync_all().unwrap();
    let before = device.read().unwrap();
    for _ in 0..TIMES {
        file.write_all(b"x").unwrap();
        file.sync_data().unwrap();
    }
    let used = device.read().unwrap().since(&before);
    let Some(flushes) = used.flushes else {
        return not_tested("the kernel does not count the device's flushes");
    };
    assert!(flushes >= TIMES, "{used:?}");
    assert!(used.writes >= TIMES && used.flush_ns.is_some(), "{used:?}");
}

#[test]
fn what_lies_in_memory_lies_on_no_device() {
    assert!(matches!(
        Storage::under(Path::new("/proc/self")),
        Storage::Unknown(_)
    ));
    assert!(matches!(
        Storage::under(Path::new("/nowhere at all")),
        Storage::Unknown(_)
    ));
    match tempfile::tempdir_in("/dev/shm") {
        Ok(folder) => assert_eq!(Storage::under(folder.path()), Storage::Memory),
        Err(_) => not_tested("there is no file system in memory here"),
    }
}

/// Disks, one with partitions, and what is made of them:
/// `sda` (8:0) with `sda1` (8:1); `sdb` (8:16); `dm-0` of `sda1`; `dm-1` of `dm-0`; `md0` of `sda1` and `sdb`;
/// `loop0` of an image, `loop1` of one that was deleted; `dm-2` of `loop0`.
fn sysfs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (block, devices) = (folder.path().join("dev/block"), folder.path().join("devices"));
    fs::create_dir_all(&block).unwrap();
    let device = |path: &str, numbers: &str| {
        let at = devices.join(path);
        fs::create_dir_all(at.join("slaves")).unwrap();
        fs::write(at.join("dev"), format!("{numbers}\n")).unwrap();
        symlink(&at, block.join(numbers)).unwrap();
        at
    };
    device("pci/sda", "8:0");
    fs::write(device("pci/sda/sda1", "8:1").join("partition"), "1\n").unwrap();
    device("pci/sdb", "8:16");
    let made_of = |path: &str, numbers: &str, parts: &[&str]| {
        let slaves = device(path, numbers).join("slaves");
        for part in parts {
            symlink(devices.join(part), slaves.join(part.rsplit('/').next().unwrap())).unwrap();
        }
    };
    made_of("virtual/dm-0", "253:0", &["pci/sda/sda1"]);
    made_of("virtual/dm-1", "253:1", &["virtual/dm-0"]);
    made_of("virtual/md0", "9:0", &["pci/sda/sda1", "pci/sdb"]);
    let image = |path: &str, numbers: &str, file: &str| {
        let of = device(path, numbers).join("loop");
        fs::create_dir(&of).unwrap();
        fs::write(of.join("backing_file"), format!("{file}\n")).unwrap();
    };
    image("virtual/loop0", "7:0", "/images/with blank");
    image("virtual/loop1", "7:1", "/images/gone (deleted)");
    made_of("virtual/dm-2", "253:2", &["virtual/loop0"]);
    folder
}

/// What lies beneath paths by their numbers, block devices by `node`, on a machine with these mounts.
fn beneath_all(mounts: &str, files: &[(&str, Numbers)], nodes: &[(&str, Numbers)], path: &str) -> Beneath {
    let sys = sysfs();
    let system = System {
        sys: sys.path().to_owned(),
        mountinfo: &|| mounts.to_owned(),
        look: &|path| {
            let of = |all: &[(&str, Numbers)]| {
                all.iter()
                    .find(|(each, _)| Path::new(each) == path)
                    .map(|(_, numbers)| *numbers)
            };
            let (lies_on, node_of) = (of(files), of(nodes));
            lies_on.or(node_of).map(|lies_on| Look { lies_on, node_of })
        },
    };
    system.beneath(Path::new(path))
}

#[test]
fn a_folder_lies_on_the_disk_below_partitions_mapped_devices_and_images() {
    let on = |numbers: Numbers| {
        let files = [("/made-up/data", numbers), ("/images/with blank", (253, 1))];
        beneath_all("", &files, &[], "/made-up/data")
    };
    for numbers in [(8, 0), (8, 1), (253, 0), (253, 1), (7, 0), (253, 2)] {
        assert_eq!(on(numbers), Beneath::Device((8, 0)), "{numbers:?}");
    }
    // Nobody can say which of several does the work, and that image is not seen any more.
    for numbers in [(9, 0), (7, 1), (8, 16)] {
        assert_eq!(on(numbers), Beneath::Device(numbers));
    }
    // sysfs does not have it; whether the kernel counts it is for it to say.
    assert_eq!(on((259, 7)), Beneath::Device((259, 7)));
}

#[test]
fn a_device_made_of_several_counts_no_flushes_of_its_own() {
    let sys = sysfs();
    let system = System {
        sys: sys.path().to_owned(),
        ..System::here()
    };
    assert!(system.is_made_of_others((9, 0)));
    assert!(!system.is_made_of_others((8, 16)) && !system.is_made_of_others((1, 1)));
}

#[test]
fn a_file_system_without_a_device_is_followed_to_what_it_is_made_of() {
    let of = |kind_and_source: &str, options: &str| {
        let mounts = format!(
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:39 / /made-up/data rw shared:1 - {kind_and_source} rw{options}\n"
        );
        let files = [
            ("/made-up/data/db", (0, 41)),
            ("/upper/one", (8, 16)),
            ("/plain", (0, 50)),
        ];
        let nodes = [("/dev/sda1", (8, 1)), ("/dev/dm", (253, 1))];
        beneath_all(&mounts, &files, &nodes, "/made-up/data/db")
    };
    let beneath = of("overlay overlay", ",lowerdir=/l,upperdir=/upper/one,workdir=/w");
    assert_eq!(beneath, Beneath::Device((8, 16)));
    assert_eq!(of("btrfs /dev/dm", ",subvol=/@"), Beneath::Device((8, 0)));
    assert_eq!(of("fuse.gocryptfs /upper/one", ""), Beneath::Device((8, 16)));
    assert_eq!(of("ecryptfs /upper/one", ""), Beneath::Device((8, 16)));
    assert_eq!(of("tmpfs none", ""), Beneath::Memory);
    let unknown = |kind_and_source: &str, options: &str| match of(kind_and_source, options) {
        Beneath::Unknown(why) => why,
        found => panic!("{kind_and_source}: {found:?}"),
    };
    assert_eq!(unknown("zfs pool/data", ""), "a file system of the type zfs");
    assert_eq!(unknown("nfs4 host:/data", ""), "a file system of the type nfs4");
    assert_eq!(unknown("cifs //host/data", ""), "a file system of the type cifs");
    let expected = "a file system of the type fuse.x";
    assert_eq!(unknown("fuse.x /dev/fuse", ""), expected);
    // The upper folder of a container's is on the machine below it.
    assert!(
        unknown("overlay overlay", ",upperdir=/var/lib/x/diff").contains("/var/lib/x/diff cannot be seen")
    );
    assert!(unknown("overlay overlay", ",lowerdir=/l").contains("without an upper folder"));
}

#[test]
fn what_leads_to_itself_ends() {
    let mounts =
        "1 0 0:39 / / rw - fuse.mirror /made-up rw\n2 1 0:40 / /made-up rw - fuse.mirror /made-up/x rw\n";
    let files = [("/made-up", (0, 40)), ("/made-up/x", (0, 40))];
    assert!(matches!(
        beneath_all(mounts, &files, &[], "/made-up/x"),
        Beneath::Unknown(_)
    ));
    // An image that lies in itself.
    let files = [("/images/with blank", (7, 0)), ("/made-up", (7, 0))];
    assert_eq!(beneath_all("", &files, &[], "/made-up"), Beneath::Device((7, 0)));
}

const MOUNTS: &str = "\
    22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/root rw,discard\n\
    23 22 0:44 / /data rw - tmpfs none rw\n\
    24 23 0:45 / /data rw shared:7 master:2 - overlay over rw,lowerdir=/l1:/l2,upperdir=/up\\134,per\\040x,workdir=/w\n\
    a line that is none\n\
    25 22 8:1 /sub /mnt/with\\040blank rw - xfs /dev/sda1 rw\n";

#[test]
fn a_path_lies_in_the_last_mount_that_is_nearest_above_it() {
    let of = |path: &str| Mount::of(MOUNTS, Path::new(path)).unwrap();
    assert_eq!(of("/etc").kind, "ext4");
    assert_eq!(of("/etc").source, Path::new("/dev/root"));
    assert_eq!(of("/database").kind, "ext4");
    assert_eq!(of("/mnt/with blank/x").kind, "xfs");
    let overlay = of("/data/base");
    assert_eq!(overlay.kind, "overlay");
    assert_eq!(overlay.path_in_option("upperdir"), Some("/up,per x".into()));
    assert_eq!(overlay.path_in_option("lowerdir"), Some("/l1:/l2".into()));
    assert_eq!(overlay.path_in_option("none"), None);
    assert_eq!(Mount::of("", Path::new("/")), None);
    assert_eq!(Mount::of("1 2 3:4 / - ext4", Path::new("/")), None);
}

#[test]
fn what_is_no_escape_stays() {
    for (text, path) in [
        ("\\040a", " a"),
        ("\\9", "\\9"),
        ("\\\u{e9}\u{e9}", "\\\u{e9}\u{e9}"),
        ("\\777", "\\777"),
    ] {
        assert_eq!(unescaped(text), Path::new(path));
    }
}
