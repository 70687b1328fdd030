//! Making the data folder of a private server, which PostgreSQL calls a cluster, without any account but the one that
//! only who may read its files can use.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Tenant;
use super::accounts::DATABASE;
use crate::error::{Error, Result};
use crate::locate::Installation;
use crate::server::spec::disk_of;
use crate::template::{DATA, Recipe, no_system_tables, to_its_end};

/// The program that makes it.
pub(super) const INITDB: &str = "initdb";

/// The user that may do everything, and has no password: see [`super::pg_hba`].
pub(super) const SUPERUSER: &str = "postgres";

/// Space that a server and a data set in memory need, in megabytes: its data folder 40 MB, and WAL.
pub(super) const NEEDED_MB: u64 = 600;

/// A data folder as `initdb` makes it.
pub(super) fn recipe(installation: &Installation) -> Recipe<'_> {
    Recipe {
        installation,
        needed_mb: NEEDED_MB,
        make: Box::new(|folder| make(installation, folder)),
    }
}

/// Where the data of the server in `folder` are.
pub(super) fn data_of(folder: &Path) -> PathBuf {
    disk_of(folder).join(DATA)
}

/// What the processes of the server in `folder` call themselves in process lists: the folder's name, which is random.
pub(super) fn name_of(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The first process of a server is known by its data folder. The others write their title over their arguments, as in
/// `postgres: NAME: walwriter`.
pub(super) fn works_in(argument: &[u8], folder: &Path) -> bool {
    let title = format!("postgres: {}: ", name_of(folder));
    Path::new(OsStr::from_bytes(argument)) == data_of(folder) || argument.starts_with(title.as_bytes())
}

/// Makes it in `folder`, which must be empty.
fn make(installation: &Installation, folder: &Path) -> Result<()> {
    let data = &folder.join(DATA);
    let tenant = Tenant::with_name();
    tenant.give(folder)?;
    let words = installation.companion(INITDB);
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .arg("-D")
        .arg(data)
        .args([
            "--username",
            SUPERUSER,
            // There is a pg_hba.conf before it is copied.
            "--auth=reject",
            "--encoding=UTF8",
            "--locale=C",
            // It is copied, so that there is nothing to keep.
            "--no-sync",
            "--no-instructions",
        ])
        // The user's own may be none that the machine has.
        .env("LC_ALL", "C")
        .current_dir(folder)
        .stdout(Stdio::null());
    tenant.run(&mut command);
    if !to_its_end(&mut command, folder, "")? {
        return Err(no_system_tables(installation.entry(), folder));
    }
    tenant.take_back(folder)?;
    // It is replaced by one of ours.
    let configuration = data.join("postgresql.conf");
    fs::remove_file(&configuration).map_err(Error::write(&configuration))
}

/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest message that is read, in bytes.
const LONGEST_MESSAGE: usize = 1 << 20;

/// Protocol 3.0.
const VERSION: u32 = 3 << 16;

/// Messages of the server, by their first byte.
const AUTHENTICATION: u8 = b'R';
const ERROR: u8 = b'E';
const READY: u8 = b'Z';

/// Runs statements, all or none.
///
/// They are the superuser's, by the Unix socket, before anybody else is let in. Protocol 3.0 without a login: a start, statements, and
/// their errors.
pub(super) fn run_statements(socket: &Path, statements: &[String]) -> io::Result<()> {
    let mut server = UnixStream::connect(socket)?;
    server.set_read_timeout(Some(PATIENCE))?;
    server.set_write_timeout(Some(PATIENCE))?;
    let mut start = VERSION.to_be_bytes().to_vec();
    for word in ["user", SUPERUSER, "database", DATABASE, ""] {
        start.extend(word.as_bytes());
        start.push(0);
    }
    server.write_all(&with_length(&start)?)?;
    until_ready(&mut server)?;
    let mut query = statements.join(";\n").into_bytes();
    query.push(0);
    server.write_all(b"Q")?;
    server.write_all(&with_length(&query)?)?;
    until_ready(&mut server)?;
    server.write_all(b"X")?;
    server.write_all(&with_length(&[])?)
}

/// Reads until the server waits for a statement, or says what is wrong.
fn until_ready(server: &mut impl Read) -> io::Result<()> {
    let mut error = None;
    loop {
        let (kind, body) = match message(server) {
            Ok(message) => message,
            // It hangs up after an error.
            Err(problem) => return Err(error.unwrap_or(problem)),
        };
        match kind {
            ERROR => error = Some(io::Error::other(text_of(&body))),
            AUTHENTICATION if body != [0; 4] => return Err(io::Error::other("the server asks for a login")),
            READY => return error.map_or(Ok(()), Err),
            _ => {}
        }
    }
}

fn message(server: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    server.read_exact(&mut head)?;
    let [kind, length @ ..] = head;
    // The length counts itself.
    let length = (u32::from_be_bytes(length) as usize).checked_sub(4);
    let length = length.filter(|length| *length <= LONGEST_MESSAGE);
    let length =
        length.ok_or_else(|| io::Error::other("the server sends a message of no sensible length"))?;
    let mut body = vec![0; length];
    server.read_exact(&mut body)?;
    Ok((kind, body))
}

/// The words of an error: its field `M`.
fn text_of(body: &[u8]) -> String {
    let mut fields = body.split(|byte| *byte == 0);
    let words = fields.find_map(|field| field.strip_prefix(b"M"));
    words.map_or("an error without words".into(), |words| {
        String::from_utf8_lossy(words).into_owned()
    })
}

fn with_length(body: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(body.len() + 4).map_err(io::Error::other)?;
    Ok([&length.to_be_bytes(), body].concat())
}

/// The line of `postmaster.pid` that holds the segment's key and number; the first holds the number of the process.
const SEGMENT_LINE: usize = 7;

/// Has the segment of the server in `folder` go with the server. One that the server makes anew after one of its
/// processes was killed is removed by the server alone.
///
/// Besides its memory proper, which ends with its processes, a server has a segment of System V of a few bytes, by which a second
/// server of the same data folder would notice the first. Nobody starts a second one here. A segment that is removed while it is in
/// use goes with the last process that uses it, however that ends.
pub(super) fn let_it_go_with_the_server(folder: &Path) -> io::Result<()> {
    let text = fs::read_to_string(data_of(folder).join("postmaster.pid"))?;
    let Some((process, segment)) = segment_in(&text) else {
        return Ok(());
    };
    // SAFETY: an all-zero state of a segment is valid: zero numbers.
    let mut state: libc::shmid_ds = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a local that outlives the call.
    let found = unsafe { libc::shmctl(segment, libc::IPC_STAT, &mut state) } == 0;
    if !found || state.shm_cpid != process {
        return Ok(());
    }
    // SAFETY: the pointer is not used for a removal.
    match unsafe { libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn segment_in(text: &str) -> Option<(libc::pid_t, libc::c_int)> {
    let process = text.lines().next()?.trim().parse().ok()?;
    let line = text.lines().nth(SEGMENT_LINE - 1)?;
    let segment = line.split_whitespace().nth(1)?.parse().ok()?;
    Some((process, segment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_its_data_and_its_name() {
        let folder = Path::new("/tmp/ciphertax-server-it");
        for (argument, is_ours) in [
            ("/tmp/ciphertax-server-it/disk/data", true),
            ("/tmp/ciphertax-server-it2/disk/data", false),
            ("/tmp/ciphertax-server-it", false),
            ("postgres: ciphertax-server-it: walwriter ", true),
            ("postgres: ciphertax-server-it2: walwriter ", false),
            ("postgres: walwriter", false),
        ] {
            assert_eq!(works_in(argument.as_bytes(), folder), is_ours, "{argument}");
        }
    }

    #[test]
    fn an_error_is_told_in_the_servers_words() {
        let mut answer: &[u8] = b"E\0\0\0\x17SERROR\0C42601\0Mno\0\0Z\0\0\0\x05I";
        assert_eq!(until_ready(&mut answer).unwrap_err().to_string(), "no");
    }

    #[test]
    fn a_server_that_asks_for_a_login_or_hangs_up_is_no_server_of_ours() {
        let mut asks: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
        assert!(until_ready(&mut asks).unwrap_err().to_string().contains("login"));
        let mut hangs_up: &[u8] = b"R\0\0\0\x08\0\0\0\0";
        assert_eq!(
            until_ready(&mut hangs_up).unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
        let mut endless: &[u8] = b"Z\xff\xff\xff\xff";
        assert!(
            until_ready(&mut endless)
                .unwrap_err()
                .to_string()
                .contains("length")
        );
    }

    #[test]
    fn the_segment_is_read() {
        let text = "32462\n/tmp/a/data\n1795337343\n23456\n.\n127.0.0.1\n  9996946        19\nready   \n";
        assert_eq!(segment_in(text), Some((32462, 19)));
        assert_eq!(segment_in("32462\n/tmp/a/data\n"), None);
    }
}
