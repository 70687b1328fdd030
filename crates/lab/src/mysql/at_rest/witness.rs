//! What a server says of its own encryption at rest.

use ciphertax_model::{AtRest, AtRestPart};
use ciphertax_wire::WireError;
use ciphertax_wire::mysql::Session;
use ciphertax_wire::sql::Statements as _;

use super::session::first;
use super::settings::variables;
use crate::catalogue::{AtRestControl, MySqlVariant};

/// What MariaDB says of a tablespace that is encrypted, and MySQL of one and of its keyring.
const ENCRYPTED: &str = "encrypted";
const ACTIVE: &str = "Active";

/// Facts as `name=value`: of every switch that the server has, and of the tablespaces of a schema.
pub(super) async fn words_of_server(
    session: &mut Session,
    variant: &MySqlVariant,
    schema: &str,
) -> Result<Vec<String>, WireError> {
    let mut words = Vec::new();
    for name in AtRestPart::ALL
        .into_iter()
        .flat_map(|part| variables(variant, part))
    {
        let value = first(&session.query(&format!("SELECT @@GLOBAL.{name}")).await?);
        words.push(word(name, if is_on(&value) { "ON" } else { "OFF" }));
    }
    for (name, question) in questions(variant, schema) {
        words.push(word(name, &first(&session.query(&question).await?)));
    }
    Ok(words)
}

/// What it is asked besides.
fn questions(variant: &MySqlVariant, schema: &str) -> Vec<(&'static str, String)> {
    let in_words = |condition: &str| format!("IF({condition}, '{ENCRYPTED}', 'plaintext')");
    match variant.at_rest {
        AtRestControl::None => Vec::new(),
        AtRestControl::FileKeyManagement { .. } => {
            let of = |name: &str| {
                format!(
                    "SELECT {} FROM information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE NAME = '{name}'",
                    in_words("SUM(ENCRYPTION_SCHEME = 1 AND MIN_KEY_VERSION > 0) > 0")
                )
            };
            vec![
                ("tables", of(&format!("{schema}/n"))),
                ("system_tablespace", of("innodb_system")),
            ]
        }
        AtRestControl::KeyringComponent => {
            let of = |name: &str| {
                format!(
                    "SELECT {} FROM information_schema.INNODB_TABLESPACES WHERE NAME = '{name}'",
                    in_words("SUM(ENCRYPTION = 'Y') > 0")
                )
            };
            let keyring = "SELECT STATUS_VALUE FROM performance_schema.keyring_component_status \
                           WHERE STATUS_KEY = 'Component_status'";
            vec![
                ("tables", of(&format!("{schema}/n"))),
                ("general_tablespace", of("general")),
                ("undo_tablespace", of("innodb_undo_001")),
                ("system_tables", of("mysql")),
                ("keyring", keyring.to_owned()),
            ]
        }
    }
}

/// What of these words contradicts what the arm says.
pub(super) fn objection(variant: &MySqlVariant, at_rest: &AtRest, words: &[String]) -> Option<String> {
    let switches = AtRestPart::ALL.into_iter().flat_map(|part| {
        let is_on = if at_rest.encrypts(part) { "ON" } else { "OFF" };
        variables(variant, part)
            .into_iter()
            .map(move |name| word(name, is_on))
    });
    let encrypted = |name: &str, part: AtRestPart| {
        word(
            name,
            if at_rest.encrypts(part) {
                ENCRYPTED
            } else {
                "plaintext"
            },
        )
    };
    let others = match variant.at_rest {
        AtRestControl::None => Vec::new(),
        AtRestControl::FileKeyManagement { .. } => vec![
            encrypted("tables", AtRestPart::Tables),
            encrypted("system_tablespace", AtRestPart::Tables),
        ],
        AtRestControl::KeyringComponent => {
            let has_keyring = at_rest.parts().next().is_some();
            vec![
                encrypted("tables", AtRestPart::Tables),
                encrypted("general_tablespace", AtRestPart::Tables),
                encrypted("undo_tablespace", AtRestPart::UndoLog),
                encrypted("system_tables", AtRestPart::SystemTables),
                word("keyring", if has_keyring { ACTIVE } else { "" }),
            ]
        }
    };
    let missing: Vec<String> = switches
        .chain(others)
        .filter(|word| !words.contains(word))
        .collect();
    (!missing.is_empty()).then(|| {
        format!(
            "the server should say {}, and says {}",
            missing.join(", "),
            words.join(", ")
        )
    })
}

/// Releases say `1`, `ON`, or which tables must be encrypted.
fn is_on(value: &str) -> bool {
    matches!(value, "1" | "ON" | "FORCE")
}

fn word(name: &str, value: &str) -> String {
    format!("{name}={value}")
}
