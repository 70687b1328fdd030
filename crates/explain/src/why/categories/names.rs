//! The categories by name, as the records have it, and what belongs to each.

/// Encrypts and decrypts TLS records.
pub(super) const RECORD_CIPHER: &str = "TLS record: cipher";
/// Authenticates TLS records where the cipher does not.
pub(super) const RECORD_HASHES: &str = "TLS record: hashes";
/// Makes and reads TLS records, besides their cryptography.
pub(super) const RECORD_PROTOCOL: &str = "TLS record: protocol";
/// Signs, verifies and agrees on keys in TLS handshakes.
pub(super) const HANDSHAKE_PUBLIC_KEY: &str = "TLS handshake: public key";
/// Reads and checks certificates.
pub(super) const HANDSHAKE_CERTIFICATES: &str = "TLS handshake: certificates";
/// Hashes TLS handshakes and derives their keys.
pub(super) const HANDSHAKE_HASHES: &str = "TLS handshake: hashes";
/// Encrypts and decrypts the messages and tickets of TLS handshakes.
pub(super) const HANDSHAKE_CIPHER: &str = "TLS handshake: cipher";
/// Begins and ends TLS sessions, besides their cryptography.
pub(super) const HANDSHAKE_PROTOCOL: &str = "TLS handshake: protocol";
/// Encrypts and decrypts pages and logs.
pub(super) const AT_REST_CIPHER: &str = "at rest: cipher";
/// Hashes and derives keys for encrypted files.
pub(super) const AT_REST_HASHES: &str = "at rest: hashes";
/// What encryption of pages and logs takes besides its cipher: keys, contexts, layout.
pub(super) const AT_REST_REST: &str = "at rest: other";
/// Hashes and derives keys from passwords.
pub(super) const LOGIN_HASHES: &str = "login: hashes";
/// Public keys in logins.
pub(super) const LOGIN_PUBLIC_KEY: &str = "login: public key";
/// Looks accounts up and talks about passwords.
pub(super) const LOGIN_REST: &str = "login: other";
/// Looks up what an account may do.
pub(super) const ACCESS_CONTROL: &str = "access control";
/// Cryptography of which it is not known what for.
pub(super) const OTHER_CRYPTOGRAPHY: &str = "other cryptography";
/// Copies and fills memory.
pub(super) const COPIES: &str = "copies";
/// Takes and gives back memory.
pub(super) const ALLOCATION: &str = "allocation";
/// Checksums of pages and logs.
pub(super) const CHECKSUMS: &str = "checksums";
/// Compresses and decompresses.
pub(super) const COMPRESSION: &str = "compression";
/// Takes and leaves locks.
pub(super) const LOCKS: &str = "locks";
/// Waits for a lock on the CPU.
pub(in crate::why) const SPINNING: &str = "spinning";
/// Reads the text of statements.
pub(super) const PARSE: &str = "SQL: parse";
/// Resolves names and chooses how statements are executed.
pub(super) const OPTIMISE: &str = "SQL: optimise";
/// Opens, locks and closes tables, and checks rights on them.
pub(super) const TABLES: &str = "SQL: tables";
/// Executes statements, above the storage engine.
pub(super) const EXECUTE: &str = "SQL: execute";
/// Reads requests and chooses how they are answered.
pub(super) const PLAN: &str = "query: plan";
/// Answers requests, above the storage engine.
pub(super) const QUERY: &str = "query: execute";
/// Takes commands from clients and hands them to who executes them.
pub(super) const COMMANDS: &str = "commands";
/// Reads, builds and checks documents.
pub(super) const DOCUMENTS: &str = "documents";
/// The storage engine: indexes, rows, pages in memory.
pub(super) const ENGINE: &str = "storage engine";
/// Begins and ends transactions, and writes the logs.
pub(super) const COMMIT: &str = "commit";
/// Reads requests and writes answers, above the socket.
pub(super) const PROTOCOL: &str = "client protocol";
/// Begins and ends sessions and their threads.
pub(super) const CONNECTION: &str = "connection";
/// Counts and times what the server does, for its own statistics.
pub(super) const INSTRUMENTATION: &str = "instrumentation";
/// Reads the time.
pub(super) const CLOCKS: &str = "clocks";
/// Threads that serve no session.
pub(super) const BACKGROUND: &str = "background";
/// Waits for sockets and wakes tasks.
pub(super) const EVENT_LOOP: &str = "event loop";
/// Thinks of what to ask, and checks the answers.
pub(super) const WORKLOAD: &str = "workload";
/// Takes note of what was measured.
pub(super) const RECORDING: &str = "recording";
/// Sockets and TCP.
pub(super) const KERNEL_NETWORK: &str = "kernel: network";
/// Waits for sockets.
pub(super) const KERNEL_POLLING: &str = "kernel: polling";
/// Switches between threads and wakes them.
pub(super) const KERNEL_SCHEDULER: &str = "kernel: scheduler";
/// Sleeps for locks and wakes who sleeps for them.
pub(super) const KERNEL_FUTEX: &str = "kernel: futex";
/// Files, file systems and block devices.
pub(super) const KERNEL_FILES: &str = "kernel: files";
/// Maps memory and handles page faults.
pub(super) const KERNEL_MEMORY: &str = "kernel: memory";
/// Begins and ends threads and processes.
pub(super) const KERNEL_THREADS: &str = "kernel: threads";
/// Timers and devices that interrupt what runs.
pub(super) const KERNEL_INTERRUPTS: &str = "kernel: interrupts";
/// The rest of the kernel; all of it where its functions have no names.
pub(in crate::why) const KERNEL_OTHER: &str = "kernel: other";
/// Code that no rule knows.
pub(in crate::why) const UNCLASSIFIED: &str = "unclassified";
