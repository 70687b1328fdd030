//! What the client's TLS library cannot do, and what a server of the catalogue cannot: asked of its capabilities, which are held to
//! by tests against the real server.

use std::fmt::Display;

use ciphertax_lab::catalogue::{Ciphers, Entry};
use ciphertax_model::{
    Arm, AuthenticationMethod, PasswordCache, Refusal, Resumption, TlsLibrary, TlsNegotiation, TlsVersion,
    refuse_if,
};

use ciphertax_wire::tls::unknown_cipher;

use super::{At, Rule, of_arm_in, of_cell};

pub(super) const RULES: &[Rule] = &[
    of_cell("nodes", |_, at| {
        let is_one = at.entry?.capabilities.cluster.is_none() && at.spec.is_cluster();
        let setting = format!("a cluster of {} nodes", at.spec.nodes);
        refuse_if(is_one, cannot(at, setting, "a single server"))
    }),
    of_cell("storage", |_, at| {
        let known = at.entry?.capabilities.storage;
        let mut named = at.spec.storage.named();
        let name = named.find(|name| !known.settings.contains(name))?;
        let instead = format!("storage.{}", list(known.settings));
        Some(Refusal::new(cannot(at, format!("storage.{name}"), instead)))
    }),
    of_cell("memory", |_, at| {
        let least = at.entry?.capabilities.storage.least_memory_mb;
        let mb = at.spec.storage.memory_mb?;
        let instead = format!("{least} MB and more");
        refuse_if(
            mb < least,
            cannot(at, format!("storage.memory_mb = {mb}"), instead),
        )
    }),
    of_arm_in("tls-version", |_, at, arm| {
        let known = at.entry?.capabilities.tls_versions;
        let version = arm.transport.tls_version()?;
        refuse_if(!known.contains(&version), cannot(at, version, list(known)))
    }),
    of_arm_in("certificate", |asked, at, arm| {
        let known = at.entry?.capabilities.certificates;
        let kind = asked.study.certificate_of(arm, &at.spec).kind;
        // A server has one as soon as anything of the study is encrypted, be it that no arm of its cells is: the baseline says it.
        let mut arms = asked.study.arms_of(at.cell);
        let is_shown = arms.any(|arm| arm.transport.is_encrypted());
        let is_baseline = arm.name == asked.study.baseline().name;
        let has_one = at.protocol.is_some() && asked.study.needs_tls() && !is_shown && is_baseline;
        let is_unknown = (arm.transport.is_encrypted() || has_one) && !known.contains(&kind);
        let why = cannot(at, format!("a certificate {kind}"), list(known));
        refuse_if(is_unknown, why)
    }),
    of_arm_in("rustls", |_, at, arm| {
        let version = version(at, arm)?;
        let is_too_old = arm.tls.library == TlsLibrary::Rustls && version < TlsVersion::V1_2;
        let why = cannot(at, format!("{version} with rustls"), "it with openssl");
        refuse_if(is_too_old, why)
    }),
    of_arm_in("client-certificate", |_, at, arm| {
        version(at, arm)?;
        let (known, kind) = (at.entry?.capabilities.certificates, arm.tls.client_certificate?);
        let why = cannot(at, format!("a client certificate {kind}"), list(known));
        refuse_if(!known.contains(&kind), why)
    }),
    of_arm_in("group", |_, at, arm| {
        version(at, arm)?;
        let (known, group) = (at.entry?.capabilities.groups, arm.tls.group?);
        let why = cannot(at, format!("the group {group}"), list(known));
        refuse_if(!known.contains(&group), why)
    }),
    of_arm_in("unknown-cipher", |_, _, arm| {
        let cipher = arm
            .tls
            .cipher
            .as_deref()
            .filter(|_| arm.transport.is_encrypted())?;
        Some(Refusal::new(unknown_cipher(cipher).ok()??))
    }),
    of_arm_in("cipher", |_, at, arm| {
        version(at, arm)?;
        let (known, cipher) = (at.entry?.capabilities.ciphers, arm.tls.cipher.as_deref()?);
        let instead = match known {
            Ciphers::Only(names) => list(names),
            Ciphers::Without(words) => format!("the ciphers of its library without {}", list(words)),
        };
        let why = cannot(at, format!("the cipher {cipher}"), instead);
        refuse_if(!known.has(cipher), why)
    }),
    of_arm_in("resumption", |_, at, arm| {
        let (version, wanted) = (version(at, arm)?, arm.tls.resumption);
        let known = at.entry?.capabilities.resumed_by(version);
        let instead = [Resumption::Off].iter().chain(known).map(|way| way.name());
        let setting = format!("resumption by {} in {version}", wanted.name());
        let is_known = wanted == Resumption::Off || known.contains(&wanted);
        refuse_if(!is_known, cannot(at, setting, list(instead)))
    }),
    of_arm_in("negotiation", |_, at, arm| {
        version(at, arm)?;
        let is_direct = arm.tls.negotiation == TlsNegotiation::Direct && !at.entry?.capabilities.direct_tls;
        let why = cannot(at, "TLS without a request", "TLS after a request");
        refuse_if(is_direct, why)
    }),
    of_arm_in("login", |_, at, arm| {
        let (known, method) = (at.entry?.capabilities.authentication, arm.authentication.method?);
        let why = cannot(at, format!("authentication by {method}"), list(known));
        refuse_if(!known.contains(&method), why)
    }),
    of_arm_in("warm-cache", |_, at, arm| {
        let entry = at.entry?;
        let method = arm.authentication.method.unwrap_or(entry.default_method());
        let is_warm = arm.authentication.password_cache == PasswordCache::Warm;
        let never = method == AuthenticationMethod::CachingSha2Password
            && entry.capabilities.authentication.contains(&method)
            && entry.capabilities.forget_passwords.is_none();
        let why = cannot(at, "a warm password cache", "cold ones: it remembers no password");
        refuse_if(is_warm && never, why)
    }),
    of_arm_in("part-at-rest", |_, at, arm| {
        let known = at.entry?.capabilities.at_rest.parts;
        let unknown: Vec<_> = arm.at_rest.parts().filter(|part| !known.contains(part)).collect();
        let why = cannot(at, format!("{} at rest", list(&unknown)), at_rest(at.entry?));
        refuse_if(!unknown.is_empty(), why)
    }),
    // One that encrypts nothing by itself is refused its parts, and the algorithm and the threads belong to them.
    of_arm_in("algorithm-at-rest", |_, at, arm| {
        let known = at.entry?.capabilities.at_rest;
        let algorithm = arm
            .at_rest
            .algorithm
            .filter(|algorithm| !known.algorithms.contains(algorithm))?;
        let instead = match known.algorithms {
            [] => "its own cipher at rest, which leaves no choice: leave algorithm out".to_owned(),
            algorithms => format!("{} at rest", list(algorithms)),
        };
        let why = cannot(at, format!("{algorithm} at rest"), instead);
        refuse_if(!known.parts.is_empty(), why)
    }),
    of_arm_in("threads-at-rest", |_, at, arm| {
        let known = at.entry?.capabilities.at_rest;
        let has_none = !known.parts.is_empty() && !known.encryption_threads;
        let why = cannot(at, "encryption_threads at rest", "it without them");
        refuse_if(has_none && arm.at_rest.encryption_threads > 0, why)
    }),
    of_arm_in("sqlcipher", |_, at, arm| {
        let known = at.entry?.capabilities.at_rest.sqlcipher;
        let why = cannot(at, "sqlcipher at rest", at_rest(at.entry?));
        refuse_if(arm.at_rest.sqlcipher.is_some() && !known, why)
    }),
];

/// The sentence that refuses what a server cannot do.
fn cannot(at: &At<'_>, setting: impl Display, instead: impl Display) -> String {
    let server = &at.spec.server;
    format!("{server} cannot do {setting}; it can do {instead}")
}

/// The words, separated by commas; `none of its kind` if there are none.
fn list(words: impl IntoIterator<Item = impl Display>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| word.to_string()).collect();
    match words.is_empty() {
        true => "none of its kind".to_owned(),
        false => words.join(", "),
    }
}

/// The version of TLS that an arm uses, the newest of the server's if it does not say; `None` without TLS, or for one that the
/// server does not have: what other settings would need of it is of no use.
fn version(at: &At<'_>, arm: &Arm) -> Option<TlsVersion> {
    let known = at.entry?.capabilities.tls_versions;
    let version = arm.transport.tls_version().or(known.last().copied());
    version.filter(|version| arm.transport.is_encrypted() && known.contains(version))
}

/// What a server can encrypt on the disk, in words.
fn at_rest(entry: &Entry) -> String {
    match (
        entry.capabilities.at_rest.parts,
        entry.capabilities.at_rest.sqlcipher,
    ) {
        (_, true) => "sqlcipher at rest".to_owned(),
        ([], false) => "file_system at rest, and encrypts nothing by itself".to_owned(),
        (parts, false) => format!("{} at rest", list(parts)),
    }
}
