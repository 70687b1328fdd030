//! Which of libpq's parameters say something here (<https://www.postgresql.org/docs/current/libpq-connect.html>).

/// Those that are read.
pub(super) const KNOWN: &[&str] = &[
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "gssencmode",
    "host",
    "options",
    "passfile",
    "password",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslnegotiation",
    "sslrootcert",
    "target_session_attrs",
    "user",
];

const ARMS_SAY_TLS: &str = "what TLS is like the arms say (transport, and the keys of tls), and prove";
const NO_REVOCATION: &str =
    "no list of revoked certificates is read; sslrootcert verifies the server's certificate";
const NO_GSS: &str = "no login and no encryption by GSSAPI is measured";
const NO_KEEPALIVE: &str =
    "a run's connections are never idle for long, and how the kernel keeps them is not changed";
const NO_SERVICE: &str = "no service file is read; name host, user and database in the URL";
const NO_KEYS: &str =
    "SCRAM's keys come from the password; whether they are kept the arms say (password_cache)";
const NO_VERSION: &str = "version 3.0 of the protocol is spoken, which every server has";

/// Those that are not, and why.
const REFUSED: &[(&str, &str)] = &[
    (
        "client_encoding",
        "what ciphertax writes is UTF-8, which every server can read",
    ),
    (
        "fallback_application_name",
        "sessions are known by the name ciphertax on the server",
    ),
    ("gsslib", NO_GSS),
    ("gssdelegation", NO_GSS),
    (
        "hostaddr",
        "give the address in the host's place, with sslmode=verify-ca, which looks at no name",
    ),
    ("keepalives", NO_KEEPALIVE),
    ("keepalives_count", NO_KEEPALIVE),
    ("keepalives_idle", NO_KEEPALIVE),
    ("keepalives_interval", NO_KEEPALIVE),
    ("krbsrvname", NO_GSS),
    (
        "load_balance_hosts",
        "a target is one server, all of whose clients reach the same",
    ),
    ("max_protocol_version", NO_VERSION),
    ("min_protocol_version", NO_VERSION),
    ("replication", "a run is an ordinary client"),
    (
        "require_auth",
        "how a login goes the arms say (authentication = { method = … }), and prove; over TLS channel_binding= holds them all \
         to SCRAM",
    ),
    (
        "requirepeer",
        "the user of a Unix socket's server is not looked at",
    ),
    ("requiressl", "what is encrypted the arms say, and prove"),
    ("scram_client_key", NO_KEYS),
    ("scram_server_key", NO_KEYS),
    ("service", NO_SERVICE),
    ("servicefile", NO_SERVICE),
    ("ssl_max_protocol_version", ARMS_SAY_TLS),
    ("ssl_min_protocol_version", ARMS_SAY_TLS),
    (
        "sslcertmode",
        "the client's certificate is shown where sslcert and sslkey name one",
    ),
    ("sslcompression", ARMS_SAY_TLS),
    ("sslcrl", NO_REVOCATION),
    ("sslcrldir", NO_REVOCATION),
    ("sslkeylogfile", "the keys of a session are never written down"),
    (
        "sslpassword",
        "keys that are encrypted are not read; name one that is not, which nobody else may read",
    ),
    ("sslsni", ARMS_SAY_TLS),
    ("tcp_user_timeout", NO_KEEPALIVE),
];

/// Why a parameter of libpq's is not read; `None` for one that is, and for one that libpq does not have.
pub(super) fn refusal(name: &str) -> Option<&'static str> {
    let refused = REFUSED.iter().find(|(other, _)| *other == name);
    refused.map(|(_, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_parameter_is_both_read_and_refused() {
        let both: Vec<_> = KNOWN.iter().filter(|name| refusal(name).is_some()).collect();
        assert!(both.is_empty(), "{both:?}");
    }
}
