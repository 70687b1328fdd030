//! What needs a server that ciphertax starts, or a place on the server's side, and is asked of a server of the user's own; and the
//! other way about.

use ciphertax_lab::catalogue;
use ciphertax_model::{
    Arm, CellAlgorithm, CellEncoding, CellFormat, CellMode, ColumnEncryption, ColumnSelection, Refusal,
    refuse_if,
};
use ciphertax_wire::Target;

use super::{Asked, Rule, of_arm, of_arm_in, of_cell, of_plan};
use crate::databases;
use crate::server::encrypts_results;

pub(super) const RULES: &[Rule] = &[
    of_plan("counter-of-private-server", |asked| {
        let what = match (asked.target, &asked.study.agent, &asked.study.server_cpu) {
            (Some(_), ..) | (None, None, None) => return Vec::new(),
            (None, Some(_), _) => "an agent reads",
            (None, None, Some(_)) => "a counter tells",
        };
        let cannot = format!("{what} the CPU of a server of your own, but none is given");
        let why = format!("{cannot}; add its URL, such as mysql://app@db.example/");
        vec![Refusal::new(why)]
    }),
    of_arm("plain-login-by-certificate", |asked, arm| {
        let study = databases::target(asked.target?).study_without_plain_arms()?;
        let why = format!(
            "the target logs in by a certificate, which TLS alone carries; take a study without a plain arm, as {study} is"
        );
        refuse_if(!arm.transport.is_encrypted(), why)
    }),
    of_arm("private-server-alone", |asked, arm| {
        asked.target?;
        let needs = [
            (arm.tunnel.is_some(), "a tunnel"),
            (arm.pooler.is_some(), "a pooler"),
            (!arm.at_rest.is_default(), "encryption at rest"),
            (arm.authentication.method.is_some(), "an account of its own"),
            (arm.tls.client_certificate.is_some(), "a client certificate"),
        ];
        let needs: Vec<&str> = needs
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, what)| *what)
            .collect();
        let cannot = format!(
            "it needs {}, on a private server alone, which ciphertax starts",
            needs.join(" and ")
        );
        refuse_if(!needs.is_empty(), format!("{cannot}; leave the target out"))
    }),
    of_arm_in("stored-fields-of-target", |asked, at, arm| {
        asked.target?;
        let stores = arm.columns.as_ref().is_some_and(ColumnEncryption::stores);
        // Other arms read the table as it is.
        let why = "it needs a table of YCSB with cells of its own, on a private server alone, which ciphertax starts; \
                   leave the target out";
        refuse_if(stores && at.cell.workload.asks_usertable(), why)
    }),
    of_arm("probe-of-target", |asked, arm| {
        asked.target?;
        let why = "a probe changes the server for everybody who uses it, and would stay if ciphertax were killed; leave \
                   the target out, and try it on a private server, which takes it along when it ends";
        refuse_if(arm.probe.is_some(), why)
    }),
    of_arm("certificate-of-target", |asked, arm| {
        asked.target?;
        let why = "the target has the certificate it has, so no arm can name another; leave certificate out, or the target";
        refuse_if(arm.certificate.is_some(), why)
    }),
    of_arm("cluster-tls-of-target", |asked, arm| {
        asked.target?;
        let why = "what the servers of the target tell each other is set there; leave cluster_tls out, or the target";
        refuse_if(arm.cluster_tls, why)
    }),
    of_cell("link-of-target", |asked, at| {
        asked.target?;
        let why = "a link can be put before a private server alone; leave the target out";
        refuse_if(asked.study.link(at.cell).is_some(), why)
    }),
    of_cell("server-of-target", |asked, at| {
        asked.target?;
        let why = "it names a server or a certificate of its own, which the target cannot become; leave the target out";
        refuse_if(at.cell.server.is_some() || at.cell.certificate.is_some(), why)
    }),
    of_plan("account-without-target", |asked| {
        let why = "--encdb-account names an account of a server of your own, which encrypts its results; give the server's \
                   URL, or leave the option out";
        let refusal = refuse_if(asked.target.is_none() && asked.encdb.is_some(), why);
        refusal.into_iter().collect()
    }),
    of_plan("account-of-other-database", |asked| {
        let Some(target) = asked.target.filter(|target| !matches!(target, Target::MySql(_))) else {
            return Vec::new();
        };
        let is_one = "is for a PolarDB-X or RDS, which are of MySQL's family";
        let cannot = format!(
            "--encdb-account {is_one}, and the target is a {} server",
            target.protocol()
        );
        let refusal = refuse_if(asked.encdb.is_some(), format!("{cannot}; leave the option out"));
        refusal.into_iter().collect()
    }),
    of_plan("account-of-url", |asked| {
        let Some((user, _)) = account(asked) else {
            return Vec::new();
        };
        let is_the_same = matches!(asked.target, Some(Target::MySql(target)) if target.user == user);
        let cannot = format!("--encdb-account {user} is the URL's own account, which must have full access");
        let why = format!("{cannot}, so that other arms read plaintext; name another");
        refuse_if(is_the_same, why).into_iter().collect()
    }),
    of_plan("account-of-nobody", |asked| {
        let is_unused = account(asked).is_some_and(|(_, arms)| arms.is_empty());
        let why = "no arm of the study has columns encrypted in results, so nobody logs in as --encdb-account; leave it \
                   out, or take a study such as always-encrypted-tpcc";
        refuse_if(is_unused, why).into_iter().collect()
    }),
    of_arm("results-of-target", |asked, arm| {
        let target = asked.target?;
        let but = match target {
            Target::MySql(_) => {
                ", or, where the target is a PolarDB-X or RDS that encrypts them for an account, name that account with \
                 --encdb-account (untested on a real server)"
            }
            Target::MongoDb(_) | Target::PostgreSql(_) => "",
        };
        let cannot = "encryption of columns in results is available on a private server, which ciphertax starts with a relay \
                      before it";
        let why = format!("{cannot}; leave the target out{but}");
        refuse_if(asked.encdb.is_none() && encrypts_results(arm), why)
    }),
    of_arm("cells-that-no-server-makes", |asked, arm| {
        account(asked)?;
        let columns = arm.columns.as_ref().filter(|_| encrypts_results(arm))?;
        let format: &str = columns.format.into();
        let cannot = if columns.format != CellFormat::Encdb {
            format!("no server makes cells of {format} in results")
        } else if columns.algorithm == CellAlgorithm::Wrapped {
            "no server makes wrapped cells, which show what a cell costs without its cipher".to_owned()
        } else if columns.encoding == CellEncoding::Binary {
            "servers send cells as Base64, and cannot be asked for encoding = \"binary\"".to_owned()
        } else if columns.mode == CellMode::Deterministic {
            "servers make random cells, and cannot be asked for mode = \"deterministic\"".to_owned()
        } else {
            return None;
        };
        Some(Refusal::new(format!(
            "{cannot}; leave the arm out with --arm, or the target"
        )))
    }),
    // One set of rules for one account.
    of_arm("other-columns-of-account", |asked, arm| {
        let (_, arms) = account(asked)?;
        let selection = |arm: &Arm| {
            let columns = arm.columns.as_ref().map(|columns| columns.columns.clone());
            columns.filter(|columns| *columns != ColumnSelection::None)
        };
        let (other, theirs) = arms.iter().find_map(|arm| Some((&arm.name, selection(arm)?)))?;
        let own = selection(arm).filter(|own| encrypts_results(arm) && *own != theirs)?;
        Some(Refusal::new(format!(
            "it has {own} encrypted, and arm {other:?} {theirs}: rules in the server say which, and are the same for all \
             sessions of --encdb-account; leave one of them out with --arm"
        )))
    }),
];

/// The user of an account that a server encrypts results for, and the arms that log in by it.
fn account<'a>(asked: &Asked<'a>) -> Option<(&'a str, Vec<&'a Arm>)> {
    let account = asked
        .encdb
        .filter(|_| matches!(asked.target, Some(Target::MySql(_))))?;
    let arms = asked.study.arms.iter().filter(|arm| encrypts_results(arm));
    Some((&account.user, arms.collect()))
}

/// Refuses a target that is another database than the study is about.
pub(super) fn of_another_kind(asked: &Asked<'_>) -> Option<Refusal> {
    let (study, own) = (asked.study, asked.target?.protocol());
    let about = catalogue::find(&study.server)?;
    let why = format!(
        "the study {} is about {} servers, and the target is a {own} server; take a study of its kind",
        study.name, study.server
    );
    refuse_if(about.protocol() != Some(own), why)
}
