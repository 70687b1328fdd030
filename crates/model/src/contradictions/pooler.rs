//! What an arm with a pooler cannot be, and what cannot be asked through one.

use super::found::{Found, Path};
use crate::arm::Arm;
use crate::authentication::AuthenticationMethod;
use crate::pooler::PoolMode;
use crate::study::{Cell, Study};
use crate::tls::TlsNegotiation;
use crate::workload::Workload;

pub(super) fn check_arm(arm: &Arm, path: &Path, found: &mut Found) {
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
pub(super) fn check_cell(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
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
