//! What distinguishes PostgreSQL's releases from each other.

/// What a release of PostgreSQL understands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PostgreSqlVariant {
    /// How it is set which groups of the key exchange it offers.
    pub(crate) groups: GroupControl,
}

/// How it is set which groups of the key exchange a server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupControl {
    /// By `ssl_ecdh_curve`, which names one curve, P-256 by default; until 17.
    OneCurve,
    /// By `ssl_groups`, which names as many as OpenSSL knows; since 18.
    Several,
}
