//! What an arm of PostgreSQL's cannot be.

use super::found::{Found, Path};
use crate::arm::Arm;
use crate::authentication::{Authentication, AuthenticationMethod};
use crate::tls::Resumption;

pub(super) fn check_arm(arm: &Arm, path: &Path, found: &mut Found) {
    let is_resumed = arm.transport.is_encrypted() && arm.tls.resumption != Resumption::Off;
    if is_resumed && is_of_postgresql(arm) {
        let message = format!(
            "arm {:?}: PostgreSQL resumes no TLS sessions; leave resumption out",
            arm.name
        );
        found.add(path.key("tls").key("resumption"), message);
    }
    check_scram(arm, &path.key("authentication"), found);
}

fn check_scram(arm: &Arm, path: &Path, found: &mut Found) {
    let name = &arm.name;
    let method = arm.authentication.method;
    if method == Some(AuthenticationMethod::ScramSha256Plus) && !arm.transport.is_encrypted() {
        let message = format!(
            "arm {name:?}: SCRAM-SHA-256-PLUS binds the login to the TLS session; give it a TLS transport, or take \
             SCRAM-SHA-256"
        );
        found.add(path.key("method"), message);
    }
    let Some(iterations) = arm.authentication.scram_iterations else {
        return;
    };
    let path = path.key("scram_iterations");
    let is_of_postgresql = |method: AuthenticationMethod| method.is_scram() && method.is_of_postgresql();
    if !method.is_some_and(is_of_postgresql) {
        let message = format!(
            "arm {name:?}: only SCRAM-SHA-256 and SCRAM-SHA-256-PLUS on PostgreSQL have iterations to choose; leave \
             scram_iterations out or set method"
        );
        found.add(path, message);
    } else if !Authentication::SCRAM_ITERATIONS.contains(&iterations) {
        let (least, most) = Authentication::SCRAM_ITERATIONS.into_inner();
        let message = format!("arm {name:?}: scram_iterations must lie between {least} and {most}");
        found.add(path, message);
    }
}

/// True if an arm has what only PostgreSQL has.
fn is_of_postgresql(arm: &Arm) -> bool {
    let is_only_there = |method: AuthenticationMethod| method.is_of_postgresql() && !method.is_of_mongodb();
    arm.setting_of_postgresql().is_some() || arm.authentication.method.is_some_and(is_only_there)
}
