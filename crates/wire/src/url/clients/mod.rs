//! How other clients write a target, and what to write instead.

#[cfg(test)]
mod tests;

use Advice::{LeaveOut, Unknown, Write};
use Protocol::{MongoDb, MySql, PostgreSql};
use ciphertax_base::Secret;
use ciphertax_model::nearest;

use super::{Target, TargetError, decoded, encoded, mongodb, mysql, postgresql};
use crate::Protocol;

/// What to do with an option that is not read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Advice {
    /// Leave it out, for this reason.
    LeaveOut(&'static str),
    /// Write this instead: an option with its value, or the name of one that takes the same value.
    Write(&'static str),
    /// Nobody's option; perhaps this one is meant.
    Unknown(Option<&'static str>),
}

const CONNECTIONS: Advice = LeaveOut("ciphertax opens its own connections, as many as the load says");
const PATIENCE: Advice = LeaveOut("ciphertax knows by itself how long to wait");
const STATEMENTS: Advice = LeaveOut("the workload says which statements are sent, and how");
const VALUES: Advice = LeaveOut("it says how a driver hands values to its program");
const UTF8: Advice = LeaveOut("what ciphertax writes is UTF-8, which every server can read");
const SESSION: Advice = LeaveOut("a session has the server's own settings; change them there");
const ARMS: Advice =
    LeaveOut("what is encrypted, and how, the arms say (transport, and the keys of tls), and prove");
const SILENTLY: Advice = LeaveOut(
    "it encrypts silently when the server can, on which no baseline can rest; the arms say what is encrypted",
);
const UNVERIFIED: Advice = LeaveOut("certificates are verified only where the URL names a CA");
const NO_REVOCATION: Advice =
    LeaveOut("no list of revoked certificates is read; the CA in the URL verifies the server's certificate");
const ENCRYPTED_KEY: Advice = LeaveOut("CIPHERTAX_KEY_PASSWORD has the password of an encrypted key");
const PEM_ALONE: Advice =
    LeaveOut("key stores are not read; name PEM files by the options that ciphertax knows");
const LOGIN: Advice = LeaveOut("how a login goes the server says, or an arm (authentication)");
const NO_COMPRESSION: Advice = LeaveOut("compression is not spoken");
const NO_GSS: Advice = LeaveOut("no login and no encryption by GSSAPI is measured");
const NO_KEEPALIVE: Advice =
    LeaveOut("a run's connections are never idle for long, and how the kernel keeps them is not changed");

/// Options of other clients and what to do: names, or a name with a value, with spaces between. Names are the same whatever
/// their case and with or without `-` and `_`. Here those of Connector/J, MariaDB's, Go's driver, PyMySQL, Prisma and `mysql`.
#[rustfmt::skip]
const OF_MYSQL: &[(&str, Advice)] = &[
    ("sslMode=prefer sslMode=preferred sslMode=allow tls=preferred tls=skip-verify-preferred", SILENTLY),
    ("sslMode=disabled sslMode=disable sslMode=required sslMode=require sslMode=trust", ARMS),
    ("sslMode=verify-ca verifyServerCertificate=true ssl_verify_cert=true", Write("ssl-mode=VERIFY_CA")),
    ("sslMode=verify-full tls=true sslaccept=strict ssl_verify_identity=true", Write("ssl-mode=VERIFY_IDENTITY")),
    ("verifyServerCertificate ssl_verify_cert ssl-verify-server-cert ssl_verify_identity ssl_check_hostname sslaccept", UNVERIFIED),
    ("useSSL requireSSL ssl ssl_disabled tls tls-version tls-ciphersuites tlsVersions enabledTLSProtocols", ARMS),
    ("trustCertificateKeyStoreUrl trustCertificateKeyStoreType trustCertificateKeyStorePassword trustStore keyStore", PEM_ALONE),
    ("clientCertificateKeyStoreUrl clientCertificateKeyStoreType clientCertificateKeyStorePassword sslidentity", PEM_ALONE),
    ("serverSslCert", Write("ssl-ca")),
    ("ssl-crl ssl-crlpath", NO_REVOCATION),
    ("sslpassword", ENCRYPTED_KEY),
    ("allowPublicKeyRetrieval=true", Write("get-server-public-key=true")),
    ("allowPublicKeyRetrieval", LeaveOut("the server's key is trusted only where get-server-public-key=true says so")),
    ("serverRSAPublicKeyFile", Write("server-public-key-path")),
    ("unix_socket localSocket", Write("socket")),
    ("serverTimezone connectionTimeZone forceConnectionTimeZoneToSession loc parseTime useLegacyDatetimeCode", VALUES),
    ("zeroDateTimeBehavior tinyInt1isBit useJDBCCompliantTimezoneShift nullCatalogMeansCurrent clientFoundRows", VALUES),
    ("charset useUnicode characterEncoding collation connectionCollation default-character-set", UTF8),
    ("connection_limit pool_timeout pool maxPoolSize minPoolSize pool_size pool_recycle autoReconnect reconnect", CONNECTIONS),
    ("connectTimeout socketTimeout timeout readTimeout writeTimeout tcpKeepAlive", PATIENCE),
    ("cachePrepStmts prepStmtCacheSize prepStmtCacheSqlLimit useServerPrepStmts rewriteBatchedStatements", STATEMENTS),
    ("allowMultiQueries multiStatements interpolateParams maxAllowedPacket statement_cache_size local_infile", STATEMENTS),
    ("useLocalSessionState elideSetAutoCommits cacheServerConfiguration cacheResultSetMetadata", STATEMENTS),
    ("autocommit init_command sessionVariables sql_mode", SESSION),
    ("allowNativePasswords allowCleartextPasswords default-auth defaultAuthenticationPlugin", LOGIN),
    ("useCompression compress compression-algorithms", NO_COMPRESSION),
];

/// The same of PostgreSQL's: libpq, then pgJDBC, pgx, asyncpg and Prisma.
#[rustfmt::skip]
const OF_POSTGRESQL: &[(&str, Advice)] = &[
    ("client_encoding charset encoding", UTF8),
    ("fallback_application_name", LeaveOut("sessions are known by the name ciphertax on the server")),
    ("gsslib gssdelegation krbsrvname", NO_GSS),
    ("hostaddr", LeaveOut("give the address in the host's place, with sslmode=verify-ca, which looks at no name")),
    ("keepalives keepalives_count keepalives_idle keepalives_interval tcp_user_timeout tcpKeepAlive", NO_KEEPALIVE),
    ("load_balance_hosts", LeaveOut("a target is one server, all of whose clients reach the same")),
    ("max_protocol_version min_protocol_version", LeaveOut("version 3.0 of the protocol is spoken, which every server has")),
    ("replication", LeaveOut("a run is an ordinary client")),
    ("require_auth", LeaveOut("how a login goes the arms say (authentication = { method = … }), and prove; over TLS \
                               channel_binding= holds them all to SCRAM")),
    ("requirepeer", LeaveOut("the user of a Unix socket's server is not looked at")),
    ("requiressl ssl sslcompression ssl_min_protocol_version ssl_max_protocol_version", ARMS),
    ("scram_client_key scram_server_key", LeaveOut("SCRAM's keys come from the password; whether they are kept the arms say \
                                                    (password_cache)")),
    ("service servicefile", LeaveOut("no service file is read; name host, user and database in the URL")),
    ("sslcertmode", LeaveOut("the client's certificate is shown where sslcert and sslkey name one")),
    ("sslcrl sslcrldir", NO_REVOCATION),
    ("sslkeylogfile", LeaveOut("the keys of a session are never written down")),
    ("sslsni", LeaveOut("the server is told the name that it is asked for wherever the host is one")),
    ("sslaccept=strict", Write("sslmode=verify-full")),
    ("sslaccept", UNVERIFIED),
    ("sslfactory sslfactoryarg sslhostnameverifier sslpasswordcallback sslidentity", PEM_ALONE),
    ("targetServerType=primary targetServerType=master", Write("target_session_attrs=primary")),
    ("loginTimeout", Write("connect_timeout")),
    ("socketTimeout timeout command_timeout", PATIENCE),
    ("schema currentSchema search_path", LeaveOut("ciphertax works in a schema of its own, named ciphertax")),
    ("connection_limit pool_timeout pgbouncer pool pool_size max_overflow pool_recycle maxPoolSize minPoolSize", CONNECTIONS),
    ("pool_max_conns pool_min_conns pool_max_conn_lifetime pool_max_conn_idle_time pool_health_check_period", CONNECTIONS),
    ("prepareThreshold preparedStatementCacheQueries preparedStatementCacheSizeMiB preferQueryMode", STATEMENTS),
    ("statement_cache_size default_query_exec_mode prepared_statements reWriteBatchedInserts defaultRowFetchSize", STATEMENTS),
    ("binaryTransfer stringtype loggerLevel", VALUES),
];

/// The same of MongoDB's drivers.
#[rustfmt::skip]
const OF_MONGODB: &[(&str, Advice)] = &[
    ("readPreference readPreferenceTags maxStalenessSeconds localThresholdMS",
     LeaveOut("which members are read the study says (read_preference, or --set read_preference=…)")),
    ("compressors zlibCompressionLevel", NO_COMPRESSION),
    ("maxPoolSize minPoolSize maxIdleTimeMS maxConnecting waitQueueMultiple waitQueueTimeoutMS", CONNECTIONS),
    ("connectTimeoutMS socketTimeoutMS timeoutMS serverSelectionTimeoutMS heartbeatFrequencyMS", PATIENCE),
    ("readConcernLevel journal j wtimeout wtimeoutMS", SESSION),
    ("uuidRepresentation", VALUES),
    ("authMechanismProperties gssapiServiceName", LeaveOut("logins are by SCRAM or by a certificate")),
    ("loadBalanced srvMaxHosts srvServiceName", LeaveOut("the hosts are those of the URL and of its replica set")),
    ("proxyHost proxyPort proxyUsername proxyPassword", LeaveOut("ciphertax connects to the servers themselves")),
    ("tlsDisableOCSPEndpointCheck tlsDisableCertificateRevocationCheck tlsCRLFile ssl_crlfile", NO_REVOCATION),
    ("ssl_pem_passphrase", ENCRYPTED_KEY),
    ("ssl_ca_certs", Write("tlsCAFile")),
    ("ssl_certfile", Write("tlsCertificateKeyFile")),
    ("ssl_match_hostname ssl_cert_reqs", UNVERIFIED),
];

/// The options that are read, and those of other clients.
fn options(protocol: Protocol) -> (&'static [&'static str], &'static [(&'static str, Advice)]) {
    match protocol {
        MySql => (mysql::KNOWN, OF_MYSQL),
        MongoDb => (mongodb::KNOWN, OF_MONGODB),
        PostgreSql => (postgresql::KNOWN, OF_POSTGRESQL),
    }
}

/// An option that is read, as it is written; as in MongoDB's URLs, upper and lower case are the same.
pub(super) fn known_option(protocol: Protocol, name: &str) -> Option<&'static str> {
    let mut all = options(protocol).0.iter().copied();
    all.find(|known| known.eq_ignore_ascii_case(name))
}

fn is_same(one: &str, other: &str) -> bool {
    let letters = |text: &str| text.replace(['-', '_'], "").to_ascii_lowercase();
    letters(one) == letters(other)
}

/// What to do with an option that is not read, and whether that depends on its value.
fn advice(protocol: Protocol, name: &str, value: &str) -> (Advice, bool) {
    let (known, others) = options(protocol);
    let find = |option: &str| {
        let mut rows = others.iter();
        rows.find(|(names, _)| names.split(' ').any(|other| is_same(other, option)))
    };
    if let Some((_, advice)) = find(&format!("{name}={value}")) {
        return (*advice, true);
    }
    let advice = match (known.iter().find(|known| is_same(known, name)), find(name)) {
        (Some(known), _) => Write(known),
        (None, Some((_, advice))) => *advice,
        (None, None) => Unknown(nearest(name, known.iter().copied())),
    };
    (advice, false)
}

/// Refuses options that are not read, those with the same reason together. Values are told only where they are known words.
///
/// # Errors
/// [`TargetError::OtherClients`], if there are any.
pub(super) fn refuse(protocol: Protocol, unread: &[(String, String)]) -> Result<(), TargetError> {
    let mut found: Vec<(Advice, Vec<String>)> = Vec::new();
    for (name, value) in unread {
        let (advice, by_value) = advice(protocol, name, value);
        let said = match by_value {
            true => format!("{name}={value}"),
            false => name.clone(),
        };
        match found.iter_mut().find(|(other, _)| *other == advice) {
            Some((_, names)) => names.push(said),
            None => found.push((advice, vec![said])),
        }
    }
    let say = |(advice, names): (Advice, Vec<String>)| {
        let it = if names.len() == 1 { "it" } else { "them" };
        let names = names.join(", ");
        match advice {
            LeaveOut(reason) => format!("{names}: leave {it} out: {reason}"),
            Write(instead) => format!("{names}: write {instead}"),
            Unknown(Some(near)) => format!("{names}: unknown, did you mean {near:?}?"),
            Unknown(None) => format!("{names}: unknown; known are {}", options(protocol).0.join(", ")),
        }
    };
    match unread.is_empty() {
        true => Ok(()),
        false => Err(TargetError::OtherClients {
            written: None,
            options: found.into_iter().map(say).collect(),
            instead: None,
        }),
    }
}

/// What is said of a target that is `written` as for another client, or has such options.
pub(super) fn message(
    written: Option<&str>,
    options: &[String],
    instead: Option<&Result<String, Box<TargetError>>>,
) -> String {
    let written = written.map(|written| format!("is written {written}"));
    let has = (!options.is_empty()).then(|| "has options that are not read".to_owned());
    let said: Vec<String> = written.into_iter().chain(has).collect();
    let mut parts = vec![format!("the target {}", said.join(", and "))];
    parts.extend_from_slice(options);
    parts.extend(instead.map(|instead| match instead {
        Ok(url) => format!("write '{url}', with the password, if there is one, in CIPHERTAX_PASSWORD"),
        Err(problem) => format!("and {problem}"),
    }));
    parts.join("; ")
}

/// The URL to write instead of this `text`, without its password.
///
/// # Errors
/// What is left to be mended.
pub(super) fn url_instead(text: &str, takes_schema: bool) -> Result<String, TargetError> {
    let (scheme, _) = text.split_once("://").unwrap_or_default();
    let protocol = match scheme.to_ascii_lowercase().as_str() {
        "mongodb" => MongoDb,
        "postgres" | "postgresql" => PostgreSql,
        _ => MySql,
    };
    let (place, options) = text.split_once('?').unwrap_or((text, ""));
    let mut place = place.to_owned();
    let mut kept: Vec<String> = Vec::new();
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let name = decoded(name);
        match (
            known_option(protocol, &name),
            advice(protocol, &name, &decoded(value)).0,
        ) {
            (Some(name), _) | (None, Unknown(Some(name))) => kept.push(format!("{name}={value}")),
            (None, Write(instead)) if instead.contains('=') => kept.push(instead.to_owned()),
            (None, Write(instead)) => kept.push(format!("{instead}={value}")),
            (None, LeaveOut(_) | Unknown(None)) => {}
        }
    }
    // In MongoDB's URLs the database says where the user is known, unless an option does.
    if protocol == MongoDb
        && let Some((hosts, database)) = place.rsplit_once('/')
        && !database.is_empty()
    {
        kept.insert(0, format!("authSource={database}"));
        place = format!("{hosts}/");
    }
    let password = Some(Secret::default());
    let mut target = Target::parse_any(&format!("{place}?{}", kept.join("&")), password)?;
    if let Target::MySql(target) = &mut target
        && !takes_schema
    {
        target.schema = None;
    }
    Ok(target.url())
}

/// A target as another client writes it, as a URL; `None` for what is none, or is one already.
pub fn url_of_another_client(text: &str) -> Option<String> {
    as_url(text).map(|(_, url)| url)
}

/// A target as another client writes it: who does so, and the same as a URL; `None` for what is none, or is one already.
pub(super) fn as_url(text: &str) -> Option<(&'static str, String)> {
    let begin = text.get(..5).unwrap_or_default();
    if begin.eq_ignore_ascii_case("jdbc:") {
        return Some(("as for JDBC", with_login(&text[5..])));
    }
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let scheme = scheme.to_ascii_lowercase();
    match scheme.split('+').next().unwrap_or_default() {
        "mongodb" => return None,
        own @ ("mysql" | "mariadb" | "postgres" | "postgresql") => {
            return (own != scheme).then(|| ("as for SQLAlchemy", format!("{own}://{rest}")));
        }
        _ => {}
    }
    let of_go = of_go(text).map(|url| ("as for Go's driver", url));
    of_go.or_else(|| of_libpq(text).map(|url| ("as keywords of libpq's", url)))
}

/// JDBC's user and password are options; of MySQL's they stand before the host here.
fn with_login(url: &str) -> String {
    let (place, options) = url.split_once('?').unwrap_or((url, ""));
    let (mut login, mut others) = ([None, None], Vec::new());
    for option in options.split('&') {
        match option.split_once('=') {
            Some(("user", value)) => login[0] = Some(value),
            Some(("password", value)) => login[1] = Some(value),
            _ => others.push(option),
        }
    }
    match (login, place.split_once("://")) {
        ([Some(user), password], Some((scheme, host))) if !host.contains('@') => {
            let password = password.map_or_else(String::new, |password| format!(":{password}"));
            format!("{scheme}://{user}{password}@{host}?{}", others.join("&"))
        }
        _ => url.to_owned(),
    }
}

/// `user:password@tcp(host:port)/schema?options`, in which nothing is encoded but the options.
fn of_go(text: &str) -> Option<String> {
    let at = ["@tcp(", "@unix("]
        .iter()
        .filter_map(|net| text.rfind(net))
        .max()?;
    let (login, rest) = (&text[..at], &text[at + 1..]);
    let (net, rest) = rest.split_once('(')?;
    let (address, rest) = rest.split_once(')')?;
    let (schema, options) = rest.split_once('?').unwrap_or((rest, ""));
    let schema = encoded(schema.trim_start_matches('/'));
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let (user, password) = (encoded(user), encoded(password));
    Some(match net {
        "tcp" => format!("mysql://{user}:{password}@{address}/{schema}?{options}"),
        _ => format!(
            "mysql://{user}:{password}@localhost/{schema}?socket={}&{options}",
            encoded(address)
        ),
    })
}

/// `host=h port=5432 dbname=shop`, of which values with spaces are not read.
fn of_libpq(text: &str) -> Option<String> {
    let mut has_place = false;
    let mut option = |word: &str| {
        let (name, value) = word.split_once('=')?;
        has_place |= ["host", "user", "dbname"].contains(&name);
        Some(format!("{name}={}", encoded(value.trim_matches('\''))))
    };
    let options: Option<Vec<String>> = text.split_whitespace().map(&mut option).collect();
    let options = options.filter(|_| has_place)?;
    Some(format!("postgresql:///?{}", options.join("&")))
}
