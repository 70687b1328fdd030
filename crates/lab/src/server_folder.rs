//! What the private folder of a MariaDB or MySQL holds and needs.

use ciphertax_supervise::LONGEST_SOCKET_NAME;

/// The server's socket in the folder.
pub(crate) const SOCKET: &str = "server.sock";

const _: () = assert!(
    SOCKET.len() <= LONGEST_SOCKET_NAME,
    "the path of the socket is checked"
);

/// Space that a private server and a data set in memory need: redo log 100 MB, tablespaces, temporary tables.
pub(crate) const NEEDED_MB: u64 = 400;
