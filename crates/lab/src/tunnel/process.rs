//! Who carries a tunnel's bytes.

/// A process that carries a tunnel's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TunnelProcess {
    /// The program.
    pub name: &'static str,
    /// The half it belongs to.
    pub side: Side,
    /// Its process number.
    pub pid: u32,
}

/// A half of a tunnel: who would pay for it if client and server had a machine each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// On the client's machine.
    Client,
    /// On the server's machine.
    Server,
}
