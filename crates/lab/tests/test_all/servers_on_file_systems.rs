//! Real servers of every family on file systems of their own: what lies beneath these, and what becomes of a server whose
//! file system fills up or ends.

use ciphertax_supervise::namespace::unmount;

use crate::prelude::*;

/// A text that is in files of each server's own, and in its file names.
const KNOWN: [(&Entry, &str); 4] = [
    (&MARIADB, "innodb_table_stats"),
    (&MYSQL, "innodb_table_stats"),
    (&MONGODB, "WiredTiger"),
    (&POSTGRESQL, "cluster_name"),
];

#[test]
fn mariadb_writes_beneath_every_file_system_what_that_leaves_readable() {
    writes_what_is_left_readable(KNOWN[0], &FileSystem::ALL);
}

#[test]
fn mysql_writes_beneath_a_file_system_what_that_leaves_readable() {
    writes_what_is_left_readable(
        KNOWN[1],
        &[FileSystem::Ext4, FileSystem::Fscrypt, FileSystem::Gocryptfs],
    );
}

#[test]
fn mongodb_writes_beneath_a_file_system_what_that_leaves_readable() {
    writes_what_is_left_readable(
        KNOWN[2],
        &[FileSystem::Ext4, FileSystem::Fscrypt, FileSystem::Gocryptfs],
    );
}

#[test]
fn postgresql_writes_beneath_a_file_system_what_that_leaves_readable() {
    writes_what_is_left_readable(
        KNOWN[3],
        &[FileSystem::Ext4, FileSystem::Fscrypt, FileSystem::Gocryptfs],
    );
}

fn writes_what_is_left_readable((entry, known): (&'static Entry, &str), kinds: &[FileSystem]) {
    for kind in kinds {
        let Some(builder) = on(entry, *kind) else { continue };
        let server = builder.start().unwrap();
        let proved = server.prove_file_system("arm").unwrap();
        let readability = match kind.is_encrypted() {
            true => Readability::Encrypted,
            false => Readability::Readable,
        };
        let said = [
            proved.disk.of("files on the disk"),
            proved.disk.of("names of files"),
        ];
        assert_eq!(said, [Some(readability); 2], "{entry} on {kind}");
        let was_searched = proved.disk.searched_bytes > 1 << 20;
        assert!(was_searched, "{entry} on {kind}: {proved:?}");

        // What this test finds by itself, in what the server wrote by itself.
        let mounted = server.file_system().unwrap();
        assert!(holds(mounted.folder(), known), "{entry} has no {known:?}");
        mounted.flush().unwrap();
        let is_readable = holds(mounted.beneath(), known);
        assert_eq!(is_readable, !kind.is_encrypted(), "{entry} on {kind}");

        let (folder, disk) = (server.folder().to_owned(), server.disk());
        server.stop().unwrap();
        assert!(!folder.exists() && !disk.exists(), "{entry} on {kind}");
    }
}

#[test]
fn what_the_kernel_keeps_of_a_servers_files_is_dropped_on_each_side_of_its_file_system() {
    for kind in [None, Some(FileSystem::Fscrypt), Some(FileSystem::Gocryptfs)] {
        let builder = match kind {
            None => Some(PrivateServer::builder(&MARIADB).without_tls()),
            Some(kind) => on(&MARIADB, kind),
        };
        let Some(builder) = builder else { continue };
        let buffered = Storage {
            flush: Some(FlushMethod::Buffered),
            ..Storage::default()
        };
        let server = builder.storage(buffered).start().unwrap();
        let proved = server.prove_file_system("arm").unwrap();
        let is_encrypted = proved.disk.of("files on the disk") == Some(Readability::Encrypted);
        assert_eq!(is_encrypted, kind.is_some());
        let beneath = server
            .file_system()
            .map_or(server.disk(), |mounted| mounted.beneath().to_owned());
        let in_memory = || {
            cached(&server.disk())
                .unwrap()
                .bytes
                .max(cached(&beneath).unwrap().bytes)
        };
        // Whoever reads the files has them in memory.
        let read = read_all(&server.disk());
        // FUSE forgets what it has of a file when it is opened anew, and its daemon's files stay.
        assert!(in_memory() > read / 2, "{kind:?}: {} of {read}", in_memory());
        let left = server.drop_cached().unwrap().left;
        let still = in_memory();
        // The server writes meanwhile, and maps some.
        let is_forgotten = left.files > 10 && left.bytes < read / 10 && still < read / 10;
        assert!(is_forgotten, "{kind:?}: {left:?} {still} {read}");
        server.stop().unwrap();
    }
}

#[test]
fn an_image_without_room_is_named_with_the_remedy_from_the_start_or_later() {
    let Some(builder) = on(&MARIADB, FileSystem::Ext4) else {
        return;
    };
    let error = builder.clone().disk_mb(30).start().unwrap_err().to_string();
    let words = "the disk is full: mariadb found no space left on its ext4";
    assert!(error.contains(words), "{error}");
    says(&error, "on gocryptfs and bind");

    let server = builder.start().unwrap();
    let mut file = File::create(server.disk().join("large")).unwrap();
    let block = vec![b'.'; 1 << 20];
    let error = std::iter::repeat_with(|| file.write_all(&block)).find_map(Result::err);
    assert_eq!(error.unwrap().kind(), ErrorKind::StorageFull);
    server.kill_member(server.address()).unwrap();
    assert!(within(PATIENCE, || !server.is_alive()));
    let said = server.log_tail();
    let beginning = "the disk is full: mariadb found no space left on its ext4";
    assert!(said.starts_with(beginning), "{said}");
    server.stop().unwrap();
}

#[test]
fn a_daemon_that_is_killed_is_named_and_nothing_is_left() {
    let Some(builder) = on(&MARIADB, FileSystem::Gocryptfs) else {
        return;
    };
    let server = builder.start().unwrap();
    assert!(server.is_alive() && server.end_of_file_system().is_none());
    let daemon = server.file_system().unwrap().workers().own[0].pid;
    kill_process(Pid::from_raw(daemon.cast_signed()).unwrap(), Signal::KILL).unwrap();
    assert!(within(PATIENCE, || !server.is_alive()));
    let said = server.log_tail();
    let beginning = "gocryptfs, the server's file system, ended";
    assert!(said.starts_with(beginning), "{said}");
    let folder = server.folder().to_owned();
    server.stop().unwrap();
    assert!(!folder.exists());
    assert_eq!(
        mounts_below(folder.parent().unwrap())
            .unwrap()
            .iter()
            .filter(|mount| mount.at.starts_with(&folder))
            .count(),
        0
    );
}

#[test]
fn a_file_system_that_is_not_there_any_more_is_disproved() {
    let Some(builder) = on(&MARIADB, FileSystem::Ext4) else {
        return;
    };
    let server = builder.start().unwrap();
    unmount(&server.disk()).unwrap();
    says(
        server.prove_file_system("arm").unwrap_err(),
        "arm arm … is not the ext4 it was to be",
    );
}

/// One without TLS; `None` where there can be none.
#[track_caller]
fn on(entry: &'static Entry, kind: FileSystem) -> Option<PrivateServerBuilder> {
    fetched(entry)?;
    if let Err(error) = file_system::check(kind) {
        not_tested(format_args!("{kind}: {error}"));
        return None;
    }
    let at_rest = AtRest {
        file_system: Some(kind),
        ..AtRest::default()
    };
    Some(PrivateServer::builder(entry).without_tls().at_rest(at_rest))
}

/// True if a file, or one in a folder, has this text in it.
fn holds(path: &Path, text: &str) -> bool {
    files(path)
        .iter()
        .any(|file| fs::read(file).is_ok_and(|bytes| contains(&bytes, text)))
}

/// Reads all files, and says how many bytes they are.
fn read_all(folder: &Path) -> u64 {
    files(folder)
        .iter()
        .map(|file| fs::read(file).map_or(0, |bytes| bytes.len() as u64))
        .sum()
}

fn files(path: &Path) -> Vec<PathBuf> {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().flat_map(|entry| files(&entry.path())).collect(),
        Err(_) if path.is_file() => vec![path.to_owned()],
        Err(_) => Vec::new(),
    }
}
