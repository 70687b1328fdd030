//! Statements of the superuser, by the Unix socket, before anybody else is let in.
//!
//! Protocol 3.0 without a login: a start, statements, and their errors.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::accounts::DATABASE;
use super::cluster::SUPERUSER;

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
pub(super) fn run(socket: &Path, statements: &[String]) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
