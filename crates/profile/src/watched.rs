//! Whose stacks are looked at.

/// The processes of a server, and the load threads of this process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Watched {
    /// The server's processes; empty where they cannot be seen.
    pub server: Vec<u32>,
    /// True if the server starts processes that serve its connections: those it has, and those it starts meanwhile, are its own.
    pub with_children: bool,
    /// This process's load threads, by their thread numbers; empty where a program of the user's own is the load.
    pub client: Vec<u32>,
}
