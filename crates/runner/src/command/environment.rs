//! What a program finds in its environment and its files, and what its arguments leave open.

use ciphertax_model::Command;
use ciphertax_model::load::Placeholder;
use ciphertax_supervise::PrivateFiles;

use crate::database::{Database, Reached};
use crate::error::RunError;

/// What a program finds of an arm.
pub(super) struct Environment {
    /// The program and its arguments.
    pub(super) line: Vec<String>,
    /// Names and values.
    pub(super) variables: Vec<(String, String)>,
}

/// Begins the name of every variable.
const PREFIX: &str = "CIPHERTAX_";

impl Environment {
    /// Writes the arm's files into its folder among `files`, and says all there is to say.
    pub(super) fn of<D: Database>(
        command: &Command,
        reached: &Reached<'_, D>,
        files: &PrivateFiles,
    ) -> Result<Self, RunError> {
        files.create_folder(&reached.folder)?;
        for (name, contents) in D::files(reached)? {
            files.write(reached.folder.join(name), &contents)?;
        }
        let named = Placeholder::ALL.map(|one| (one.name().to_uppercase(), reached.value(one)));
        let secret = [
            (
                "PASSWORD".to_owned(),
                D::user_and_password(reached.login).1.expose().to_owned(),
            ),
            ("URL".to_owned(), D::url(reached)),
        ];
        let named = named.into_iter().chain(secret);
        Ok(Self {
            line: command.run.iter().map(|word| reached.filled_in(word)).collect(),
            variables: named
                .map(|(name, value)| (format!("{PREFIX}{name}"), value))
                .chain(D::variables(reached))
                .collect(),
        })
    }
}
