//! `ciphertax quick`.

use ciphertax_model::Study;
use ciphertax_wire::Target;

use crate::arguments::QuickArguments;
use crate::built_in;
use crate::exit::Exit;
use crate::measuring::{Words, measure, option, quoted, target};

/// The study that answers on MongoDB what `quick` answers elsewhere.
const FOR_MONGODB: &str = "mongodb-tls-connection";

pub(crate) fn run(arguments: &QuickArguments) -> Result<Exit, String> {
    if let Some(Target::MongoDb(target)) = target(&arguments.measuring)? {
        let url = quoted(Target::MongoDb(target).url());
        return Err(format!(
            "quick is for MySQL-compatible servers and PostgreSQL; for MongoDB say: ciphertax run {FOR_MONGODB} {url}"
        ));
    }
    let mut study = Study::from_toml(built_in::QUICK).map_err(|error| error.to_string())?;
    if let Some(Target::PostgreSql(_)) = target(&arguments.measuring)? {
        // The study is the same, and about another kind of servers.
        study.server = "postgresql".to_owned();
    }
    study.certificate = arguments.certificate.unwrap_or(study.certificate);
    let words = Words {
        command: vec!["quick".to_owned()],
        options: option("--certificate", arguments.certificate).collect(),
    };
    measure(study, &arguments.measuring, words)
}
