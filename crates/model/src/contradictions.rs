//! Contradictions in a study that its types allow.

use std::collections::HashSet;

use crate::arm::Arm;
use crate::authentication::{AuthenticationMethod, PasswordCache};
use crate::cipher;
use crate::dataset::Dataset;
use crate::link::{Link, LinkKind};
use crate::metric::Metric;
use crate::nearest::hint;
use crate::published::{Published, PublishedFigure};
use crate::replica_set::{ReadPreference, ReplicaSet};
use crate::study::{BASELINE_AGAIN, Cell, Load, Placement, Study};
use crate::tls::{Group, Resumption, TlsLibrary, TlsSettings};
use crate::transport::TlsVersion;
use crate::tunnel::Tunnel;
use crate::workload::{Mix, Workload};
use crate::ycsb::YcsbTable;

/// Something that is wrong, and where in the study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contradiction {
    pub(crate) path: Path,
    pub(crate) message: String,
}

/// The keys that lead to a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Path(Vec<Step>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Key(&'static str),
    /// The entry of a list, from 0.
    Entry(usize),
}

impl Path {
    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The value itself, named by `key` and in a list by its place there.
    fn of(key: &'static str) -> Self {
        Self::default().key(key)
    }

    fn key(&self, key: &'static str) -> Self {
        self.step(Step::Key(key))
    }

    fn entry(&self, index: usize) -> Self {
        self.step(Step::Entry(index))
    }

    fn step(&self, step: Step) -> Self {
        Self(self.0.iter().copied().chain([step]).collect())
    }
}

/// All contradictions of a study.
pub(crate) fn contradictions(study: &Study) -> Vec<Contradiction> {
    let mut found = Found::default();
    check_names(study, &mut found);
    check_measuring(study, &mut found);
    check_placement(study, &mut found);
    if let Some(link) = &study.link {
        check_link(link, &Path::of("link"), &mut found);
    }
    if let Some(replica_set) = study.replica_set {
        check_replica_set(replica_set, &Path::of("replica_set"), &mut found);
    }
    for (index, arm) in study.arms.iter().enumerate() {
        check_arm(arm, &Path::of("arm").entry(index), &mut found);
    }
    for (index, cell) in study.cells.iter().enumerate() {
        check_cell(study, cell, &Path::of("cell").entry(index), &mut found);
    }
    for (index, row) in study.published.iter().enumerate() {
        check_published(study, row, &Path::of("published").entry(index), &mut found);
    }
    found.0
}

#[derive(Default)]
struct Found(Vec<Contradiction>);

impl Found {
    fn add(&mut self, path: Path, message: impl Into<String>) {
        let message = message.into();
        self.0.push(Contradiction { path, message });
    }
}

fn check_names(study: &Study, found: &mut Found) {
    if study.arms.len() < 2 {
        let message = "a comparison needs at least two arms: a baseline and a variant";
        found.add(Path::of("arm"), message);
    }
    if study.cells.is_empty() {
        found.add(Path::of("cell"), "there is no cell: nothing would be measured");
    }
    let arms: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
    let cells: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    for (kind, names) in [("arm", arms), ("cell", cells)] {
        let mut seen = HashSet::new();
        for (index, name) in names.into_iter().enumerate() {
            let path = Path::of(kind).entry(index).key("name");
            if !seen.insert(name) {
                let message = format!("two {kind}s are named {name:?}; {kind} names must be unique");
                found.add(path, message);
            } else if name.trim().is_empty() || name.contains(char::is_control) {
                let message = format!("{name:?} is no name: it must be one line of text");
                found.add(path, message);
            } else if kind == "arm" && name == BASELINE_AGAIN {
                found.add(
                    path,
                    format!("the arm name {name:?} is taken by the noise-floor arm"),
                );
            }
        }
    }
}

fn check_measuring(study: &Study, found: &mut Found) {
    if !(0.05..=10.0).contains(&study.slice_s) {
        let message = format!(
            "slice_s is {}; it must lie between 0.05 and 10 seconds",
            study.slice_s
        );
        found.add(Path::of("slice_s"), message);
    }
    if !(1.0..=86_400.0).contains(&study.time_s) {
        let message = format!(
            "time_s is {}; it must lie between 1 second and one day",
            study.time_s
        );
        found.add(Path::of("time_s"), message);
    }
    let precision = &study.precision;
    for (key, value) in [("cpu", precision.cpu), ("throughput", precision.throughput)] {
        if !(0.0005..=0.5).contains(&value) {
            let message = format!("precision.{key} is {value}; it must lie between 0.0005 and 0.5");
            found.add(Path::of("precision").key(key), message);
        }
    }
    let dataset = &study.dataset;
    for (key, value, most) in [
        ("tables", dataset.tables, Dataset::MOST_TABLES),
        ("table_size", dataset.table_size, Dataset::MOST_ROWS),
    ] {
        if !(1..=most).contains(&value) {
            let message = format!("dataset.{key} is {value}; it must lie between 1 and {most}");
            found.add(Path::of("dataset").key(key), message);
        }
    }
    let table = &study.ycsb;
    for (key, value, most) in [
        ("record_count", table.record_count, Dataset::MOST_ROWS),
        ("field_count", table.field_count.into(), YcsbTable::MOST_FIELDS),
        ("field_length", table.field_length, YcsbTable::LONGEST_FIELD),
        ("batch_size", table.batch_size, YcsbTable::LARGEST_BATCH),
        ("load_threads", table.load_threads, YcsbTable::MOST_LOADERS),
    ] {
        if !(1..=most).contains(&value) {
            let message = format!("ycsb.{key} is {value}; it must lie between 1 and {most}");
            found.add(Path::of("ycsb").key(key), message);
        }
    }
    if table.record_bytes() > YcsbTable::LARGEST_RECORD {
        let message = format!(
            "records of {} bytes are too large; field_count times field_length must be at most {}",
            table.record_bytes(),
            YcsbTable::LARGEST_RECORD
        );
        found.add(Path::of("ycsb").key("field_length"), message);
    }
    if !(1..=4).contains(&study.chain_length) {
        let message = format!(
            "chain_length is {}; it must lie between 1 and 4",
            study.chain_length
        );
        found.add(Path::of("chain_length"), message);
    }
}

fn check_link(link: &Link, path: &Path, found: &mut Found) {
    for (key, message) in link.problems() {
        found.add(path.key(key), message);
    }
}

fn check_arm(arm: &Arm, path: &Path, found: &mut Found) {
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
}

fn check_tls(arm: &Arm, path: &Path, found: &mut Found) {
    let (name, tls) = (&arm.name, &arm.tls);
    let version = arm.transport.tls_version();
    let is_before = |least| version.is_some_and(|version| version < least);
    if let Some(cipher) = &tls.cipher {
        if let Some(problem) = cipher::problem(cipher, version, tls.library) {
            found.add(path.key("cipher"), format!("arm {name:?}: {problem}"));
        } else if tls.group.is_some() && !cipher::uses_group(cipher) {
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
            "arm {name:?}: only caching_sha2_password, SCRAM-SHA-1 and SCRAM-SHA-256 have a password cache; leave \
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
    if method == Some(AuthenticationMethod::MongodbX509) {
        if !arm.transport.is_encrypted() {
            let message = format!("arm {name:?}: MONGODB-X509 is a login by TLS; give it a TLS transport");
            found.add(authentication.key("method"), message);
        } else if arm.tls.client_certificate.is_none() {
            let message = format!(
                "arm {name:?}: MONGODB-X509 is a login by certificate; add tls = {{ client_certificate = \"ecdsa-p256\" }}"
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

fn check_cell(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
    let name = &cell.name;
    match cell.workload.is_program() {
        true => check_command(study, cell, path, found),
        false => check_engine_load(study, cell, path, found),
    }
    if let Some(link) = &cell.link {
        check_link(link, &path.key("link"), found);
    }
    if let Some(replica_set) = cell.replica_set {
        check_replica_set(replica_set, &path.key("replica_set"), found);
    }
    let with_own = study.arms.iter().find(|arm| arm.certificate.is_some());
    if let (Some(_), Some(arm)) = (cell.certificate, with_own) {
        let message = format!(
            "cell {name:?}: the certificate differs by cell or by arm, not both, and arm {:?} names one too; leave one of them \
             out",
            arm.name
        );
        found.add(path.key("certificate"), message);
    }
    check_reading(study, cell, path, found);
    check_mix(cell, path, found);
    if cell.keep_operations && cell.workload.is_program() {
        let message =
            format!("cell {name:?}: only a program knows its single operations; leave keep_operations out");
        found.add(path.key("keep_operations"), message);
    }
    check_arms_of_cell(study, cell, &path.key("arms"), found);
    let is_distant = study.link(cell).is_some();
    for arm in study.arms_of(cell).filter(|_| is_distant) {
        if arm.tunnel == Some(Tunnel::Wireguard) && study.link_by == LinkKind::Relay {
            let message = format!(
                "cell {name:?}: the tunnel of arm {:?} sends datagrams, which no TCP relay delays; take link_by = \"tun\", or \
                 leave the arm out with arms = […]",
                arm.name
            );
            found.add(Path::of("link_by"), message);
        }
        if arm.authentication.method == Some(AuthenticationMethod::UnixSocket) {
            let message = format!(
                "cell {name:?}: arm {:?} logs in by unix_socket, which no link reaches; leave the arm out with \
                 arms = […]",
                arm.name
            );
            found.add(path.key("link"), message);
        }
    }
}

fn check_replica_set(replica_set: ReplicaSet, path: &Path, found: &mut Found) {
    if !replica_set.is_electable() {
        let message = "a replica set has 1, 3 or 5 members, so that one of them is always elected";
        found.add(path.key("members"), message);
    }
}

fn check_reading(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
    let replica_set = study.site(cell).replica_set;
    let resumes = |arm: &&Arm| arm.tls.resumption != Resumption::Off;
    if let (Some(_), Some(arm)) = (replica_set, study.arms_of(cell).find(resumes)) {
        let message = format!(
            "cell {:?}: arm {:?} resumes sessions, which a member of a replica set knows only of itself; leave the arm out with \
             arms = […]",
            cell.name, arm.name
        );
        found.add(path.key("replica_set"), message);
    }
    let has_secondaries = replica_set.is_some_and(ReplicaSet::has_secondaries);
    if study.read_preference(cell) == ReadPreference::Primary {
        return;
    }
    let name = &cell.name;
    if !has_secondaries && cell.read_preference.is_some() {
        let message = format!(
            "cell {name:?}: a single server has no secondaries to read from; add replica_set = {{ members = 3 }}, or leave \
             read_preference out"
        );
        found.add(path.key("read_preference"), message);
    }
    if writes_records_alone(cell) && cell.read_preference.is_some() {
        let message = format!(
            "cell {name:?}: {} reads nothing, and only the primary takes writes; leave read_preference out",
            cell.workload.name()
        );
        found.add(path.key("read_preference"), message);
    }
}

/// True if nothing of what a cell asks for by its key is read.
fn writes_records_alone(cell: &Cell) -> bool {
    cell.workload.asks_usertable() && !cell.workload.descriptor().reads
}

fn check_mix(cell: &Cell, path: &Path, found: &mut Found) {
    let name = &cell.name;
    match (cell.workload.descriptor().mix, cell.mix) {
        (Mix::OfCell, None) => {
            let message = format!(
                "cell {name:?}: the workload \"ycsb\" needs its shares: mix = {{ read = 0.95, insert = 0.05 }}"
            );
            found.add(path.key("workload"), message);
        }
        (Mix::OfCell, Some(mix)) => {
            let shares = mix.shares();
            let sum: f64 = shares.iter().sum();
            if shares.iter().any(|share| !(0.0..=1.0).contains(share)) || (sum - 1.0).abs() > 1e-6 {
                let message = format!(
                    "cell {name:?}: the shares of a mix lie between 0 and 1 and add up to 1, not {sum}"
                );
                found.add(path.key("mix"), message);
            }
        }
        (Mix::Core(_) | Mix::None, Some(_)) => {
            let message = format!(
                "cell {name:?}: {} has a mix of its own or none; leave mix out or take workload = \"ycsb\"",
                cell.workload.name()
            );
            found.add(path.key("mix"), message);
        }
        (_, None) => {}
    }
}

/// A link and a tunnel are processes of their own. On the one CPU of server and load they would be billed to both.
fn check_placement(study: &Study, found: &mut Found) {
    let in_the_way = |cell: &Cell| match study.arms_of(cell).find(|arm| arm.tunnel.is_some()) {
        _ if study.link(cell).is_some() => Some(format!("the link of cell {:?}", cell.name)),
        Some(arm) => Some(format!("the tunnel of arm {:?}", arm.name)),
        None => None,
    };
    let what = study.cells.iter().find_map(in_the_way);
    if let (Placement::Together, Some(what)) = (study.placement, what) {
        let message = format!(
            "placement = \"together\" puts server and load on one CPU, but {what} needs a CPU of its own; take \
             placement = \"free\""
        );
        found.add(Path::of("placement"), message);
    }
}

/// Ciphertax makes the load of every workload but `command`.
fn check_engine_load(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
    let name = &cell.name;
    if cell.command.is_some() {
        let message = format!(
            "cell {name:?}: a command is run by workload = \"command\" alone, not by {:?}; leave one of them out",
            cell.workload.name()
        );
        found.add(path.key("command"), message);
    }
    if cell.load.is_none() {
        let message = format!(
            "cell {name:?}: load must say how many connections, from 1 to 100000: load = {{ connections = 8 }}"
        );
        found.add(path.key("load"), message);
    } else {
        check_load(name, &cell.load, study.slice_s, &path.key("load"), found);
    }
}

fn check_command(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
    let name = &cell.name;
    match &cell.command {
        None => {
            let message = format!(
                "cell {name:?}: the workload \"command\" needs a program; add command = {{ run = [\"sysbench\", …] }}"
            );
            found.add(path.key("workload"), message);
        }
        Some(command) => {
            for (key, problem) in command.problems() {
                found.add(path.key("command").key(key), format!("cell {name:?}: {problem}"));
            }
        }
    }
    if !cell.load.is_none() {
        let message = format!(
            "cell {name:?}: load says nothing of a command, which is a load of its own; leave it out and tell the program"
        );
        found.add(path.key("load"), message);
    }
    for arm in study.arms_of(cell) {
        if let Some(setting) = not_for_programs(&arm.tls) {
            let message = format!(
                "cell {name:?}: arm {:?} sets tls.{setting}, which a program of your own cannot be held to; leave the \
                 arm out with arms = […]",
                arm.name
            );
            found.add(path.key("workload"), message);
        }
    }
}

/// A setting of TLS that has no common word among the options of MySQL's clients.
fn not_for_programs(tls: &TlsSettings) -> Option<&'static str> {
    match tls {
        _ if tls.group.is_some() => Some("group"),
        _ if tls.resumption != Resumption::Off => Some("resumption"),
        _ if tls.library != TlsLibrary::OpenSsl => Some("library"),
        _ => None,
    }
}

fn check_load(cell: &str, load: &Load, slice_s: f64, path: &Path, found: &mut Found) {
    if !(1..=100_000).contains(&load.connections) {
        let message = format!("cell {cell:?}: connections must lie between 1 and 100000");
        found.add(path.key("connections"), message);
    } else if load
        .workers
        .is_some_and(|workers| !(1..=load.connections).contains(&workers))
    {
        let message = format!(
            "cell {cell:?}: workers must lie between 1 and connections, which is {}",
            load.connections
        );
        found.add(path.key("workers"), message);
    }
    if load.poll_delay_us > 10_000 {
        let message = format!("cell {cell:?}: poll_delay_us must be at most 10000");
        found.add(path.key("poll_delay_us"), message);
    }
    check_pace(cell, load, slice_s, path, found);
}

fn check_pace(cell: &str, load: &Load, slice_s: f64, path: &Path, found: &mut Found) {
    if let Some(batch) = load.batch {
        if !(1..=1_000_000).contains(&batch) {
            let message = format!("cell {cell:?}: batch must lie between 1 and 1000000 operations");
            found.add(path.key("batch"), message);
        } else if batch < load.connections {
            let message = format!(
                "cell {cell:?}: a batch of {batch} keeps no {} connections busy; make it at least as large as connections",
                load.connections
            );
            found.add(path.key("batch"), message);
        }
    }
    let Some(rate) = load.rate else {
        return;
    };
    if load.batch.is_some() {
        let message = format!(
            "cell {cell:?}: batch asks for operations as fast as possible, rate for so many a second; leave one out"
        );
        found.add(path.key("rate"), message);
    } else if !(1..=1_000_000).contains(&rate) {
        let message = format!("cell {cell:?}: rate must lie between 1 and 1000000 operations per second");
        found.add(path.key("rate"), message);
    } else if f64::from(rate) * slice_s < 1.0 {
        let message = format!(
            "cell {cell:?}: at a rate of {rate} a second no operation falls into a slice of {slice_s} s; raise rate or \
             slice_s"
        );
        found.add(path.key("rate"), message);
    }
}

fn check_arms_of_cell(study: &Study, cell: &Cell, path: &Path, found: &mut Found) {
    let Some(names) = &cell.arms else {
        return;
    };
    let known: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
    let mut seen = HashSet::new();
    for (index, name) in names.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            let message = format!("unknown arm {name:?}{}", hint(name, &known));
            found.add(path.entry(index), message);
        } else if !seen.insert(name) {
            found.add(
                path.entry(index),
                format!("cell {:?} names arm {name:?} twice", cell.name),
            );
        }
    }
    let Some(baseline) = known.first() else {
        return;
    };
    if !names.iter().any(|name| name == baseline) {
        let message = format!(
            "cell {:?}: its arms must include {baseline:?}, the baseline they are compared with",
            cell.name
        );
        found.add(path.clone(), message);
    } else if names.len() < 2 {
        let message = format!(
            "cell {:?}: a comparison needs a variant beside the baseline",
            cell.name
        );
        found.add(path.clone(), message);
    }
}

fn check_published(study: &Study, row: &Published, path: &Path, found: &mut Found) {
    let cells: Vec<&str> = study.cells.iter().map(|cell| cell.name.as_str()).collect();
    let variants = study.arms.iter().skip(1).map(|arm| arm.name.as_str());
    let variants: Vec<&str> = variants.collect();
    let is_variant = variants.contains(&row.arm.as_str());
    if !is_variant {
        let message = format!(
            "{:?} is no variant of the study{}",
            row.arm,
            hint(&row.arm, &variants)
        );
        found.add(path.key("arm"), message);
    }
    match study.cells.iter().find(|cell| cell.name == row.cell) {
        None => {
            let message = format!("unknown cell {:?}{}", row.cell, hint(&row.cell, &cells));
            found.add(path.key("cell"), message);
        }
        Some(cell) if is_variant && !study.arms_of(cell).any(|arm| arm.name == row.arm) => {
            let message = format!("arm {:?} is not measured in cell {:?}", row.arm, row.cell);
            found.add(path.key("arm"), message);
        }
        Some(_) => {}
    }
    if let Some(kind) = &row.kind {
        let kinds = Workload::Ycsb.descriptor().kinds;
        if !kinds.contains(&kind.as_str()) {
            found.add(
                path.key("kind"),
                format!("unknown kind {kind:?}{}", hint(kind, kinds)),
            );
        } else if !Metric::COMPARED_BY_KIND.contains(&row.metric) {
            let message = format!(
                "the {} of one kind of operation is not compared; leave kind out",
                row.metric
            );
            found.add(path.key("kind"), message);
        }
    }
    let cell = study.cells.iter().find(|cell| cell.name == row.cell);
    if cell.is_some_and(|cell| !cell.workload.makes_connections())
        && Metric::COMPARED_OF_CONNECTS.contains(&row.metric)
    {
        let message = format!(
            "cell {:?} makes no connections, which the {} is of",
            row.cell, row.metric
        );
        found.add(path.key("metric"), message);
    }
    match row.figure() {
        None => {
            let message = "a published figure is either change, or baseline and variant, or within";
            found.add(path.clone(), message);
        }
        // A ratio must be a positive number; a bound too.
        Some(PublishedFigure::Change(change)) if change > -1.0 && change.is_finite() => {}
        Some(PublishedFigure::Within(bound)) if bound > 0.0 && bound.is_finite() => {}
        Some(PublishedFigure::Change(_)) => {
            let message = "change must be a fraction above -1: -0.25 is a quarter less; baseline and variant must \
                           be positive";
            found.add(path.clone(), message);
        }
        Some(PublishedFigure::Within(_)) => {
            found.add(
                path.key("within"),
                "within must be a positive fraction: 0.05 is five percent",
            );
        }
    }
}
