//! The first messages of a handshake, as far as they are unencrypted, whatever the back end.

/// Notes the size of the first ClientHello and what the server answered.
#[derive(Debug, Default)]
pub(crate) struct HelloWatch {
    client_hello: Head<{ RECORD_HEADER + HANDSHAKE_HEADER }>,
    server_hello: Head<SERVER_HELLO_BYTES>,
}

/// The `random` of a ServerHello that is a HelloRetryRequest (RFC 8446, section 4.1.3).
const HELLO_RETRY_REQUEST: [u8; 32] = [
    0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91, 0xC2,
    0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
];
const RECORD_HEADER: usize = 5;
const HANDSHAKE_HEADER: usize = 4;
const SERVER_HELLO: u8 = 2;
const RANDOM_AT: usize = RECORD_HEADER + HANDSHAKE_HEADER + 2;
const RANDOM: usize = 32;
const SESSION_TICKET: [u8; 2] = 35_u16.to_be_bytes();
/// Enough for a ServerHello of TLS 1.2 with all extensions that servers answer with.
const SERVER_HELLO_BYTES: usize = 256;

/// The first bytes of a direction.
#[derive(Debug)]
struct Head<const SIZE: usize> {
    bytes: [u8; SIZE],
    length: usize,
}

impl HelloWatch {
    pub(crate) fn sent(&mut self, bytes: &[u8]) {
        self.client_hello.add(bytes);
    }

    pub(crate) fn received(&mut self, bytes: &[u8]) {
        self.server_hello.add(bytes);
    }

    /// Size of the first ClientHello with its header, in bytes.
    pub(crate) fn client_hello_bytes(&self) -> u32 {
        let [high, middle, low] = match self
            .client_hello
            .bytes
            .get(RECORD_HEADER + 1..RECORD_HEADER + HANDSHAKE_HEADER)
        {
            Some(&[high, middle, low]) => [high, middle, low],
            _ => return 0,
        };
        u32::from_be_bytes([0, high, middle, low]) + HANDSHAKE_HEADER as u32
    }

    pub(crate) fn hello_retry_request(&self) -> bool {
        let head = &self.server_hello.bytes;
        head[RECORD_HEADER] == SERVER_HELLO && head[RANDOM_AT..][..RANDOM] == HELLO_RETRY_REQUEST
    }

    /// True if the server said that it will give a ticket (RFC 5077, section 3.2), which it says in TLS 1.2 and older.
    pub(crate) fn ticket_follows(&self) -> bool {
        self.server_hello.bytes[RECORD_HEADER] == SERVER_HELLO
            && self.server_extensions().is_some_and(has_ticket)
    }

    /// The extensions of the ServerHello, as far as they were kept: after the random come a session id with its length,
    /// the suite (2), the compression (1) and their own length (2).
    fn server_extensions(&self) -> Option<&[u8]> {
        let rest = self.server_hello.heard().get(RANDOM_AT + RANDOM..)?;
        let id = usize::from(*rest.first()?);
        let rest = rest.get(1 + id + 2 + 1..)?;
        let &[high, low, ref extensions @ ..] = rest else {
            return None;
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        Some(&extensions[..length.min(extensions.len())])
    }
}

/// True if the extension `session_ticket` is among these; each is a type, a length of two bytes and as many bytes.
fn has_ticket(mut extensions: &[u8]) -> bool {
    while let &[kind_high, kind_low, high, low, ref rest @ ..] = extensions {
        if [kind_high, kind_low] == SESSION_TICKET {
            return true;
        }
        let length = usize::from(u16::from_be_bytes([high, low]));
        extensions = rest.get(length..).unwrap_or_default();
    }
    false
}

impl<const SIZE: usize> Default for Head<SIZE> {
    fn default() -> Self {
        Self {
            bytes: [0; SIZE],
            length: 0,
        }
    }
}

impl<const SIZE: usize> Head<SIZE> {
    fn heard(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn add(&mut self, bytes: &[u8]) {
        let count = bytes.len().min(self.bytes.len() - self.length);
        self.bytes[self.length..][..count].copy_from_slice(&bytes[..count]);
        self.length += count;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A ServerHello of TLS 1.2 with these extensions.
    fn server_hello(extensions: &[u8]) -> HelloWatch {
        let mut watch = HelloWatch::default();
        watch.received(&[0x16, 3, 3, 0, 0, SERVER_HELLO, 0, 0, 0, 3, 3]);
        watch.received(&[7; RANDOM]);
        watch.received(&[3, 1, 2, 3, 0xC0, 0x2F, 0, 0, extensions.len() as u8]);
        watch.received(extensions);
        // The next message of the same record.
        watch.received(&[11, 0, 35, 0, 0, 35, 0, 0]);
        watch
    }

    #[test]
    fn a_ticket_is_expected_when_the_server_says_so() {
        let renegotiation = [0xFF, 1, 0, 1, 0];
        let ticket = [0, 35, 0, 0];
        assert!(server_hello(&ticket).ticket_follows());
        assert!(server_hello(&[renegotiation.as_slice(), &ticket].concat()).ticket_follows());
        assert!(!server_hello(&renegotiation).ticket_follows());
        assert!(!server_hello(&[]).ticket_follows());
        assert!(!HelloWatch::default().ticket_follows());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut watch = HelloWatch::default();
            watch.received(&[0x16, 3, 3, 0, 0, SERVER_HELLO]);
            watch.received(&bytes);
            let _ = (watch.ticket_follows(), watch.hello_retry_request());
        }
    }

    #[test]
    fn size_and_retry_are_read_from_messages_that_arrive_in_pieces() {
        let mut watch = HelloWatch::default();
        for byte in [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC] {
            watch.sent(&[byte]);
        }
        assert_eq!(watch.client_hello_bytes(), 512);
        assert!(!watch.hello_retry_request());
        watch.received(&[0x16, 3, 3, 0, 0x58, SERVER_HELLO, 0, 0, 0x54, 3, 3]);
        watch.received(&HELLO_RETRY_REQUEST);
        watch.received(&[0; 100]);
        assert!(watch.hello_retry_request());
    }
}
