//! What may make the figures of a run others than those of another, though the same is asked: versions, machines,
//! settings, what was negotiated, who read the server's CPU time.

use ciphertax_base::format;
use ciphertax_base::{Host, SessionFacts};
use ciphertax_model::{Cell, Placement, Study};
use ciphertax_records::{CpuSource, Head, ServerPlacement, ServerRecord};

use crate::asked::keys;

/// Something about a run, in the words that comparisons use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) what: String,
    pub(crate) value: String,
}

/// Facts as they are found; what a record does not say is none.
#[derive(Default)]
struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, what: impl Into<String>, value: impl Into<String>) {
        let (what, value) = (what.into(), value.into());
        if !value.is_empty() {
            self.0.push(Fact { what, value });
        }
    }

    /// A machine, by whose it is: nobody's for the one that made the load.
    fn host(&mut self, whose: &str, host: &Host) {
        for (what, value) in [
            ("processor", host.cpu.clone()),
            ("CPUs", host.cpus.to_string()),
            ("memory", format::bytes(host.memory_bytes as f64)),
            ("hypervisor", host.virtualization.clone()),
            ("operating system", host.os.clone()),
            ("kernel", host.kernel.clone()),
        ] {
            self.add(format!("{whose}{what}"), value);
        }
    }
}

/// Those of the machine that made the load, and of ciphertax there.
pub(crate) fn of_machine(head: &Head) -> Vec<Fact> {
    let mut facts = Facts::default();
    facts.host("", &head.host);
    facts.add("kernel's cipher", head.kernel_cipher.clone().unwrap_or_default());
    let ranks = head.ranks.len();
    let ranks = (ranks > 0).then(|| format!("{ranks}, started by MPI"));
    facts.add("load generators", ranks.unwrap_or_default());
    facts.add(
        "ciphertax",
        format!("{} ({})", head.tool.version, head.tool.commit),
    );
    facts.add("target", head.target.clone().unwrap_or_default());
    facts.0
}

/// How it was measured.
pub(crate) fn of_method(study: &Study) -> Vec<Fact> {
    let mut facts = Facts::default();
    let placement = match study.placement {
        Placement::Free => "free",
        Placement::Together => "together on one CPU",
    };
    facts.add("placement of threads", placement);
    facts.add(
        "length of a slice",
        match study.cells.iter().any(|cell| study.has_free_slices(cell)) {
            true => "as the load bears".to_owned(),
            false => format!("{} s", study.slice_seconds()),
        },
    );
    facts.add(
        "precision of CPU",
        format!("±{}", format::share(study.precision.cpu)),
    );
    facts.add(
        "precision of speed",
        format!("±{}", format::share(study.precision.throughput)),
    );
    facts.0
}

/// Memory and writing of the private server of a cell.
pub(crate) fn of_storage(study: &Study, cell: &Cell) -> Vec<Fact> {
    let mut facts = Facts::default();
    for (key, value) in keys(&study.storage(cell)) {
        facts.add(format!("storage.{key}"), value);
    }
    facts.0
}

/// Those of a server: which it is, where, how it is set, and who read its CPU time.
pub(crate) fn of_server(server: &ServerRecord) -> Vec<Fact> {
    let mut facts = Facts::default();
    facts.add("server", format!("{} {}", server.product, server.version));
    facts.add("server's TLS library", server.tls_library.clone());
    let whose = match server.placement {
        ServerPlacement::Private => "private",
        ServerPlacement::External => "one of your own",
        ServerPlacement::Embedded => "none, the database runs in its client",
    };
    let place = match server.same_host || server.placement == ServerPlacement::Embedded {
        true => "",
        false => ", on another machine",
    };
    facts.add("whose server", format!("{whose}{place}"));
    if let Some(through) = &server.through {
        facts.add("server reached through", through.clone());
    }
    if let Some(reader) = reader(server) {
        facts.add("server's CPU read by", reader);
    }
    if let Some(counts) = counted(server) {
        facts.add("server's CPU is that of", counts);
    }
    if let Some(CpuSource::Agent(agent)) = &server.cpu_from {
        facts.host("server's ", &agent.host);
    }
    for (name, value) in &server.settings {
        facts.add(format!("setting {name}"), value.clone());
    }
    for (name, value) in &server.overridden {
        facts.add(format!("setting {name}, not taken over"), value.clone());
    }
    facts.0
}

/// Who read the server's CPU time; `None` where there is no server.
fn reader(server: &ServerRecord) -> Option<String> {
    if server.placement == ServerPlacement::Embedded {
        return None;
    }
    Some(match (&server.cpu_unread, &server.cpu_from) {
        (Some(_), _) => "nobody".into(),
        (None, Some(CpuSource::Agent(_))) => "an agent on its machine".into(),
        (None, Some(CpuSource::Counter(counter))) => format!("a counter: {}", counter.source),
        (None, None) => "ciphertax itself".into(),
    })
}

/// Whose CPU time stands for the server's: its processes', unless somebody else counts; `None` where it was not read.
pub(crate) fn counted(server: &ServerRecord) -> Option<&str> {
    match &server.cpu_from {
        _ if server.cpu_unread.is_some() || server.placement == ServerPlacement::Embedded => None,
        Some(CpuSource::Counter(counter)) => Some(&counter.counts),
        Some(CpuSource::Agent(_)) | None => Some("its processes"),
    }
}

/// What a session negotiated.
pub(crate) fn of_session(session: &SessionFacts) -> Vec<Fact> {
    let mut facts = Facts::default();
    if let Some(tls) = &session.tls {
        facts.add("TLS version", tls.version.clone());
        facts.add("cipher", tls.cipher.clone());
        facts.add("group", tls.group.clone());
        let certificate = &tls.certificate;
        facts.add(
            "certificate",
            format!("{}, {}", certificate.key, certificate.signature),
        );
        facts.add("certificates sent", certificate.chain_length.to_string());
        facts.add("verification", tls.verification.to_string());
        facts.add("client's TLS library", tls.client_library.clone());
        facts.add("session", if tls.resumed { "resumed" } else { "full handshake" });
        facts.add("second ClientHello", tls.hello_retry_request.to_string());
    }
    facts.add("login", session.authentication.to_string());
    facts.0
}
