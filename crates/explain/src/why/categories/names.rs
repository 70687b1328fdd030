//! The categories by name.

/// A category of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Category {
    /// Its name, as the records have it.
    pub name: &'static str,
    /// What belongs to it, as a sentence.
    pub says: &'static str,
    /// Whose code it is, where it is there only for a security feature.
    pub feature: Option<Feature>,
}

/// A security feature that has code of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Encryption of the connection.
    Transit,
    /// Encryption of files.
    AtRest,
    /// Authentication.
    Login,
}

/// The name of samples that no rule knows.
pub const UNCLASSIFIED: &str = "unclassified";

/// All categories, in the order in which they are shown where nothing else orders them; the last is [`UNCLASSIFIED`].
pub const ALL: &[Category] = &[
    of(
        RECORD_CIPHER,
        "Encrypts and decrypts TLS records.",
        Feature::Transit,
    ),
    of(
        RECORD_HASHES,
        "Authenticates TLS records where the cipher does not.",
        Feature::Transit,
    ),
    of(
        RECORD_PROTOCOL,
        "Makes and reads TLS records, besides their cryptography.",
        Feature::Transit,
    ),
    of(
        HANDSHAKE_PUBLIC_KEY,
        "Signs, verifies and agrees on keys in TLS handshakes.",
        Feature::Transit,
    ),
    of(
        HANDSHAKE_CERTIFICATES,
        "Reads and checks certificates.",
        Feature::Transit,
    ),
    of(
        HANDSHAKE_HASHES,
        "Hashes TLS handshakes and derives their keys.",
        Feature::Transit,
    ),
    of(
        HANDSHAKE_CIPHER,
        "Encrypts and decrypts the messages and tickets of TLS handshakes.",
        Feature::Transit,
    ),
    of(
        HANDSHAKE_PROTOCOL,
        "Begins and ends TLS sessions, besides their cryptography.",
        Feature::Transit,
    ),
    of(
        AT_REST_CIPHER,
        "Encrypts and decrypts pages and logs.",
        Feature::AtRest,
    ),
    of(
        AT_REST_HASHES,
        "Hashes and derives keys for encrypted files.",
        Feature::AtRest,
    ),
    of(
        AT_REST_REST,
        "What encryption of pages and logs takes besides its cipher: keys, contexts, layout.",
        Feature::AtRest,
    ),
    of(
        LOGIN_HASHES,
        "Hashes and derives keys from passwords.",
        Feature::Login,
    ),
    of(LOGIN_PUBLIC_KEY, "Public keys in logins.", Feature::Login),
    of(
        LOGIN_REST,
        "Looks accounts up and talks about passwords.",
        Feature::Login,
    ),
    of(ACCESS_CONTROL, "Looks up what an account may do.", Feature::Login),
    plain(
        OTHER_CRYPTOGRAPHY,
        "Cryptography of which it is not known what for.",
    ),
    plain(COPIES, "Copies and fills memory."),
    plain(ALLOCATION, "Takes and gives back memory."),
    plain(CHECKSUMS, "Checksums of pages and logs."),
    plain(COMPRESSION, "Compresses and decompresses."),
    plain(LOCKS, "Takes and leaves locks."),
    plain(SPINNING, "Waits for a lock on the CPU."),
    plain(PARSE, "Reads the text of statements."),
    plain(
        OPTIMISE,
        "Resolves names and chooses how statements are executed.",
    ),
    plain(
        TABLES,
        "Opens, locks and closes tables, and checks rights on them.",
    ),
    plain(EXECUTE, "Executes statements, above the storage engine."),
    plain(PLAN, "Reads requests and chooses how they are answered."),
    plain(QUERY, "Answers requests, above the storage engine."),
    plain(
        COMMANDS,
        "Takes commands from clients and hands them to who executes them.",
    ),
    plain(DOCUMENTS, "Reads, builds and checks documents."),
    plain(ENGINE, "The storage engine: indexes, rows, pages in memory."),
    plain(COMMIT, "Begins and ends transactions, and writes the logs."),
    plain(PROTOCOL, "Reads requests and writes answers, above the socket."),
    plain(CONNECTION, "Begins and ends sessions and their threads."),
    plain(
        INSTRUMENTATION,
        "Counts and times what the server does, for its own statistics.",
    ),
    plain(CLOCKS, "Reads the time."),
    plain(BACKGROUND, "Threads that serve no session."),
    plain(EVENT_LOOP, "Waits for sockets and wakes tasks."),
    plain(WORKLOAD, "Thinks of what to ask, and checks the answers."),
    plain(RECORDING, "Takes note of what was measured."),
    plain(KERNEL_NETWORK, "Sockets and TCP."),
    plain(KERNEL_POLLING, "Waits for sockets."),
    plain(KERNEL_SCHEDULER, "Switches between threads and wakes them."),
    plain(KERNEL_FUTEX, "Sleeps for locks and wakes who sleeps for them."),
    plain(KERNEL_FILES, "Files, file systems and block devices."),
    plain(KERNEL_MEMORY, "Maps memory and handles page faults."),
    plain(KERNEL_THREADS, "Begins and ends threads and processes."),
    plain(KERNEL_INTERRUPTS, "Timers and devices that interrupt what runs."),
    plain(
        KERNEL_OTHER,
        "The rest of the kernel; all of it where its functions have no names.",
    ),
    plain(UNCLASSIFIED, "Code that no rule knows."),
];

const fn of(name: &'static str, says: &'static str, feature: Feature) -> Category {
    Category {
        name,
        says,
        feature: Some(feature),
    }
}

const fn plain(name: &'static str, says: &'static str) -> Category {
    Category {
        name,
        says,
        feature: None,
    }
}

/// The category of this name.
pub fn find(name: &str) -> Option<&'static Category> {
    ALL.iter().find(|category| category.name == name)
}

/// The feature that a category is there for; `None` for work that is done without any too.
pub fn feature(name: &str) -> Option<Feature> {
    find(name)?.feature
}

/// True of a category that is cryptography itself: ciphers, hashes and public keys, whatever for.
pub fn is_cryptography(name: &str) -> bool {
    let parts = [": cipher", ": hashes", ": public key"];
    find(name).is_some() && (name == OTHER_CRYPTOGRAPHY || parts.iter().any(|part| name.ends_with(part)))
}

pub(super) const RECORD_CIPHER: &str = "TLS record: cipher";
pub(super) const RECORD_HASHES: &str = "TLS record: hashes";
pub(super) const RECORD_PROTOCOL: &str = "TLS record: protocol";
pub(super) const HANDSHAKE_PUBLIC_KEY: &str = "TLS handshake: public key";
pub(super) const HANDSHAKE_CERTIFICATES: &str = "TLS handshake: certificates";
pub(super) const HANDSHAKE_HASHES: &str = "TLS handshake: hashes";
pub(super) const HANDSHAKE_CIPHER: &str = "TLS handshake: cipher";
pub(super) const HANDSHAKE_PROTOCOL: &str = "TLS handshake: protocol";
pub(super) const AT_REST_CIPHER: &str = "at rest: cipher";
pub(super) const AT_REST_HASHES: &str = "at rest: hashes";
pub(super) const AT_REST_REST: &str = "at rest: other";
pub(super) const LOGIN_HASHES: &str = "login: hashes";
pub(super) const LOGIN_PUBLIC_KEY: &str = "login: public key";
pub(super) const LOGIN_REST: &str = "login: other";
pub(super) const ACCESS_CONTROL: &str = "access control";
pub(super) const OTHER_CRYPTOGRAPHY: &str = "other cryptography";
pub(super) const COPIES: &str = "copies";
pub(super) const ALLOCATION: &str = "allocation";
pub(super) const CHECKSUMS: &str = "checksums";
pub(super) const COMPRESSION: &str = "compression";
pub(super) const LOCKS: &str = "locks";
pub(in crate::why) const SPINNING: &str = "spinning";
pub(super) const PARSE: &str = "SQL: parse";
pub(super) const OPTIMISE: &str = "SQL: optimise";
pub(super) const TABLES: &str = "SQL: tables";
pub(super) const EXECUTE: &str = "SQL: execute";
pub(super) const PLAN: &str = "query: plan";
pub(super) const QUERY: &str = "query: execute";
pub(super) const COMMANDS: &str = "commands";
pub(super) const DOCUMENTS: &str = "documents";
pub(super) const ENGINE: &str = "storage engine";
pub(super) const COMMIT: &str = "commit";
pub(super) const PROTOCOL: &str = "client protocol";
pub(super) const CONNECTION: &str = "connection";
pub(super) const INSTRUMENTATION: &str = "instrumentation";
pub(super) const CLOCKS: &str = "clocks";
pub(super) const BACKGROUND: &str = "background";
pub(super) const EVENT_LOOP: &str = "event loop";
pub(super) const WORKLOAD: &str = "workload";
pub(super) const RECORDING: &str = "recording";
pub(super) const KERNEL_NETWORK: &str = "kernel: network";
pub(super) const KERNEL_POLLING: &str = "kernel: polling";
pub(super) const KERNEL_SCHEDULER: &str = "kernel: scheduler";
pub(super) const KERNEL_FUTEX: &str = "kernel: futex";
pub(super) const KERNEL_FILES: &str = "kernel: files";
pub(super) const KERNEL_MEMORY: &str = "kernel: memory";
pub(super) const KERNEL_THREADS: &str = "kernel: threads";
pub(super) const KERNEL_INTERRUPTS: &str = "kernel: interrupts";
pub(in crate::why) const KERNEL_OTHER: &str = "kernel: other";
