//! Settings of a server under which statements of ciphertax would mean something else, or fail.

use ciphertax_base::joined;

/// A setting that a session does not take over from its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overridden {
    /// By the server's name.
    pub name: &'static str,
    /// What it is on the server, or for this account.
    pub was: String,
}

/// A setting, and what a session has in place of a value that it must not have.
pub(crate) type Setting = (&'static str, fn(&str) -> Option<String>);

/// Those that must not be as they are, with what they are to be. A value is empty where the server has no such setting.
pub(crate) fn to_override(
    settings: &[Setting],
    value: impl Fn(usize) -> String,
) -> Vec<(Overridden, String)> {
    let differing = settings
        .iter()
        .enumerate()
        .filter_map(|(place, (name, instead))| {
            let was = value(place);
            let instead = instead(&was)?;
            Some((Overridden { name, was }, instead))
        });
    differing.collect()
}

/// The statements' part that sets them, each as `set` writes name and value.
pub(crate) fn in_sql(settings: &[(Overridden, String)], set: impl Fn(&str, &str) -> String) -> String {
    joined(settings.iter().map(|(one, value)| set(one.name, value)), ", ")
}

/// Of a limit that is none where it is zero.
pub(crate) fn unlimited(was: &str) -> Option<String> {
    was.parse()
        .is_ok_and(|limit: f64| limit > 0.0)
        .then(|| "0".to_owned())
}
