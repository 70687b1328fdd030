//! `ciphertax quick`.

use ciphertax_lab::catalogue::{CATALOGUE, Protocol};
use ciphertax_model::Study;

use crate::arguments::QuickArguments;
use crate::built_in;
use crate::exit::Exit;
use crate::measuring::{Words, measure, option, quoted, target};

/// The study that answers on MongoDB what `quick` answers elsewhere.
const FOR_MONGODB: &str = "mongodb-tls-connection";

pub(crate) fn run(arguments: &QuickArguments) -> Result<Exit, String> {
    let mut study = Study::from_toml(built_in::QUICK).map_err(|error| error.to_string())?;
    match target(&arguments.measuring)? {
        None => {}
        Some(target) if target.protocol() == Protocol::MongoDb => {
            return Err(format!(
                "quick asks SQL; for MongoDB say: ciphertax run {FOR_MONGODB} {}",
                quoted(target.url())
            ));
        }
        // The study is the same, and about servers of the target's kind.
        Some(target) => {
            let of_its_kind = CATALOGUE
                .iter()
                .find(|entry| entry.protocol() == Some(target.protocol()));
            study.server = of_its_kind.map_or(study.server, |entry| entry.name.to_owned());
        }
    }
    study.certificate = arguments.certificate.unwrap_or(study.certificate);
    let words = Words {
        command: vec!["quick".to_owned()],
        options: option("--certificate", arguments.certificate).collect(),
    };
    measure(study, &arguments.measuring, words)
}
