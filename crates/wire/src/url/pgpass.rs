//! Passwords as PostgreSQL's own clients find them: `PGPASSWORD`, and the file `~/.pgpass`
//! (<https://www.postgresql.org/docs/current/libpq-pgpass.html>).

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ciphertax_base::Secret;

use super::TargetError;

/// Bytes of a password file that are read at most.
const MOST: u64 = 1 << 20;

/// Where passwords come from that are not in the URL.
#[derive(Debug, Clone, Default)]
pub(super) struct Environment {
    /// The variable `PGPASSWORD`.
    pub(super) password: Option<Secret>,
    /// The password file: that of `PGPASSFILE`, else `~/.pgpass`.
    pub(super) file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
}

impl Environment {
    /// That of this process.
    pub(super) fn of_process() -> Self {
        let is_set = |value: &std::ffi::OsString| !value.is_empty();
        let file = std::env::var_os("PGPASSFILE").filter(is_set).map(PathBuf::from);
        let home = || std::env::var_os("HOME").filter(is_set);
        Self {
            password: std::env::var("PGPASSWORD")
                .ok()
                .filter(|password| !password.is_empty())
                .map(Secret::new),
            file: file.or_else(|| Some(PathBuf::from(home()?).join(".pgpass"))),
        }
    }

    pub(super) fn with_file(&self, file: &Path) -> Self {
        Self {
            password: self.password.clone(),
            file: Some(file.to_owned()),
        }
    }

    /// The password that it has for `wanted`; `None` if it has none.
    pub(super) fn password(&self, wanted: Wanted<'_>) -> Result<Option<Secret>, TargetError> {
        if let Some(password) = &self.password {
            return Ok(Some(password.clone()));
        }
        let Some(file) = &self.file else { return Ok(None) };
        let unusable = |problem: String| TargetError::PasswordFile {
            path: file.display().to_string(),
            problem,
        };
        match read(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unusable(error.to_string())),
            Ok(lines) => Ok(lines.lines().find_map(|line| password_in(line, wanted))),
        }
    }
}

/// The lines of a password file that nobody else may read.
fn read(file: &Path) -> io::Result<String> {
    let metadata = fs::metadata(file)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(io::Error::other("others may read it; say chmod 0600"));
    }
    if metadata.len() > MOST {
        return Err(io::Error::other("it has more than 1 MiB"));
    }
    fs::read_to_string(file)
}

/// The password of a line `host:port:database:user:password`, if it is for `wanted`: a star stands for anything, a
/// backslash before a colon or a backslash for the character alone.
fn password_in(line: &str, wanted: Wanted<'_>) -> Option<Secret> {
    if line.starts_with('#') {
        return None;
    }
    let port = wanted.port.to_string();
    let mut rest = line;
    for wanted in [wanted.host, &port, wanted.database, wanted.user] {
        let (field, others) = field(rest)?;
        if field != "*" && unescaped(field) != wanted {
            return None;
        }
        rest = others;
    }
    let password = field(rest).map_or(rest, |(password, _)| password);
    Some(Secret::new(unescaped(password)))
}

/// What comes before the next colon without a backslash, and what follows it.
fn field(text: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    let end = text.find(|character| {
        let ends = character == ':' && !escaped;
        escaped = character == '\\' && !escaped;
        ends
    })?;
    Some((&text[..end], &text[end + 1..]))
}

fn unescaped(text: &str) -> String {
    let mut characters = text.chars();
    let mut unescaped = String::with_capacity(text.len());
    while let Some(character) = characters.next() {
        match character {
            '\\' => unescaped.extend(characters.next()),
            character => unescaped.push(character),
        }
    }
    unescaped
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use proptest::prelude::*;

    use super::*;

    const WANTED: Wanted<'static> = Wanted {
        host: "db.example",
        port: 5432,
        database: "shop",
        user: "app",
    };

    #[test]
    fn a_line_is_for_those_it_names_and_a_star_for_all() {
        for (line, password) in [
            ("db.example:5432:shop:app:secret", Some("secret")),
            ("*:*:*:*:secret", Some("secret")),
            ("db.example:*:shop:*:with:colon", Some("with")),
            (r"*:*:*:app:a\:b\\c", Some(r"a:b\c")),
            (r"db\.example:*:*:*:x", Some("x")),
            ("*:*:*:*:", Some("")),
            ("db.example:5433:shop:app:secret", None),
            ("other:5432:shop:app:secret", None),
            ("*:*:*:app", None),
            ("# db.example:5432:shop:app:secret", None),
            ("", None),
        ] {
            let found = password_in(line, WANTED);
            assert_eq!(found.as_ref().map(Secret::expose), password, "{line}");
        }
    }

    #[test]
    fn the_first_line_that_fits_counts_and_others_may_not_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pgpass");
        let environment = Environment {
            password: None,
            file: Some(file.clone()),
        };
        let holds = environment.password(WANTED).unwrap().is_none();
        assert!(holds, "there is no file");
        fs::write(&file, "other:*:*:*:no\n*:*:shop:*:first\n*:*:*:*:second\n").unwrap();
        for (mode, is_taken) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            match environment.password(WANTED) {
                Ok(password) => assert!(is_taken && password.unwrap().expose() == "first", "{mode:o}"),
                Err(error) => assert!(!is_taken && error.to_string().contains("chmod 0600"), "{error}"),
            }
        }
        let given = Environment {
            password: Some(Secret::new("given")),
            ..environment
        };
        assert_eq!(given.password(WANTED).unwrap().unwrap().expose(), "given");
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in any::<String>()) {
            let _ = password_in(&line, WANTED);
        }

        #[test]
        fn a_password_with_escapes_is_read_back(password in any::<String>()) {
            prop_assume!(!password.contains('\n'));
            let escaped = password.replace('\\', r"\\").replace(':', r"\:");
            let found = password_in(&format!("*:*:*:*:{escaped}"), WANTED).unwrap();
            prop_assert_eq!(found.expose(), password);
        }
    }
}
