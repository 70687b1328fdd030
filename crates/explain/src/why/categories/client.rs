//! The load generator: ciphertax itself, with what is linked into it.

use super::names::*;
use super::phase::Cryptography::{Around, Certificates, Cipher, Hashes};
use super::rule::Table;
use super::rule::Work::{For, Of};

pub(super) const TABLE: Table = &[
    (For(Cipher), "*rustls*::cipher::*"),
    (For(Hashes), "*sha2::* *sha1::* *hmac::* *pbkdf2::*"),
    (For(Certificates), "webpki::*"),
    (
        For(Around),
        "rustls::* <rustls::* openssl::* <openssl::* *ciphertax_wire::tls::* *ciphertax_wire::scram::*",
    ),
    (Of(ENGINE), "sqlite3* rusqlite::* <rusqlite::*"),
    (
        Of(RECORDING),
        "*ciphertax_engine::recorder::* hdrhistogram::* *ciphertax_wire::trace::* *ciphertax_wire::traffic::*",
    ),
    (
        Of(EVENT_LOOP),
        "*ciphertax_reactor::socket::* *ciphertax_reactor::*",
    ),
    (
        Of(PROTOCOL),
        "*ciphertax_wire::* mysql_common::* <mysql_common::* bson::* <bson::*",
    ),
    (Of(WORKLOAD), "*ciphertax_workload::* rand*::* <rand*"),
    (Of(CLOCKS), "*std::time::* *Timespec*::now*"),
    (Of(EVENT_LOOP), "*ciphertax_engine::*"),
    (
        Of(BACKGROUND),
        "*ciphertax_runner::* *ciphertax_observe::* *ciphertax_profile::* ciphertax::*",
    ),
];
