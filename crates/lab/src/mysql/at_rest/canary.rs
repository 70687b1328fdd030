//! A canary in every kind of file that a server writes rows to, and which of them it can be read in.
//!
//! It is written to tables, and held open in what lives as long as a query or a transaction: these wait for a lock that is
//! let go when the disk was searched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;
use ciphertax_wire::mysql::Session;
use ciphertax_wire::sql::SqlSession as _;

use super::Asked;
use super::file_kind::FileKind;
use crate::catalogue::{AtRestControl, MySqlVariant, ServerFamily};
use crate::disk_search::search;
use crate::error::{Error, Result};
use crate::file_system::MountedFileSystem;
use crate::files::unless_gone;
use crate::proof::random_text;
use crate::server::PrivateServer;

/// Options of a server whose disk is to be searched: so little memory that everything reaches the disk. Each server takes
/// those that it has.
pub const DISK_PROOF_OPTIONS: [&str; 6] = [
    "--innodb-buffer-pool-size=8M",
    "--binlog-cache-size=4096",
    "--loose-aria-pagecache-buffer-size=1M",
    "--loose-temptable-max-ram=2097152",
    "--loose-temptable-max-mmap=0",
    "--tmp-table-size=1024",
];

pub(super) const SCHEMA: &str = "ciphertax_at_rest";

const LOCK: &str = "GET_LOCK('ciphertax_at_rest', 170)";

/// The table has two to this power of rows of 250 bytes: more than the buffer pool.
const DOUBLINGS: u32 = 15;

const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// At how many looks in a row, which take two seconds, the number of pages must be the same that are to be flushed, and how
/// long that may take: those of temporary tables need not go. A machine that stands still takes one look, and not many.
const STANDSTILL: u32 = 100;
const FLUSHING: Duration = Duration::from_secs(20);

/// What was found on a server's disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnDisk {
    /// Every kind of file that the server has, and whether the canary can be read in one of them.
    pub kinds: BTreeMap<FileKind, bool>,
    /// Files of no such kind that the canary can be read in, by their paths in the server's folder.
    pub others: BTreeSet<PathBuf>,
    /// Kinds of which the server has files without a name that nobody else can open: a file system in user space does not
    /// find them again. Their ciphertext was searched.
    pub unseen: BTreeSet<FileKind>,
    /// True if the canary can be read in one without a name that a file system's daemon has open for the server.
    pub leaks_beneath: bool,
    /// How many bytes were searched.
    pub bytes: u64,
}

impl OnDisk {
    /// The kinds of files that can be read.
    pub fn readable(&self) -> impl Iterator<Item = FileKind> {
        let readable = self.kinds.iter().filter(|(_, readable)| **readable);
        readable.map(|(kind, _)| *kind)
    }
}

/// Writes a canary to a server that was started with [`DISK_PROOF_OPTIONS`], and searches its disk. The server is good for
/// nothing else then.
///
/// # Errors
/// If it is not of MySQL's family, refuses a statement, ends, or has a file that cannot be read.
pub fn look_at_the_disk(server: &PrivateServer) -> Result<OnDisk> {
    let (asked, variant) = asked(server)?;
    let canary = random_text("canary")?;
    asked.run(async |_, session| plant(session, variant, &canary, DOUBLINGS).await)?;
    thread::scope(|scope| {
        asked
            .run(async |reactor, session| {
                session.query(&format!("SELECT {LOCK}")).await?;
                let held: Vec<Held<'_>> = HELD
                    .iter()
                    .map(|statements| {
                        scope.spawn(move || asked.run(async |_, session| hold(session, statements).await))
                    })
                    .collect();
                while waiting(session).await? < HELD.len() && !held.iter().any(|held| held.is_finished()) {
                    reactor.sleep_until(Instant::now() + LOOK_AGAIN).await;
                }
                flush(reactor, session).await?;
                let on_disk = look(server, canary.as_bytes());
                session.query("DO RELEASE_LOCK('ciphertax_at_rest')").await?;
                Ok((held, on_disk))
            })
            .and_then(|(held, on_disk)| {
                for held in held {
                    let ended = held.join();
                    ended.unwrap_or_else(|_| {
                        Err(Error::set_up(asked.server, "a session with the canary panicked"))
                    })?;
                }
                on_disk
            })
    })
}

/// Writes a single canary to tables of a server that is measured afterwards, searches its disk, and drops the tables.
/// Between, `ask` is run.
pub(super) fn look_in_passing<T>(
    server: &PrivateServer,
    ask: impl FnOnce() -> Result<T>,
) -> Result<(OnDisk, T)> {
    let (asked, variant) = asked(server)?;
    let canary = random_text("canary")?;
    asked.run(async |_, session| {
        plant(session, variant, &canary, 0).await?;
        session.query("FLUSH BINARY LOGS").await.map(drop)
    })?;
    let on_disk = look(server, canary.as_bytes())?;
    let answer = ask()?;
    asked.run(async |_, session| {
        session.query(&format!("DROP DATABASE {SCHEMA}")).await?;
        if variant.at_rest == AtRestControl::KeyringComponent {
            session.query("DROP TABLESPACE general").await?;
        }
        Ok(())
    })?;
    Ok((on_disk, answer))
}

/// Who is asked, and what it is.
pub(in crate::mysql) fn asked(server: &PrivateServer) -> Result<(Asked<'_>, &MySqlVariant)> {
    let (Some(socket), ServerFamily::MySql(variant)) = (server.socket(), &server.entry().family) else {
        let problem = "it has no canary for its disk: it is not of MySQL's family";
        return Err(Error::set_up(server.entry().name, problem));
    };
    let asked = Asked {
        server: server.entry().name,
        socket,
        account: server.default_account(),
    };
    Ok((asked, variant))
}

type Held<'scope> = ScopedJoinHandle<'scope, Result<()>>;

/// What lives only as long as its session: a temporary table; a sort that does not fit into memory; a table that a query
/// makes; a transaction, whose rows are in the undo log and wait for the binary log. Each then waits for the lock.
static HELD: [&[&str]; 4] = [
    &[
        "CREATE TEMPORARY TABLE mine (id INT PRIMARY KEY, v VARCHAR(250)) ENGINE=InnoDB",
        "INSERT INTO mine SELECT * FROM n",
        "SELECT {lock}",
    ],
    &[
        "SET sort_buffer_size = 32768",
        "SELECT SUBSTR(v, 1, 6), {lock} FROM n ORDER BY CONCAT(v, id) LIMIT 20000, 1",
    ],
    &["SELECT {lock} FROM (SELECT DISTINCT CONCAT(id, v) v FROM n) d LIMIT 1"],
    &[
        "SET binlog_format = ROW",
        "BEGIN",
        "UPDATE u SET v = 'nothing'",
        "SELECT {lock}",
        "ROLLBACK",
    ],
];

async fn hold(session: &mut Session, statements: &[&str]) -> Result<(), WireError> {
    session.query(&format!("USE {SCHEMA}")).await?;
    for statement in statements {
        session.query(&statement.replace("{lock}", LOCK)).await?;
    }
    Ok(())
}

async fn plant(
    session: &mut Session,
    variant: &MySqlVariant,
    canary: &str,
    doublings: u32,
) -> Result<(), WireError> {
    const COLUMNS: &str = "(id INT PRIMARY KEY, v VARCHAR(250))";
    let mut statements = vec![
        // Of one byte a letter, so that rows are sorted whole and not by reference.
        format!("CREATE DATABASE {SCHEMA} CHARACTER SET latin1"),
        format!("USE {SCHEMA}"),
        format!("CREATE TABLE n {COLUMNS} ENGINE=InnoDB"),
        format!("INSERT INTO n VALUES (0, CONCAT('{canary}', REPEAT('x', 200)))"),
    ];
    statements
        .extend((0..doublings).map(|power| format!("INSERT INTO n SELECT id + {}, v FROM n", 1 << power)));
    // Of its own, since who reads a table to write what it reads locks it.
    statements.push(format!("CREATE TABLE u {COLUMNS} ENGINE=InnoDB"));
    statements.push("INSERT INTO u SELECT * FROM n WHERE id < 2000".into());
    statements.push(format!("CREATE PROCEDURE p() SELECT '{canary}'"));
    if variant.at_rest == AtRestControl::KeyringComponent {
        statements.push("CREATE TABLESPACE general ADD DATAFILE 'general.ibd'".into());
        statements.push(format!("CREATE TABLE g {COLUMNS} TABLESPACE general"));
        statements.push(format!("INSERT INTO g VALUES (1, '{canary}')"));
        statements.push("FLUSH TABLES g FOR EXPORT".into());
        statements.push("UNLOCK TABLES".into());
    } else {
        statements.push(format!("CREATE TABLE a {COLUMNS} ENGINE=Aria"));
        statements.push(format!("INSERT INTO a VALUES (1, '{canary}')"));
        statements.push("FLUSH TABLES a, mysql.proc".into());
    }
    statements.push("FLUSH TABLES n FOR EXPORT".into());
    statements.push("UNLOCK TABLES".into());
    for statement in statements {
        session.query(&statement).await?;
    }
    Ok(())
}

/// How many sessions wait for the lock.
async fn waiting(session: &mut Session) -> Result<usize, WireError> {
    const STATE: usize = 6;
    let rows = session.query("SHOW FULL PROCESSLIST").await?;
    Ok(rows.iter().filter(|row| row.text(STATE) == "User lock").count())
}

/// Nothing is to stay in memory alone.
async fn flush(reactor: &Rc<Reactor>, session: &mut Session) -> Result<(), WireError> {
    for statement in [
        "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0",
        "SET GLOBAL innodb_max_dirty_pages_pct = 0",
        "FLUSH BINARY LOGS",
    ] {
        session.query(statement).await?;
    }
    let deadline = Instant::now() + FLUSHING;
    let (mut pages, mut still) = (u64::MAX, 0);
    while pages > 0 && still < STANDSTILL && Instant::now() < deadline {
        reactor.sleep_until(Instant::now() + LOOK_AGAIN).await;
        let left = dirty_pages(session).await?;
        still = if left == pages { still + 1 } else { 0 };
        pages = left;
    }
    Ok(())
}

async fn dirty_pages(session: &mut Session) -> Result<u64, WireError> {
    let rows = session
        .query("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")
        .await?;
    Ok(rows
        .first()
        .and_then(|row| row.text(1).parse().ok())
        .unwrap_or_default())
}

/// Searches all files of a server, those without a name too, that it has open.
fn look(server: &PrivateServer, canary: &[u8]) -> Result<OnDisk> {
    let (folder, disk) = (server.folder(), server.disk());
    let (mut kinds, mut others, mut unseen, mut bytes) =
        (BTreeMap::new(), BTreeSet::new(), BTreeSet::new(), 0);
    let mut note = |kind: FileKind, readable: bool| *kinds.entry(kind).or_insert(false) |= readable;
    let below = |file: &Path| {
        let below = file.strip_prefix(&disk).or(file.strip_prefix(folder));
        below.unwrap_or(file).to_owned()
    };
    for searched in folders_and_files_of(server)? {
        for file in files_below(&searched)? {
            if let Some(kind) = FileKind::of(&below(&file)) {
                note(kind, false);
            }
        }
        let searched = search(&searched, canary)?;
        bytes += searched.bytes;
        for sighting in searched.found {
            let file = below(&sighting.path);
            match FileKind::of(&file) {
                Some(kind) => note(kind, true),
                None => drop(others.insert(file)),
            }
        }
    }
    for pid in server.pids() {
        for file in unnamed_files(pid, &disk) {
            match search(&file, canary) {
                Ok(searched) if searched.files > 0 => {
                    bytes += searched.bytes;
                    note(FileKind::TemporaryFile, !searched.found.is_empty());
                }
                // One that is closed meanwhile is on no disk any more.
                _ if fs::symlink_metadata(&file).is_err() => {}
                _ => {
                    note(FileKind::TemporaryFile, false);
                    unseen.insert(FileKind::TemporaryFile);
                }
            }
        }
    }
    let mut leaks_beneath = false;
    let daemon = server
        .file_system()
        .and_then(|file_system| Some((file_system.daemon()?, file_system.beneath())));
    for file in daemon.map_or_else(Vec::new, |(pid, beneath)| unnamed_files(pid, beneath)) {
        if let Ok(searched) = search(&file, canary) {
            bytes += searched.bytes;
            leaks_beneath |= !searched.found.is_empty();
        }
    }
    Ok(OnDisk {
        kinds,
        others,
        unseen,
        leaks_beneath,
        bytes,
    })
}

/// All that is in its folder as the server sees it: what lies beneath a file system of its own is for who proves that.
fn folders_and_files_of(server: &PrivateServer) -> Result<Vec<PathBuf>> {
    let (folder, disk) = (server.folder(), server.disk());
    let beneath = server.file_system().map(MountedFileSystem::beneath);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::read(folder))? {
        let path = entry.map_err(Error::read(folder))?.path();
        if path == disk || beneath != Some(&path) {
            paths.push(path);
        }
    }
    Ok(paths)
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if folder.is_file() {
        files.push(folder.to_owned());
    }
    if !folder.is_dir() {
        return Ok(files);
    }
    let Some(entries) = unless_gone(fs::read_dir(folder)).map_err(Error::read(folder))? else {
        return Ok(files);
    };
    for entry in entries {
        let entry = entry.map_err(Error::read(folder))?;
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(files_below(&entry.path())?),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    Ok(files)
}

/// The files below `folder` that a process has open and that have no name any more.
fn unnamed_files(pid: u32, folder: &Path) -> Vec<PathBuf> {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    let is_unnamed = |file: &PathBuf| {
        let name = fs::read_link(file).unwrap_or_default();
        name.starts_with(folder) && name.to_string_lossy().ends_with(" (deleted)")
    };
    open.flatten()
        .map(|entry| entry.path())
        .filter(is_unnamed)
        .collect()
}
