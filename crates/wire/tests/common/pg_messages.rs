//! Messages of a PostgreSQL, made by hand after the protocol's description
//! (<https://www.postgresql.org/docs/current/protocol-message-formats.html>).

pub(crate) fn message(kind: u8, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[kind], &length[..], body].concat()
}

/// A step of the login.
pub(crate) fn authentication(kind: i32, rest: impl AsRef<[u8]>) -> Vec<u8> {
    message(b'R', [&kind.to_be_bytes(), rest.as_ref()].concat())
}

pub(crate) fn let_in() -> Vec<u8> {
    authentication(0, [])
}

pub(crate) fn setting(name: &str, value: &str) -> Vec<u8> {
    message(b'S', format!("{name}\0{value}\0"))
}

pub(crate) fn key() -> Vec<u8> {
    message(b'K', [7_i32.to_be_bytes(), 8_i32.to_be_bytes()].concat())
}

pub(crate) fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

pub(crate) fn notice() -> Vec<u8> {
    message(b'N', b"SNOTICE\0VNOTICE\0C00000\0Mhear, hear\0\0")
}

pub(crate) fn error(severity: &str, sql_state: &str, text: &str) -> Vec<u8> {
    message(
        b'E',
        format!("S{severity}\0V{severity}\0C{sql_state}\0M{text}\0\0"),
    )
}

/// A login that succeeds without a question, and all that follows it.
pub(crate) fn welcome() -> Vec<u8> {
    [
        let_in(),
        setting("server_version", "15.18"),
        setting("client_encoding", "UTF8"),
        key(),
        ready(),
    ]
    .concat()
}

/// The description of one column, in answer to text.
pub(crate) fn one_column() -> Vec<u8> {
    message(
        b'T',
        b"\0\x01c\0\0\0\0\0\0\0\0\0\0\x19\xFF\xFF\xFF\xFF\xFF\xFF\0\0",
    )
}

pub(crate) fn row(value: &[u8]) -> Vec<u8> {
    let length = (value.len() as u32).to_be_bytes();
    message(b'D', [b"\0\x01", &length[..], value].concat())
}

pub(crate) fn done(tag: &str) -> Vec<u8> {
    message(b'C', format!("{tag}\0"))
}
