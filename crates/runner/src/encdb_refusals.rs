//! What cannot be measured of servers that encrypt results by themselves.

use ciphertax_model::{
    Arm, CellAlgorithm, CellEncoding, CellFormat, CellMode, ColumnEncryption, ColumnSelection, Study,
};
use ciphertax_wire::Target;

use crate::plan::{EncdbAccount, Plan};
use crate::server::encrypts_results;

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
