//! What cannot be encrypted at rest by one server, or says nothing.

use super::found::{Found, Path};
use crate::arm::Arm;
use crate::at_rest::{AtRest, AtRestPart};
use crate::authentication::AuthenticationMethod;
use crate::sqlcipher::SqlCipher;
use crate::study::{Cell, Study};

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
