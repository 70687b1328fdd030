//! What one arm contradicts itself in, and what its pooler and its encryption at rest do.

use super::found::{Found, Path};
use crate::arm::Arm;
use crate::at_rest::{AtRest, AtRestPart};
use crate::authentication::{AuthenticationMethod, PasswordCache};
use crate::network::PoolMode;
use crate::storage::SqlCipher;
use crate::study::{Cell, Study};
use crate::tls::{self, Group, Resumption, TlsLibrary, TlsNegotiation, TlsVersion};
use crate::workload::Workload;

/// What an arm cannot be.
pub(super) fn check_arm(arm: &Arm, path: &Path, found: &mut Found) {
    if arm.transport.is_encrypted() {
        check_tls(arm, &path.key("tls"), found);
    } else if !arm.tls.is_default() {
        let message = format!(
            "arm {:?} is plain, so its tls settings say nothing; leave them out or give it a TLS transport",
            arm.name
        );
        found.add(path.key("tls"), message);
    }
    if let Some(kind) = arm.certificate
        && !arm.transport.is_encrypted()
    {
        let message = format!(
            "arm {:?} is plain and never shown a certificate; leave {kind} out or give it a TLS transport",
            arm.name
        );
        found.add(path.key("certificate"), message);
    }
    check_authentication(arm, path, found);
    check_at_rest(arm, path, found);
}

fn check_tls(arm: &Arm, path: &Path, found: &mut Found) {
    let (name, tls) = (&arm.name, &arm.tls);
    let version = arm.transport.tls_version();
    let is_before = |least| version.is_some_and(|version| version < least);
    if let Some(cipher) = &tls.cipher {
        if let Some(problem) = tls::problem(cipher, version, tls.library) {
            found.add(path.key("cipher"), format!("arm {name:?}: {problem}"));
        } else if tls.group.is_some() && !tls::uses_group(cipher) {
            let message = format!(
                "arm {name:?}: {cipher} exchanges keys without a group; leave group out or take a cipher whose name \
                 begins with ECDHE- or TLS_"
            );
            found.add(path.key("group"), message);
        }
    }
    if tls.group == Some(Group::X25519MlKem768) && is_before(TlsVersion::V1_3) {
        let message = format!("arm {name:?}: X25519MLKEM768 is a group of TLS 1.3 alone");
        found.add(path.key("group"), message);
    }
    if tls.resumption == Resumption::SessionId && version == Some(TlsVersion::V1_3) {
        let message = format!(
            "arm {name:?}: TLS 1.3 resumes by ticket alone; take resumption = \"ticket\", or TLS 1.2 or older"
        );
        found.add(path.key("resumption"), message);
    }
    if tls.library == TlsLibrary::Rustls {
        if is_before(TlsVersion::V1_2) {
            let message =
                format!("arm {name:?}: rustls knows TLS 1.2 and 1.3 alone; take library = \"openssl\"");
            found.add(path.key("library"), message);
        }
        if tls.resumption == Resumption::SessionId {
            let message = format!(
                "arm {name:?}: sessions are resumed by id with library = \"openssl\" alone; with rustls take \
                 resumption = \"ticket\""
            );
            found.add(path.key("resumption"), message);
        }
    }
}

fn check_authentication(arm: &Arm, path: &Path, found: &mut Found) {
    let name = &arm.name;
    let authentication = path.key("authentication");
    let method = arm.authentication.method;
    let has_cache = |method: AuthenticationMethod| {
        method == AuthenticationMethod::CachingSha2Password || method.is_scram()
    };
    if arm.authentication.password_cache == PasswordCache::Cold && !method.is_some_and(has_cache) {
        let message = format!(
            "arm {name:?}: only caching_sha2_password and the methods of SCRAM have a password cache; leave \
             password_cache out or set method"
        );
        found.add(authentication.key("password_cache"), message);
    }
    let greets_first =
        |method: AuthenticationMethod| method.is_of_mongodb() && method != AuthenticationMethod::NoLogin;
    if !arm.authentication.speculative && !method.is_some_and(greets_first) {
        let message = format!(
            "arm {name:?}: only SCRAM-SHA-1, SCRAM-SHA-256 and MONGODB-X509 can begin with the greeting; leave \
             speculative out or set method"
        );
        found.add(authentication.key("speculative"), message);
    }
    if let Some(method) = method.filter(|method| method.is_by_certificate()) {
        if !arm.transport.is_encrypted() {
            let message = format!("arm {name:?}: {method} is a login by TLS; give it a TLS transport");
            found.add(authentication.key("method"), message);
        } else if arm.tls.client_certificate.is_none() {
            let message = format!(
                "arm {name:?}: {method} is a login by certificate; add tls = {{ client_certificate = \"ecdsa-p256\" }}"
            );
            found.add(authentication.key("method"), message);
        }
    }
    if method == Some(AuthenticationMethod::UnixSocket) {
        let method = authentication.key("method");
        if arm.transport.is_encrypted() {
            let message =
                format!("arm {name:?}: a login by unix_socket is not over TCP, so it cannot use TLS");
            found.add(method.clone(), message);
        }
        if arm.tunnel.is_some() {
            let message =
                format!("arm {name:?}: a login by unix_socket is not over TCP, so it cannot use a tunnel");
            found.add(method, message);
        }
    }
}

/// What an arm with a pooler cannot be, and what cannot be asked through one.
pub(super) fn check_pooler(arm: &Arm, path: &Path, found: &mut Found) {
    if arm.pooler.is_none() {
        return;
    }
    let name = &arm.name;
    if arm.tunnel.is_some() {
        let message = format!("arm {name:?} has a tunnel and a pooler; leave one of them out");
        found.add(path.key("pooler"), message);
    }
    if arm.tls.negotiation == TlsNegotiation::Direct {
        let message = format!("arm {name:?}: pgbouncer must be asked for TLS; leave negotiation out");
        found.add(path.key("tls").key("negotiation"), message);
    }
    let method = path.key("authentication").key("method");
    match arm.authentication.method {
        Some(AuthenticationMethod::ScramSha256Plus) => {
            let message =
                format!("arm {name:?}: pgbouncer binds no login to its TLS session; take SCRAM-SHA-256");
            found.add(method, message);
        }
        Some(other) if !other.is_of_postgresql() => {
            let message = format!(
                "arm {name:?}: pgbouncer stands before PostgreSQL alone, where nobody logs in by {other}; leave pooler out or \
                 take another method"
            );
            found.add(path.key("pooler"), message);
        }
        Some(other) if !other.is_served_by_poolers() => {
            let message = format!(
                "arm {name:?}: pgbouncer has neither passwords nor clients' certificates, so it cannot log in to the server by \
                 {other} in a client's name; take SCRAM-SHA-256, md5 or trust"
            );
            found.add(method, message);
        }
        _ => {}
    }
    if arm.tls.client_certificate.is_some() && arm.authentication.method != Some(AuthenticationMethod::Cert) {
        let message =
            format!("arm {name:?}: pgbouncer asks no client for a certificate; leave client_certificate out");
        found.add(path.key("tls").key("client_certificate"), message);
    }
}

/// What cannot be measured through a pooler: with transaction pooling, what a session remembers may be asked of another;
/// and a program's connections are not the server's.
pub(super) fn check_pooled_cell(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
    let name = &cell.name;
    let before_pooler = study.arms_of(cell).find(|arm| arm.pooler.is_some());
    if let (true, Some(arm)) = (cell.workload.is_program(), before_pooler) {
        let message = format!(
            "cell {name:?}: behind the pooler of arm {:?} the server sees none of a program's own connections, so nobody \
             can tell what they were; leave the arm out with arms = […]",
            arm.name
        );
        found.add(path.key("workload"), message);
    }
    let pools_transactions = |arm: &&Arm| {
        let pooler = arm.pooler;
        pooler.is_some_and(|pooler| pooler.pgbouncer == PoolMode::Transaction)
    };
    let pooled = study.arms_of(cell).find(pools_transactions);
    if let (Workload::ConnectInsertCount, Some(arm)) = (cell.workload, pooled) {
        let message = format!(
            "cell {name:?}: connect_insert_count asks its session for the last id, and the pooler of arm {:?} gives every \
             transaction another; take pgbouncer = \"session\", or leave the arm out with arms = […]",
            arm.name
        );
        found.add(path.key("workload"), message);
    }
}

/// `path` is that of the arm.
pub(super) fn check_at_rest(arm: &Arm, path: &Path, found: &mut Found) {
    let (name, at_rest) = (&arm.name, &arm.at_rest);
    let path = path.key("at_rest");
    if let (Some(algorithm), None) = (at_rest.algorithm, at_rest.parts().next()) {
        let message =
            format!("arm {name:?}: {algorithm} encrypts nothing yet; add tables = true, or another part");
        found.add(path.key("algorithm"), message);
    }
    if at_rest.encryption_threads > 0 && !at_rest.tables {
        let message = format!(
            "arm {name:?}: encryption threads encrypt tables; add tables = true, or leave encryption_threads out"
        );
        found.add(path.key("encryption_threads"), message);
    } else if !AtRest::ENCRYPTION_THREADS.contains(&at_rest.encryption_threads) {
        let (least, most) = AtRest::ENCRYPTION_THREADS.into_inner();
        let message = format!("arm {name:?}: encryption_threads must lie between {least} and {most}");
        found.add(path.key("encryption_threads"), message);
    }
    if let (Some(of_mariadb), Some(of_mysql)) = (only_of_mariadb(at_rest), only_of_mysql(at_rest)) {
        let message = format!(
            "arm {name:?}: {of_mariadb} is MariaDB's alone and {of_mysql} MySQL's; leave one of them out"
        );
        found.add(path.key(of_mysql), message);
    }
    if let Some(sqlcipher) = &at_rest.sqlcipher {
        check_sqlcipher(arm, sqlcipher, &path, found);
    }
    if let Some(other) = database_without_any(arm)
        && let Some(setting) = at_rest.settings_of_server().next()
    {
        let message = format!(
            "arm {name:?}: {other} encrypts nothing at rest by itself; take at_rest = {{ file_system = \"fscrypt\" }} in place \
             of {setting}"
        );
        found.add(path.key(setting), message);
    }
}

/// Only YCSB's table has fields that servers encrypt by functions, and the key is its session's.
pub(super) fn check_columns(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
    for arm in study.arms_of(cell) {
        let Some(columns) = arm.at_rest.columns else {
            continue;
        };
        if !cell.workload.asks_usertable() {
            let message = format!(
                "cell {:?}: arm {:?} encrypts the fields of YCSB's table by {columns}, which {} does not ask; take a workload of \
                 YCSB, or leave the arm out with arms = […]",
                cell.name,
                arm.name,
                cell.workload.name()
            );
            found.add(path.clone(), message);
        } else if arm.pooler.is_some() {
            let message = format!(
                "arm {:?}: {columns} has its key from the session, which a pooler gives to others; leave pooler or columns out",
                arm.name
            );
            found.add(path.clone(), message);
        } else if study.storage(cell).binary_log {
            let message = format!(
                "cell {:?}: arm {:?} encrypts by {columns} what its statements hold in plaintext, and a binary log may hold the \
                 statements; leave binary_log out, or the arm with arms = […]",
                cell.name, arm.name
            );
            found.add(path.clone(), message);
        }
    }
}

/// `path` is that of what the arm has at rest.
fn check_sqlcipher(arm: &Arm, sqlcipher: &SqlCipher, path: &Path, found: &mut Found) {
    let name = &arm.name;
    let path = path.key("sqlcipher");
    if let Some(part) = arm.at_rest.parts().next() {
        let message = format!(
            "arm {name:?}: sqlcipher is SQLite's alone, and {part} is a server's; leave one of them out"
        );
        found.add(path.clone(), message);
    }
    let (least, most) = SqlCipher::KDF_ITER.into_inner();
    if !SqlCipher::KDF_ITER.contains(&sqlcipher.kdf_iter) {
        let message = format!("arm {name:?}: sqlcipher.kdf_iter must lie between {least} and {most}");
        found.add(path.key("kdf_iter"), message);
    }
    let (least, most) = SqlCipher::PAGE_SIZE.into_inner();
    if !SqlCipher::PAGE_SIZE.contains(&sqlcipher.page_size) || !sqlcipher.page_size.is_power_of_two() {
        let message =
            format!("arm {name:?}: sqlcipher.page_size must be a power of two between {least} and {most}");
        found.add(path.key("page_size"), message);
    }
}

/// What SQLCipher does for the whole process and cannot take back. An arm without it would have it all the same.
pub(super) fn check_memory_security(study: &Study, found: &mut Found) {
    let is_secured = |arm: &Arm| {
        arm.at_rest
            .sqlcipher
            .is_some_and(|sqlcipher| sqlcipher.memory_security)
    };
    let secured = study.arms.iter().position(is_secured);
    let other = study.arms.iter().find(|arm| !is_secured(arm));
    if let (Some(secured), Some(other)) = (secured, other) {
        let message = format!(
            "arm {:?}: memory_security is for the whole process and cannot be taken back, so that the arm {:?} would have it \
             too; set it in all arms or in none, and compare two runs",
            study.arms[secured].name, other.name
        );
        let at_rest = Path::of("arm").entry(secured).key("at_rest");
        found.add(at_rest.key("sqlcipher").key("memory_security"), message);
    }
}

/// A log that nobody writes cannot be encrypted.
pub(super) fn check_binary_log(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
    let encrypts_log = |arm: &&Arm| arm.at_rest.binary_log;
    let arm = study.arms_of(cell).find(encrypts_log);
    if let (false, Some(arm)) = (study.storage(cell).binary_log, arm) {
        let message = format!(
            "cell {:?}: arm {:?} encrypts the binary log, and the server writes none; add storage = {{ binary_log = true }}, or \
             leave the arm out with arms = […]",
            cell.name, arm.name
        );
        found.add(path.clone(), message);
    }
}

fn only_of_mariadb(at_rest: &AtRest) -> Option<&'static str> {
    let is_its_own =
        |name: &&'static str| ["temporary", "aria", "algorithm", "encryption_threads"].contains(name);
    at_rest.settings_of_server().find(is_its_own)
}

fn only_of_mysql(at_rest: &AtRest) -> Option<&'static str> {
    let is_its_own = |part: &AtRestPart| matches!(part, AtRestPart::UndoLog | AtRestPart::SystemTables);
    at_rest.parts().find(is_its_own).map(AtRestPart::name)
}

/// The database that an arm's login or pooler is for, if it has no encryption at rest of its own.
fn database_without_any(arm: &Arm) -> Option<&'static str> {
    let method = arm.authentication.method;
    let is = |of: fn(AuthenticationMethod) -> bool| method.is_some_and(of);
    if arm.setting_of_postgresql().is_some() || is(AuthenticationMethod::is_of_postgresql) {
        Some("PostgreSQL")
    } else if is(AuthenticationMethod::is_of_mongodb) {
        Some("MongoDB's community server")
    } else {
        None
    }
}
