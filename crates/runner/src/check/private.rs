//! What private servers need of the machine and of each other.

use ciphertax_lab::{RunningLink, check_capture, check_cluster, file_system};
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{
    Arm, AuthenticationMethod, CertificateKind, Distances, PasswordCache, PoolMode, ReadPreference, Refusal,
    ReplicaSet, TlsLibrary, TlsVersion, refuse_if,
};

use super::{Asked, At, Rule, of_arm_in, of_cell, of_plan};

pub(super) const RULES: &[Rule] = &[
    of_plan("link", |asked| {
        let mut cells = asked.study.cells.iter();
        let has_one = cells.any(|cell| asked.study.distances(cell) != Distances::default());
        let checked = (has_one && asked.target.is_none()).then(RunningLink::check)?;
        Some(Refusal::new(checked.err()?.to_string()))
    }),
    of_plan("secondaries", |asked| {
        let has_some = |set: Option<ReplicaSet>| set.is_some_and(ReplicaSet::has_secondaries);
        let asks = asked.target.is_none() && asked.study.read_preference != ReadPreference::Primary;
        let has_none = !asked.places().any(|at| has_some(at.spec.replica_set));
        let why = "no cell has secondaries to read from; add replica_set = { members = 3 }, or leave read_preference out";
        refuse_if(asks && has_none, why)
    }),
    of_plan("pooler", |asked| {
        let missing = asked
            .poolers
            .values()
            .filter_map(|release| release.as_ref().err());
        let missing: Vec<&str> = missing.map(String::as_str).collect();
        (!missing.is_empty()).then(|| Refusal::new(missing.join("; ")))
    }),
    of_arm_in("file-system", |asked, _, arm| {
        let kind = arm.at_rest.file_system.filter(|_| asked.target.is_none())?;
        Some(Refusal::new(file_system::check(kind).err()?.to_string()))
    }),
    of_cell("cluster", |_, at| {
        let entry = at.entry.filter(|_| at.spec.is_cluster())?;
        Some(Refusal::new(check_cluster(entry).err()?.to_string()))
    }),
    of_plan("capture", |asked| {
        let is_captured = asked.places().any(|at| {
            let mut arms = asked.study.arms_of(at.cell);
            at.entry.is_some() && at.spec.servers() > 1 && arms.any(|arm| arm.cluster_tls)
        });
        Some(Refusal::new(is_captured.then(check_capture)?.err()?.to_string()))
    }),
    // It gives the next transaction another connection, and an old release does not prepare statements there again.
    of_arm_in("prepared-statements", |asked, at, arm| {
        let pooler = arm.pooler?;
        let release = asked.poolers.get(&pooler.program)?.as_ref().ok()?;
        let shares = pooler.pool_mode == PoolMode::Transaction;
        let prepares = at.cell.workload.descriptor().vocabulary != Vocabulary::Connect;
        let why = format!(
            "with pool_mode = \"transaction\" {release} loses the statements that {} prepares (pgbouncer 1.21 and later keep \
             them); fetch a newer one with `ciphertax servers install postgresql-18`, take pool_mode = \"session\", or name \
             the other arms in the arms of the cell {:?}",
            at.cell.workload.name(),
            at.cell.name
        );
        refuse_if(shares && prepares && !release.keeps_prepared_statements(), why)
    }),
    of_arm_in("cluster-tls", |_, at, arm| {
        at.entry?;
        let why = "it encrypts what servers tell each other, and a single server has none to tell; add nodes = 3 (MariaDB, \
                   MySQL) or replica_set = { members = 3 } (MongoDB)";
        refuse_if(arm.cluster_tls && at.spec.servers() == 1, why)
    }),
    of_cell("command-on-replica-set", |_, at| {
        at.entry?;
        let why = "each member of a replica set counts its connections for itself, so nobody can tell what a program's \
                   were; leave replica_set out";
        refuse_if(at.cell.command.is_some() && at.spec.replica_set.is_some(), why)
    }),
    // Ed25519 has no place in TLS before 1.2 (RFC 8422).
    of_arm_in("ed25519-before-tls-1.2", |asked, at, arm| {
        let version = arm.transport.tls_version()?;
        let is_ed25519 = shown(asked, at, arm)? == CertificateKind::Ed25519;
        let why = format!("{version} knows no certificate ed25519; take another, or TLS 1.2 or newer");
        refuse_if(is_ed25519 && version < TlsVersion::V1_2, why)
    }),
    of_arm_in("short-key-with-rustls", |asked, at, arm| {
        let is_short = shown(asked, at, arm)? == CertificateKind::Rsa1024;
        let why = "rustls takes no certificate rsa-1024; take a longer key, or library = \"openssl\"";
        refuse_if(is_short && arm.tls.library == TlsLibrary::Rustls, why)
    }),
    // Suites before TLS 1.3 name the kind of the server's key; those without a key exchange in their name are RSA's.
    of_arm_in("cipher-of-another-key", |asked, at, arm| {
        let (kind, cipher) = (shown(asked, at, arm)?, arm.tls.cipher.as_deref()?);
        let (needed, key, instead) = match cipher.contains("ECDSA") {
            true => (false, "ECDSA", "ecdsa-p256"),
            false => (true, "RSA", "rsa-2048"),
        };
        let is_of_another = !cipher.starts_with("TLS_") && kind.name().starts_with("rsa") != needed;
        let why = format!(
            "{cipher} needs an {key} key, and the server's is {kind}; take another cipher, or certificate = {instead:?}"
        );
        refuse_if(is_of_another, why)
    }),
    // RFC 5929 takes the hash of the certificate's signature, and Ed25519 names none.
    of_arm_in("channel-binding-by-ed25519", |asked, at, arm| {
        let is_ed25519 = shown(asked, at, arm)? == CertificateKind::Ed25519;
        let binds = arm.authentication.method == Some(AuthenticationMethod::ScramSha256Plus);
        let why =
            "SCRAM-SHA-256-PLUS binds no login to a certificate ed25519; take another, or SCRAM-SHA-256";
        refuse_if(is_ed25519 && binds, why)
    }),
    of_arm_in("cold-cache-in-vain", |_, at, arm| {
        let is_cold = arm.authentication.password_cache == PasswordCache::Cold;
        let why = "a cold password cache is for workloads whose connections ciphertax makes, over and over; leave the \
                   arm out with arms = […]";
        refuse_if(is_cold && !at.cell.workload.makes_connections(), why)
    }),
    of_arm_in("tunnel-to-replica-set", |_, at, arm| {
        let why = "a tunnel leads to one server, and the clients of a replica set find its members by themselves, past \
                   the tunnel; leave replica_set out, or the arm with arms = […]";
        refuse_if(at.spec.replica_set.is_some() && arm.tunnel.is_some(), why)
    }),
    of_arm_in("pooler-without-certificate", |asked, at, arm| {
        at.entry?;
        let is_encrypted = arm.pooler?.server_transport.is_encrypted();
        let why = "its pooler speaks TLS to the server, which has no certificate, since no arm uses TLS; take \
                   server_transport = \"plain\", or add an arm with TLS";
        refuse_if(is_encrypted && !asked.study.needs_tls(), why)
    }),
];

/// The key of the certificate that an arm is shown by a private server.
fn shown(asked: &Asked<'_>, at: &At<'_>, arm: &Arm) -> Option<CertificateKind> {
    at.entry?;
    let kind = asked.study.certificate_of(arm, &at.spec).kind;
    arm.transport.is_encrypted().then_some(kind)
}
