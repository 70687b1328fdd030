//! What the first messages of a handshake say in clear, whatever the back end.

/// Notes the size of the first ClientHello and whether the server answered it with a HelloRetryRequest.
#[derive(Debug, Default)]
pub(crate) struct HelloWatch {
    client_hello: Head,
    server_hello: Head,
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

/// The first bytes of a direction.
#[derive(Debug)]
struct Head {
    bytes: [u8; RANDOM_AT + 32],
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

    /// True if the server asked for a second ClientHello.
    pub(crate) fn hello_retry_request(&self) -> bool {
        let head = &self.server_hello.bytes;
        head[RECORD_HEADER] == SERVER_HELLO && head[RANDOM_AT..] == HELLO_RETRY_REQUEST
    }
}

impl Default for Head {
    fn default() -> Self {
        Self {
            bytes: [0; RANDOM_AT + 32],
            length: 0,
        }
    }
}

impl Head {
    fn add(&mut self, bytes: &[u8]) {
        let count = bytes.len().min(self.bytes.len() - self.length);
        self.bytes[self.length..][..count].copy_from_slice(&bytes[..count]);
        self.length += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
