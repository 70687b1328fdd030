//! Packets of a server, made by hand after the protocol's description
//! (<https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basics.html>).

/// `CLIENT_PROTOCOL_41`, `CLIENT_SSL`, `CLIENT_SECURE_CONNECTION`, `CLIENT_PLUGIN_AUTH`, `CLIENT_DEPRECATE_EOF`.
const CAPABILITIES: u32 = 0x0200 | 0x0800 | 0x8000 | 0x0008_0000 | 0x0100_0000;
pub(crate) const NONCE: &[u8; 20] = b"abcdefghijklmnopqrst";

pub(crate) const OK: [u8; 7] = [0, 0, 0, 2, 0, 0, 0];

pub(crate) fn packet(sequence: u8, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    let mut packet = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    packet.push(sequence);
    packet.extend_from_slice(payload);
    packet
}

pub(crate) fn greeting(plugin: &str) -> Vec<u8> {
    packet(0, greeting_payload(plugin, 21))
}

/// A greeting that claims a nonce of any length.
pub(crate) fn greeting_payload(plugin: &str, nonce_length: u8) -> Vec<u8> {
    let capabilities = CAPABILITIES.to_le_bytes();
    [
        b"\x0A5.5.5-10.11.6-MariaDB\0".as_slice(),
        &7_u32.to_le_bytes(),
        &NONCE[..8],
        &[0],
        &capabilities[..2],
        &[45, 2, 0],
        &capabilities[2..],
        &[nonce_length],
        &[0; 10],
        &NONCE[8..],
        &[0],
        plugin.as_bytes(),
        &[0],
    ]
    .concat()
}

pub(crate) fn switch(sequence: u8, plugin: &str, nonce: &[u8]) -> Vec<u8> {
    packet(sequence, [b"\xFE", plugin.as_bytes(), b"\0", nonce].concat())
}

pub(crate) fn native_switch(sequence: u8) -> Vec<u8> {
    switch(
        sequence,
        "mysql_native_password",
        &[NONCE.as_slice(), b"\0"].concat(),
    )
}

pub(crate) fn error(sequence: u8, code: u16, message: &str) -> Vec<u8> {
    packet(
        sequence,
        [
            b"\xFF",
            code.to_le_bytes().as_slice(),
            b"#HY000",
            message.as_bytes(),
        ]
        .concat(),
    )
}

/// A greeting and a login that succeeds.
pub(crate) fn welcome() -> Vec<u8> {
    [greeting("mysql_native_password"), packet(2, OK)].concat()
}

/// The number of columns and the definition of one, in answer to a query.
pub(crate) fn one_column() -> Vec<u8> {
    let definition = b"\x03def\0\0\0\x01c\0\x0C\x2D\0\xFF\0\0\0\xFD\0\0\0\0\0";
    [packet(1, [1]), packet(2, definition)].concat()
}

/// The same of two columns.
pub(crate) fn two_columns() -> Vec<u8> {
    let one = one_column();
    let definition = &one[packet(1, [1]).len() + 4..];
    [packet(1, [2]), packet(2, definition), packet(3, definition)].concat()
}

/// The end of rows where `CLIENT_DEPRECATE_EOF` was agreed on.
pub(crate) fn end_of_rows(sequence: u8) -> Vec<u8> {
    packet(sequence, [0xFE, 0, 0, 2, 0, 0, 0])
}

/// A login that ends with the offer of a public key; `caching_sha2_password` first asks for the full path.
pub(crate) fn offer_key(plugin: &str, key: &[u8]) -> Vec<u8> {
    let mut script = greeting("mysql_native_password");
    script.extend(switch(2, plugin, &[NONCE.as_slice(), b"\0"].concat()));
    let mut sequence = 4;
    if plugin == "caching_sha2_password" {
        script.extend(packet(sequence, [1, 4]));
        sequence += 2;
    }
    script.extend(packet(sequence, [b"\x01", key].concat()));
    script
}
