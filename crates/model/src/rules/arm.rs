//! What is refused of an arm by itself.

use super::{Rule, arms, of_arm, of_values};
use crate::arm::Arm;
use crate::authentication::{AuthenticationMethod, PasswordCache};
use crate::network::{PoolMode, Pooler};
use crate::probe::{Perturbation, Probe, ProbeValue};
use crate::refusal::{Refusal, refuse_if};
use crate::tls::{self, Group, Resumption, TlsLibrary, TlsNegotiation, TlsVersion};

pub(super) const RULES: &[Rule] = &[
    of_arm("plain-tls", "tls", |arm| {
        let why = "it is plain, so its tls settings say nothing; leave them out or give it a TLS transport";
        refuse_if(!arm.transport.is_encrypted() && !arm.tls.is_default(), why)
    }),
    of_arm("plain-certificate", "certificate", |arm| {
        let kind = arm.certificate.filter(|_| !arm.transport.is_encrypted())?;
        let instead = format!("leave {kind} out or give it a TLS transport");
        Some(Refusal::new(format!(
            "it is plain and never shown a certificate; {instead}"
        )))
    }),
    of_arm("cipher", "tls.cipher", |arm| {
        let problem = cipher_problem(encrypted(arm)?)?;
        Some(Refusal::new(format!("{problem}; take another")))
    }),
    of_arm("cipher-without-group", "tls.group", |arm| {
        let cipher = encrypted(arm)?.tls.cipher.as_ref()?;
        let is_without = cipher_problem(arm).is_none() && !tls::uses_group(cipher);
        let instead = "leave group out or take a cipher whose name begins with ECDHE- or TLS_";
        let why = format!("{cipher} exchanges keys without a group; {instead}");
        refuse_if(is_without && arm.tls.group.is_some(), why)
    }),
    of_arm("hybrid-group", "tls.group", |arm| {
        let is_hybrid = arm.tls.group == Some(Group::X25519MlKem768);
        let why = "X25519MLKEM768 is a group of TLS 1.3 alone; take another group, or TLS 1.3";
        refuse_if(is_hybrid && is_before(arm, TlsVersion::V1_3), why)
    }),
    of_arm("session-id-in-tls-1.3", "tls.resumption", |arm| {
        let is_new = arm.transport.tls_version() == Some(TlsVersion::V1_3);
        let why = "TLS 1.3 resumes by ticket alone; take resumption = \"ticket\", or TLS 1.2 or older";
        refuse_if(is_new && by_session_id(arm), why)
    }),
    of_arm("rustls-before-tls-1.2", "tls.library", |arm| {
        let why = "rustls knows TLS 1.2 and 1.3 alone; take library = \"openssl\"";
        refuse_if(by_rustls(arm) && is_before(arm, TlsVersion::V1_2), why)
    }),
    of_arm("session-id-with-rustls", "tls.resumption", |arm| {
        let why = "sessions are resumed by id with library = \"openssl\" alone; with rustls take resumption = \"ticket\"";
        refuse_if(by_rustls(arm) && by_session_id(arm), why)
    }),
    of_arm("resumption-on-postgresql", "tls.resumption", |arm| {
        let is_resumed = encrypted(arm)?.tls.resumption != Resumption::Off;
        let is_only_there =
            |method: AuthenticationMethod| method.is_of_postgresql() && !method.is_of_mongodb();
        let is_its = arm.setting_of_postgresql().is_some() || has(arm, is_only_there);
        refuse_if(
            is_resumed && is_its,
            "PostgreSQL resumes no TLS sessions; leave resumption out",
        )
    }),
    of_arm("cold-cache", "authentication.password_cache", |arm| {
        let caches = |method: AuthenticationMethod| {
            method == AuthenticationMethod::CachingSha2Password || method.is_scram()
        };
        let is_cold = arm.authentication.password_cache == PasswordCache::Cold;
        let why = "only caching_sha2_password and the methods of SCRAM have a password cache; leave password_cache \
                   out or set method";
        refuse_if(is_cold && !has(arm, caches), why)
    }),
    of_arm("speculative", "authentication.speculative", |arm| {
        let greets =
            |method: AuthenticationMethod| method.is_of_mongodb() && method != AuthenticationMethod::NoLogin;
        let why = "only SCRAM-SHA-1, SCRAM-SHA-256 and MONGODB-X509 can begin with the greeting; leave speculative \
                   out or set method";
        refuse_if(!arm.authentication.speculative && !has(arm, greets), why)
    }),
    of_arm("certificate-without-tls", "authentication.method", |arm| {
        let method = by_certificate(arm)?;
        let why = format!("{method} is a login by TLS; give it a TLS transport");
        refuse_if(!arm.transport.is_encrypted(), why)
    }),
    of_arm("no-client-certificate", "authentication.method", |arm| {
        let method = by_certificate(encrypted(arm)?)?;
        let instead = "add tls = { client_certificate = \"ecdsa-p256\" }";
        let why = format!("{method} is a login by certificate; {instead}");
        refuse_if(arm.tls.client_certificate.is_none(), why)
    }),
    of_arm("unix-socket-with-tls", "authentication.method", |arm| {
        let why = "a login by unix_socket is not over TCP, so it cannot use TLS; take transport = \"plain\"";
        refuse_if(by_socket(arm) && arm.transport.is_encrypted(), why)
    }),
    of_arm("unix-socket-in-tunnel", "authentication.method", |arm| {
        let why = "a login by unix_socket is not over TCP, so it cannot use a tunnel; leave tunnel out";
        refuse_if(by_socket(arm) && arm.tunnel.is_some(), why)
    }),
    of_arm("scram-plus-without-tls", "authentication.method", |arm| {
        let binds = has(arm, |method| method == AuthenticationMethod::ScramSha256Plus);
        let why = "SCRAM-SHA-256-PLUS binds the login to the TLS session; give it a TLS transport, or take \
                   SCRAM-SHA-256";
        refuse_if(binds && !arm.transport.is_encrypted(), why)
    }),
    of_arm("scram-iterations", "authentication.scram_iterations", |arm| {
        let chooses = |method: AuthenticationMethod| method.is_scram() && method.is_of_postgresql();
        let why = "only SCRAM-SHA-256 and SCRAM-SHA-256-PLUS on PostgreSQL have iterations to choose; leave \
                   scram_iterations out or set method";
        refuse_if(
            arm.authentication.scram_iterations.is_some() && !has(arm, chooses),
            why,
        )
    }),
    of_arm("tunnel-and-pooler", "pooler", |arm| {
        refuse_if(
            pooled(arm)?.tunnel.is_some(),
            "it has a tunnel and a pooler; leave one of them out",
        )
    }),
    of_arm("pooler-direct-tls", "tls.negotiation", |arm| {
        let is_direct = pooled(arm)?.tls.negotiation == TlsNegotiation::Direct;
        refuse_if(is_direct, "a pooler must be asked for TLS; leave negotiation out")
    }),
    of_arm("pooler-channel-binding", "authentication.method", |arm| {
        let binds = has(pooled(arm)?, |method| {
            method == AuthenticationMethod::ScramSha256Plus
        });
        refuse_if(
            binds,
            "a pooler binds no login to its TLS session; take SCRAM-SHA-256",
        )
    }),
    of_arm("pooler-login", "authentication.method", |arm| {
        let is_of_postgresql = arm.pooler?.program.is_of_postgresql();
        let method = arm
            .authentication
            .method
            .filter(|method| method.is_of_postgresql() || !is_of_postgresql)?;
        let is_passed_on = method.is_served_by_poolers() || method == AuthenticationMethod::ScramSha256Plus;
        let instead = match is_of_postgresql {
            true => "SCRAM-SHA-256, md5 or trust",
            false => "caching_sha2_password",
        };
        let why =
            format!("a pooler cannot log in to the server by {method} in a client's name; take {instead}");
        refuse_if(!is_passed_on, why)
    }),
    of_arm("pooler-scram-keys", "authentication.password_cache", |arm| {
        let program = arm.pooler?.program;
        let asks_scram = arm
            .authentication
            .method
            .is_none_or(AuthenticationMethod::is_scram);
        let is_warm = arm.authentication.password_cache == PasswordCache::Warm;
        let why = format!(
            "{} gives SCRAM another salt at each login, so no client remembers its keys; take method = \"md5\", or where all \
             cells make connections SCRAM-SHA-256 with password_cache = \"cold\"",
            program.name()
        );
        refuse_if(program.changes_salts() && asks_scram && is_warm, why)
    }),
    of_arm(
        "pooler-scram-iterations",
        "authentication.scram_iterations",
        |arm| {
            let program = arm.pooler?.program;
            let asks = arm.authentication.scram_iterations.is_some();
            let why = format!(
                "{} has iterations of SCRAM of its own; leave scram_iterations out, or take the program pgbouncer",
                program.name()
            );
            refuse_if(asks && !program.keeps_iterations(), why)
        },
    ),
    of_arm("pooler-client-certificate", "tls.client_certificate", |arm| {
        let is_asked = has(pooled(arm)?, |method| method == AuthenticationMethod::Cert);
        let why = "a pooler asks no client for a certificate; leave client_certificate out";
        refuse_if(arm.tls.client_certificate.is_some() && !is_asked, why)
    }),
    of_arm("pool-mode", "pooler.pool_mode", |arm| {
        let pooler = arm.pooler?;
        let shares = pooler.pool_mode == PoolMode::Transaction;
        let why = format!(
            "{} keeps a connection to the server for each client until it leaves; take pool_mode = \"session\"",
            pooler.program.name()
        );
        refuse_if(shares && !pooler.program.pools_transactions(), why)
    }),
    of_arm("pooler-transport", "pooler.server_transport", |arm| {
        let Pooler {
            program,
            server_transport,
            ..
        } = arm.pooler?;
        let instead = match program.is_of_postgresql() {
            true => "the program pgbouncer, or server_transport = \"tls1.3\"",
            false => "server_transport = \"plain\"",
        };
        let why = format!(
            "{} cannot be told to reach the server over {server_transport} where its clients use {}; take {instead}",
            program.name(),
            arm.transport
        );
        refuse_if(!program.reaches_server_by(server_transport, arm.transport), why)
    }),
    of_arm("idle-algorithm", "at_rest.algorithm", |arm| {
        let why = format!(
            "{} encrypts nothing yet; add tables = true, or another part",
            arm.at_rest.algorithm?
        );
        refuse_if(arm.at_rest.parts().next().is_none(), why)
    }),
    of_arm("idle-encryption-threads", "at_rest.encryption_threads", |arm| {
        let why = "encryption threads encrypt tables; add tables = true, or leave encryption_threads out";
        refuse_if(arm.at_rest.encryption_threads > 0 && !arm.at_rest.tables, why)
    }),
    of_arm("sqlcipher-page-size", "at_rest.sqlcipher.page_size", |arm| {
        let size = arm.at_rest.sqlcipher?.page_size;
        refuse_if(
            !size.is_power_of_two(),
            format!("sqlcipher.page_size is {size}; take a power of two"),
        )
    }),
    of_arm("unclear-probe", "probe", |arm| {
        let why = "a probe says one thing; give either variable and value, such as { variable = \"sync_binlog\", \
                   value = 0 }, or cpus";
        refuse_if(arm.probe.as_ref()?.perturbation().is_none(), why)
    }),
    of_arm("probe-without-cpu", "probe.cpus", |arm| {
        let has_none = arm.probe.as_ref()?.perturbation()? == Perturbation::Cpus(0);
        refuse_if(has_none, "a server needs a CPU; take probe = { cpus = 1 }")
    }),
    of_values("probe-words", "probe", |study| {
        let limit = format!("{} at most", Probe::LONGEST);
        let mut found = Vec::new();
        for (place, arm) in arms(study) {
            let Some(Perturbation::Variable(name, value)) = arm.probe.as_ref().and_then(Probe::perturbation)
            else {
                continue;
            };
            if !Probe::is_name(name) {
                let instead = "it must be letters, digits and underscores, beginning with a letter";
                let why = format!("{name:?} is no name of a variable; {instead}, {limit}");
                found.push(place.at("probe.variable", Refusal::new(why)));
            }
            if let ProbeValue::Text(text) = value
                && !Probe::is_plain(text)
            {
                let instead = "it must be letters, digits, spaces and _-+=.,:/";
                let why = format!("{text:?} is no value for a probe; {instead}, {limit}");
                found.push(place.at("probe.value", Refusal::new(why)));
            }
        }
        found
    }),
];

/// The arm, if it uses TLS: what others say of TLS is refused as a whole.
fn encrypted(arm: &Arm) -> Option<&Arm> {
    arm.transport.is_encrypted().then_some(arm)
}

/// Why an arm's client cannot offer the cipher it asks for.
fn cipher_problem(arm: &Arm) -> Option<String> {
    tls::problem(
        arm.tls.cipher.as_ref()?,
        arm.transport.tls_version(),
        arm.tls.library,
    )
}

/// The arm, if it has a pooler.
fn pooled(arm: &Arm) -> Option<&Arm> {
    arm.pooler.map(|_| arm)
}

fn by_certificate(arm: &Arm) -> Option<AuthenticationMethod> {
    arm.authentication
        .method
        .filter(|method| method.is_by_certificate())
}

fn is_before(arm: &Arm, least: TlsVersion) -> bool {
    arm.transport.tls_version().is_some_and(|version| version < least)
}

fn by_rustls(arm: &Arm) -> bool {
    arm.transport.is_encrypted() && arm.tls.library == TlsLibrary::Rustls
}

fn by_session_id(arm: &Arm) -> bool {
    arm.tls.resumption == Resumption::SessionId
}

fn by_socket(arm: &Arm) -> bool {
    has(arm, |method| method == AuthenticationMethod::UnixSocket)
}

fn has(arm: &Arm, is: fn(AuthenticationMethod) -> bool) -> bool {
    arm.authentication.method.is_some_and(is)
}
