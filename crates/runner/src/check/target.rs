//! What needs a server that ciphertax starts, or a place on the server's side, and is asked of a server of the user's own; and the
//! other way about.

use ciphertax_lab::catalogue;
use ciphertax_model::{
    Arm, CellAlgorithm, CellEncoding, CellFormat, CellMode, ColumnEncryption, ColumnSelection, Refusal,
    refuse_if,
};
use ciphertax_wire::Target;
use ciphertax_wire::mongodb::Login;

use super::{Asked, Rule, of_arm_in, of_cell, of_plan};
use crate::server::encrypts_results;

pub(super) const RULES: &[Rule] = &[
    of_plan("counter-of-private-server", |asked| {
        let what = match (asked.target, &asked.study.agent, &asked.study.server_cpu) {
            (Some(_), ..) | (None, None, None) => return None,
            (None, Some(_), _) => "an agent reads",
            (None, None, Some(_)) => "a counter tells",
        };
        let cannot = format!("{what} the CPU of a server of your own, but none is given");
        let why = format!("{cannot}; add its URL, such as mysql://app@db.example/");
        Some(Refusal::new(why))
    }),
    of_arm_in("plain-login-by-certificate", |asked, _, arm| {
        let by_certificate = matches!(asked.target?, Target::MongoDb(target) if target.login == Login::X509);
        let why = "the target logs in by a certificate, which TLS alone carries; take a study without a plain arm, as \
                   mongodb-tls-versions is";
        refuse_if(by_certificate && !arm.transport.is_encrypted(), why)
    }),
    of_arm_in("private-server-alone", |asked, at, arm| {
        asked.target?;
        // Other arms read the table as it is.
        let stores = arm.columns.as_ref().is_some_and(ColumnEncryption::stores);
        let stores = stores && at.cell.workload.asks_usertable();
        let needs = [
            (arm.tunnel.is_some(), "a tunnel"),
            (arm.pooler.is_some(), "a pooler"),
            (!arm.at_rest.is_default(), "encryption at rest"),
            (stores, "a table of YCSB with cells of its own"),
            (arm.authentication.method.is_some(), "an account of its own"),
            (arm.tls.client_certificate.is_some(), "a client certificate"),
        ];
        let needs = needs.into_iter().filter_map(|(is, what)| is.then_some(what));
        let needs = needs.collect::<Vec<_>>().join(" and ");
        let cannot = format!("it needs {needs}, on a private server alone, which ciphertax starts");
        refuse_if(!needs.is_empty(), format!("{cannot}; leave the target out"))
    }),
    of_arm_in("probe-of-target", |asked, _, arm| {
        asked.target?;
        let why = "a probe changes the server for everybody who uses it, and would stay if ciphertax were killed; leave \
                   the target out, and try it on a private server, which takes it along when it ends";
        refuse_if(arm.probe.is_some(), why)
    }),
    of_arm_in("certificate-of-target", |asked, _, arm| {
        asked.target?;
        let why = "the target has the certificate it has, so no arm can name another; leave certificate out, or the target";
        refuse_if(arm.certificate.is_some(), why)
    }),
    of_arm_in("cluster-tls-of-target", |asked, _, arm| {
        asked.target?;
        let why = "what the servers of the target tell each other is set there; leave cluster_tls out, or the target";
        refuse_if(arm.cluster_tls, why)
    }),
    of_arm_in("encrypted-key-of-command", |asked, at, arm| {
        let mut target = asked.target?.clone();
        target.client_certificate_mut()?.password.as_ref()?;
        let why = "a program is not told the password of the target's encrypted key; name a key that is not encrypted, or leave \
                   the arm out with --arm";
        refuse_if(at.cell.command.is_some() && arm.transport.is_encrypted(), why)
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
    of_plan("account", |asked| {
        let user = &asked.encdb?.user;
        let why = match asked.target {
            None => "--encdb-account names an account of a server of your own, which encrypts its results; give the \
                     server's URL, or leave the option out"
                .to_owned(),
            Some(Target::MySql(target)) if target.user == *user => format!(
                "--encdb-account {user} is the URL's own account, which must have full access, so that other arms read \
                 plaintext; name another"
            ),
            Some(Target::MySql(_)) if asked.study.arms.iter().any(encrypts_results) => return None,
            Some(Target::MySql(_)) => "no arm of the study has columns encrypted in results, so nobody logs in as \
                                       --encdb-account; leave it out, or take a study such as always-encrypted-tpcc"
                .to_owned(),
            Some(other) => format!(
                "--encdb-account is for a PolarDB-X or RDS, which are of MySQL's family, and the target is a {} server; \
                 leave the option out",
                other.protocol()
            ),
        };
        Some(Refusal::new(why))
    }),
    of_arm_in("results-of-target", |asked, _, arm| {
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
    of_arm_in("cells-that-no-server-makes", |asked, _, arm| {
        let arm = by_account(asked).find(|other| *other == arm)?;
        let columns = arm.columns.as_ref()?;
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
    of_arm_in("other-columns-of-account", |asked, _, arm| {
        let selection = |arm: &Arm| {
            let columns = arm.columns.as_ref().map(|columns| columns.columns.clone());
            columns.filter(|columns| *columns != ColumnSelection::None)
        };
        let (other, theirs) = by_account(asked).find_map(|arm| Some((&arm.name, selection(arm)?)))?;
        let own = selection(arm).filter(|own| encrypts_results(arm) && *own != theirs)?;
        Some(Refusal::new(format!(
            "it has {own} encrypted, and arm {other:?} {theirs}: rules in the server say which, and are the same for all \
             sessions of --encdb-account; leave one of them out with --arm"
        )))
    }),
];

/// The arms that log in by an account whose results a server encrypts; none where there is no such account.
fn by_account<'a>(asked: &Asked<'a>) -> impl Iterator<Item = &'a Arm> {
    let is_its = asked.encdb.is_some() && matches!(asked.target, Some(Target::MySql(_)));
    let arms = asked.study.arms.iter();
    arms.filter(move |arm| is_its && encrypts_results(arm))
}

pub(super) fn of_another_kind(asked: &Asked<'_>) -> Option<Refusal> {
    let (study, own) = (asked.study, asked.target?.protocol());
    let about = catalogue::find(&study.server)?;
    let its = catalogue::CATALOGUE
        .iter()
        .find(|entry| entry.protocol() == Some(own))?;
    let why = format!(
        "the study {} is about {} servers, and the target is a {own} server; take a study of its kind, or in a file of your own \
         write server = \"{}\"",
        study.name, study.server, its.name
    );
    refuse_if(about.protocol() != Some(own), why)
}
