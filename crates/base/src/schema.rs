//! The schema that a process works in.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

/// The name of the only schema (on MongoDB the database) that is touched on a server: one of ciphertax's own, or one that was given.
/// A process works on one server, so there is one for all that it does.
pub static SCHEMA: Schema = Schema(OnceLock::new());

/// Schemas that belong to the server itself.
const OF_SERVERS: [&str; 8] = [
    "admin",
    "config",
    "information_schema",
    "local",
    "mysql",
    "performance_schema",
    "sys",
    "system",
];

/// The name of the schema; see [`SCHEMA`].
pub struct Schema(OnceLock<(String, char)>);

impl Schema {
    /// Has ciphertax work beside what others have in a schema that is there; `quote` stands around names in its server's statements, and
    /// is that of servers that take `A` for `a` if it is `"`.
    ///
    /// # Errors
    /// Says which names can be given.
    pub fn give(&self, name: &str, quote: char) -> Result<(), String> {
        let is_plain = name
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || char == '_');
        if !is_plain || !name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_') {
            return Err(format!(
                "the schema {name:?} has a name that cannot be given; take one of ASCII letters, digits and _ that begins with no digit"
            ));
        }
        if quote == '"' && name.contains(|char: char| char.is_ascii_uppercase()) {
            return Err(format!(
                "the schema {name} has capital letters, which statements of ciphertax would not find on PostgreSQL; take another"
            ));
        }
        let lower = name.to_ascii_lowercase();
        if OF_SERVERS.contains(&&*lower) || lower.starts_with("pg_") {
            return Err(format!("the schema {name} is the server's own; take another"));
        }
        let (given, _) = self.0.get_or_init(|| (name.to_owned(), quote));
        debug_assert_eq!(given, name);
        Ok(())
    }

    /// Its name in statements: one that was given may be a word of the language.
    pub fn quoted(&self) -> String {
        match self.0.get() {
            None => self.to_string(),
            Some((name, quote)) => format!("{quote}{name}{quote}"),
        }
    }

    /// True if others may have something in it too.
    pub fn is_given(&self) -> bool {
        self.0.get().is_some()
    }
}

impl Deref for Schema {
    type Target = str;

    fn deref(&self) -> &str {
        self.0.get().map_or("ciphertax", |(name, _)| name)
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &**self)
    }
}
