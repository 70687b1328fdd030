//! What cannot be measured, said before anything is started.

use ciphertax_lab::pooler::{self, Release};
use ciphertax_lab::{Installation, RunningLink, check_capture, check_cluster, file_system};
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{
    Arm, Cell, CellAlgorithm, CellEncoding, CellFormat, CellMode, ColumnEncryption, ColumnSelection,
    Distances, PasswordCache, PoolMode, ReadPreference, ReplicaSet, Study,
};
use ciphertax_wire::Target;

use crate::columns::column_key;
use crate::connections::needed;
use crate::databases;
use crate::error::RunError;
use crate::own_limits::{OWN_FILES, OwnLimits, too_few};
use crate::ranks::{Ranks, cannot_be_spread};
use crate::server::encrypts_results;
use crate::servers_to_play::{EncdbAccount, Plan, entry};

/// Looks through the whole study.
///
/// # Errors
/// Lists everything that is not available, and what is instead.
pub(crate) fn refuse_impossible(plan: &Plan) -> Result<(), RunError> {
    column_key(&plan.study)?;
    let mut refusals = match &plan.target {
        Some(target) => of_targets(&plan.study, target),
        None => of_private_servers(&plan.study)?,
    };
    refusals.extend(of_encdb(plan));
    refusals.extend(
        plan.ranks
            .as_ref()
            .map(|ranks| of_ranks(plan, ranks))
            .unwrap_or_default(),
    );
    if plan.target.is_none() && plan.ranks.is_none() {
        refusals.extend(too_few(&plan.study, None, &OwnLimits::found())?);
    }
    if refusals.is_empty() {
        Ok(())
    } else {
        Err(RunError::Impossible(refusals))
    }
}

/// Makes sure that all servers are there that have to be started.
///
/// # Errors
/// Names those that are not, and how they are fetched.
pub(crate) fn refuse_missing(plan: &Plan) -> Result<(), RunError> {
    let missing = match &plan.target {
        Some(_) => Vec::new(),
        None => missing_servers(&plan.study)?,
    };
    if missing.is_empty() {
        Ok(())
    } else {
        Err(RunError::Impossible(missing))
    }
}

/// The servers that a study starts and that are not installed, and how they are.
pub(crate) fn missing_servers(study: &Study) -> Result<Vec<String>, RunError> {
    let mut missing = Vec::new();
    for spec in study.server_specs() {
        let entry = entry(&spec.server)?;
        if entry.is_built_in() {
            continue;
        }
        let problem = Installation::of(entry).err().map(|error| error.to_string());
        missing.extend(problem.filter(|problem| !missing.contains(problem)));
    }
    Ok(missing)
}

/// What the load generators cannot do together.
fn of_ranks(plan: &Plan, ranks: &Ranks) -> Vec<String> {
    let mut refusals = cannot_be_spread(&plan.study, ranks.count());
    if plan.target.is_none() {
        refusals.extend(ranks.elsewhere());
    }
    let share = needed(&plan.study).div_ceil(u64::from(ranks.count()));
    refusals.extend(ranks.too_few_files(share + OWN_FILES));
    refusals
}

/// Settings that need a server which ciphertax can start, or a place on the server's side.
fn of_targets(study: &Study, target: &Target) -> Vec<String> {
    let own = databases::target(target);
    let is_for = entry(&study.server).map(|entry| entry.protocol());
    if is_for.is_ok_and(|protocol| protocol != Some(own.protocol())) {
        // Whatever else does not fit follows from that.
        return vec![format!(
            "the study {} is about {} servers, and the target is a {} server; take a study of its kind",
            study.name,
            study.server,
            own.protocol()
        )];
    }
    let cells = study.cells.iter();
    let mut refusals: Vec<String> = cells.flat_map(|cell| own.refuse(study, cell)).collect();
    if let Some(without_plain) = own.study_without_plain_arms() {
        let plain = study.arms.iter().filter(|arm| !arm.transport.is_encrypted());
        refusals.extend(plain.map(|arm| {
            format!(
                "arm {}: the target logs in by a certificate, which TLS alone carries; take a study without a plain arm, as \
                 {without_plain} is",
                arm.name
            )
        }));
    }
    for arm in &study.arms {
        let needs = [
            (arm.tunnel.is_some(), "a tunnel"),
            (arm.pooler.is_some(), "a pooler"),
            (!arm.at_rest.is_default(), "encryption at rest"),
            (stores_fields(study, arm), "a table of YCSB with cells of its own"),
            (arm.authentication.method.is_some(), "an account of its own"),
            (arm.tls.client_certificate.is_some(), "a client certificate"),
        ];
        refusals.extend(needs.into_iter().filter(|(is, _)| *is).map(|(_, what)| {
            format!(
                "arm {}: {what} is available on a private server alone, which ciphertax starts; leave the target out",
                arm.name
            )
        }));
    }
    let probed = study.arms.iter().filter(|arm| arm.probe.is_some());
    refusals.extend(probed.map(|arm| {
        format!(
            "arm {}: a probe changes the server for everybody who uses it, and would stay if ciphertax were killed; leave the \
             target out, and try it on a private server, which takes it along when it ends",
            arm.name
        )
    }));
    let own = study.arms.iter().filter(|arm| arm.certificate.is_some());
    refusals.extend(own.map(|arm| {
        format!(
            "arm {}: the target has the certificate it has, so no arm can name another; leave certificate out, or the target",
            arm.name
        )
    }));
    let between = study.arms.iter().filter(|arm| arm.cluster_tls);
    refusals.extend(between.map(|arm| {
        format!(
            "arm {}: what the servers of the target tell each other is set there; leave cluster_tls out, or the target",
            arm.name
        )
    }));
    let cells = study.cells.iter().filter(|cell| study.link(cell).is_some());
    refusals.extend(cells.map(|cell| {
        format!(
            "cell {}: a link can be put before a private server alone; leave the target out",
            cell.name
        )
    }));
    let own = study
        .cells
        .iter()
        .filter(|cell| cell.server.is_some() || cell.certificate.is_some());
    refusals.extend(own.map(|cell| {
        format!(
            "cell {}: it names a server or a certificate of its own, which the target cannot become; leave the target out",
            cell.name
        )
    }));
    refusals
}

/// True if an arm stores cells in YCSB's table, which other arms read as it is.
fn stores_fields(study: &Study, arm: &Arm) -> bool {
    let asks_usertable =
        |cell: &Cell| cell.workload.asks_usertable() && study.arms_of(cell).any(|other| other == arm);
    arm.columns.as_ref().is_some_and(ColumnEncryption::stores) && study.cells.iter().any(asks_usertable)
}

fn of_private_servers(study: &Study) -> Result<Vec<String>, RunError> {
    let mut refusals: Vec<String> = Vec::new();
    let mut note = |text: String| {
        if !refusals.contains(&text) {
            refusals.push(text);
        }
    };
    let mut cells = study.cells.iter();
    let has_link = cells.any(|cell| study.distances(cell) != Distances::default());
    if has_link && let Err(error) = RunningLink::check() {
        note(error.to_string());
    }
    let has_secondaries = |cell: &Cell| {
        study
            .server_spec(cell)
            .replica_set
            .is_some_and(ReplicaSet::has_secondaries)
    };
    if study.read_preference != ReadPreference::Primary && !study.cells.iter().any(has_secondaries) {
        note(
            "no cell has secondaries to read from; add replica_set = { members = 3 }, or leave read_preference out".into(),
        );
    }
    let is_measured = |arm: &&Arm| {
        study
            .cells
            .iter()
            .any(|cell| study.arms_of(cell).any(|other| other == *arm))
    };
    let has_pooler = study
        .arms
        .iter()
        .filter(is_measured)
        .any(|arm| arm.pooler.is_some());
    let pgbouncer = has_pooler.then(pooler::release).transpose();
    if let Err(error) = &pgbouncer {
        note(error.to_string());
    }
    let pgbouncer = pgbouncer.unwrap_or_default();
    for arm in study.arms.iter().filter(is_measured) {
        let checked = arm.at_rest.file_system.map_or(Ok(()), file_system::check);
        if let Err(error) = checked {
            note(format!("arm {}: {error}", arm.name));
        }
    }
    for cell in &study.cells {
        let spec = study.server_spec(cell);
        let entry = entry(&spec.server)?;
        let capabilities = &entry.capabilities;
        for refusal in databases::refuse_private(entry, study, cell) {
            note(refusal);
        }
        for arm in cold_in_vain(study, cell) {
            note(format!(
                "arm {}: a cold password cache is for workloads whose connections ciphertax makes, over and over; cell {} has \
                 another, so name the other arms in the cell's arms",
                arm.name, cell.name
            ));
        }
        if spec.replica_set.is_some() {
            for arm in study.arms_of(cell).filter(|arm| arm.tunnel.is_some()) {
                note(format!(
                    "arm {}: a tunnel leads to one server, and the clients of a replica set find its members by themselves, past \
                     the tunnel; leave replica_set out of the cell {}, or name the other arms in the cell's arms",
                    arm.name, cell.name
                ));
            }
        }
        if let Some(refusal) = capabilities.refuse_nodes(spec.nodes) {
            note(format!("cell {}: {refusal}", cell.name));
        }
        if spec.is_cluster()
            && let Err(error) = check_cluster(entry)
        {
            note(error.to_string());
        }
        if let Some(arm) = study.arms_of(cell).find(|arm| arm.cluster_tls) {
            if spec.servers() == 1 {
                note(format!(
                    "cell {}: arm {} encrypts what servers tell each other, and a single server has none to tell; add nodes = 3 \
                     (MariaDB, MySQL) or replica_set = {{ members = 3 }} (MongoDB), or name the other arms in the cell's arms",
                    cell.name, arm.name
                ));
            } else if let Err(error) = check_capture() {
                note(error.to_string());
            }
        }
        for refusal in of_poolers(study, cell, pgbouncer.as_ref()) {
            note(refusal);
        }
        for refusal in capabilities.refuse_storage(&spec.storage) {
            note(format!("cell {}: {refusal}", cell.name));
        }
        let arms: Vec<Arm> = study.measured_arms_of(cell);
        for arm in &arms {
            for refusal in capabilities.refuse(arm, &study.certificate_of(arm, &spec)) {
                note(format!("arm {}: {refusal}", arm.name));
            }
        }
    }
    Ok(refusals)
}

/// Arms whose pooler loses the statements that the workload of a cell prepares: it gives the next transaction another
/// connection, and an old release does not prepare them there again.
fn of_poolers(study: &Study, cell: &Cell, release: Option<&Release>) -> Vec<String> {
    let prepares = cell.workload.descriptor().vocabulary != Vocabulary::Connect;
    let Some(release) = release.filter(|release| prepares && !release.keeps_prepared_statements()) else {
        return Vec::new();
    };
    let shares = |arm: &&Arm| {
        arm.pooler
            .is_some_and(|pooler| pooler.pgbouncer == PoolMode::Transaction)
    };
    let refusal = |arm: &Arm| {
        format!(
            "arm {}: with pgbouncer = \"transaction\" {release} loses the statements that {} prepares (1.21 and later keep \
             them); fetch a newer one with `ciphertax servers install postgresql-18`, take pgbouncer = \"session\", or name \
             the other arms in the arms of the cell {}",
            arm.name,
            cell.workload.name(),
            cell.name
        )
    };
    study.arms_of(cell).filter(shares).map(refusal).collect()
}

/// Arms whose logins are to find a server that does not remember the password, in a cell whose connections stay open: none of
/// these logins would be measured.
fn cold_in_vain<'a>(study: &'a Study, cell: &'a Cell) -> impl Iterator<Item = &'a Arm> {
    let is_cold = |arm: &&Arm| arm.authentication.password_cache == PasswordCache::Cold;
    let is_in_vain = !cell.workload.makes_connections();
    study.arms_of(cell).filter(move |arm| is_in_vain && is_cold(arm))
}

/// Of a plan with or without the account whose results the target encrypts.
pub(crate) fn of_encdb(plan: &Plan) -> Vec<String> {
    match (&plan.target, &plan.encdb) {
        (None, None) => Vec::new(),
        (None, Some(_)) => vec![
            "--encdb-account names an account of a server of your own, which encrypts its results; give the server's URL, or leave \
             the option out"
                .to_owned(),
        ],
        (Some(target), None) => without_account(&plan.study, target),
        (Some(target), Some(account)) => of_account(&plan.study, target, account),
    }
}

fn without_account(study: &Study, target: &Target) -> Vec<String> {
    let but = match target {
        Target::MySql(_) => {
            "; or, where the target is a PolarDB-X or RDS that encrypts them for an account, name that account with --encdb-account \
             (untested on a real server)"
        }
        Target::MongoDb(_) | Target::PostgreSql(_) => "",
    };
    let arms = study.arms.iter().filter(|arm| encrypts_results(arm));
    let refusal = |arm: &Arm| {
        format!(
            "arm {}: encryption of columns in results is available on a private server, which ciphertax starts with a relay before \
             it; leave the target out{but}",
            arm.name
        )
    };
    arms.map(refusal).collect()
}

fn of_account(study: &Study, target: &Target, account: &EncdbAccount) -> Vec<String> {
    let Target::MySql(mysql) = target else {
        return vec![format!(
            "--encdb-account is for a PolarDB-X or RDS, which are of MySQL's family, and the target is a {} server; leave the option \
             out",
            target.protocol()
        )];
    };
    let mut refusals = Vec::new();
    if mysql.user == account.user {
        refusals.push(format!(
            "--encdb-account {} is the URL's own account, which must have full access, so that other arms read plaintext; name \
             another",
            account.user
        ));
    }
    let arms = study.arms.iter().filter(|arm| encrypts_results(arm));
    let arms: Vec<(&Arm, &ColumnEncryption)> = arms
        .filter_map(|arm| Some((arm, arm.columns.as_ref()?)))
        .collect();
    if arms.is_empty() {
        refusals.push(
            "no arm of the study has columns encrypted in results, so nobody logs in as --encdb-account; leave it out, or take a \
             study such as always-encrypted-tpcc"
                .to_owned(),
        );
    }
    // One set of rules for one account.
    let with_cells = arms
        .iter()
        .filter(|(_, columns)| columns.columns != ColumnSelection::None);
    let first = with_cells
        .map(|(arm, columns)| (&arm.name, &columns.columns))
        .next();
    for (arm, columns) in &arms {
        if let Some(what) = not_asked(columns) {
            refusals.push(format!(
                "arm {}: {what}; leave the arm out with --arm, or the target",
                arm.name
            ));
        }
        if let Some((other, selection)) = first
            && columns.columns != ColumnSelection::None
            && columns.columns != *selection
        {
            refusals.push(format!(
                "arm {}: it has {} encrypted, and arm {other} {selection}: rules in the server say which, and are the same for all \
                 sessions of --encdb-account; leave one of them out with --arm",
                arm.name, columns.columns
            ));
        }
    }
    refusals
}

/// What a server cannot be asked for.
fn not_asked(columns: &ColumnEncryption) -> Option<String> {
    let format: &str = columns.format.into();
    match columns {
        ColumnEncryption { format: other, .. } if *other != CellFormat::Encdb => {
            Some(format!("no server makes cells of {format} in results"))
        }
        ColumnEncryption {
            algorithm: CellAlgorithm::Wrapped,
            ..
        } => {
            Some("no server makes wrapped cells, which show what a cell costs without its cipher".to_owned())
        }
        ColumnEncryption {
            encoding: CellEncoding::Binary,
            ..
        } => Some("servers send cells as Base64, and cannot be asked for encoding = \"binary\"".to_owned()),
        ColumnEncryption {
            mode: CellMode::Deterministic,
            ..
        } => Some("servers make random cells, and cannot be asked for mode = \"deterministic\"".to_owned()),
        _ => None,
    }
}
