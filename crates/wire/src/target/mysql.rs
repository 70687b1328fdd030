//! Servers that speak MySQL's protocol: `mysql://user:password@host:port/?ssl-ca=…`

use std::fmt;
use std::path::PathBuf;

use ciphertax_model::Secret;
use url::Url;

use super::{TargetError, decoded, encoded};
use crate::tls::Verification;

/// What is expected.
pub(super) const FORM: &str = "mysql://user:password@host:port/";
/// The options, by the names that MySQL's own clients use.
const KNOWN: &[&str] = &["ssl-mode", "ssl-ca"];
const MODES: &str = "REQUIRED, VERIFY_CA or VERIFY_IDENTITY";

/// A server given by URL: `mysql://user:password@host:port/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MySqlTarget {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// User name.
    pub user: String,
    /// Password; empty for none.
    pub password: Secret,
    /// How the server's certificate is verified in TLS arms.
    pub verification: Verification,
}

impl MySqlTarget {
    pub(super) fn parse(text: &str, password: Option<Secret>) -> Result<Self, TargetError> {
        let url = Url::parse(text).map_err(|error| TargetError::NotAUrl(error.to_string()))?;
        if !matches!(url.scheme(), "mysql" | "mariadb") {
            return Err(TargetError::Scheme(url.scheme().to_owned()));
        }
        let host = url
            .host_str()
            .filter(|host| !host.is_empty())
            .ok_or_else(|| missing("host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        if url.username().is_empty() {
            return Err(missing("user"));
        }
        let schema = url.path().trim_matches('/');
        if !schema.is_empty() {
            return Err(TargetError::Schema {
                what: "schema",
                name: schema.to_owned(),
            });
        }
        let password = url
            .password()
            .map(decoded)
            .map(Secret::new)
            .or(password)
            .unwrap_or_default();
        let verification = verification(&url, &host)?;
        Ok(Self {
            port: url.port().unwrap_or(3306),
            user: decoded(url.username()),
            password,
            verification,
            host,
        })
    }
}

impl MySqlTarget {
    pub(super) fn url(&self) -> String {
        match &self.verification {
            Verification::None => self.to_string(),
            Verification::Ca(ca) => format!("{self}?ssl-ca={}", encoded(&ca.to_string_lossy())),
            Verification::HostName(ca, _) => {
                format!(
                    "{self}?ssl-mode=VERIFY_IDENTITY&ssl-ca={}",
                    encoded(&ca.to_string_lossy())
                )
            }
        }
    }
}

/// The target as a URL without its password and options.
impl fmt::Display for MySqlTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mysql://{}@", encoded(&self.user))?;
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)
        } else {
            f.write_str(&self.host)
        }?;
        write!(f, ":{}/", self.port)
    }
}

fn verification(url: &Url, host: &str) -> Result<Verification, TargetError> {
    let mut mode = None;
    let mut ca = None;
    for (name, value) in url.query_pairs() {
        let option = format!("{name}={value}");
        match (&*name, &*value.to_ascii_lowercase()) {
            (
                "ssl-mode" | "sslmode" | "ssl_mode" | "tls",
                "preferred" | "prefer" | "allow" | "skip-verify-preferred",
            ) => {
                return Err(TargetError::Preferred(option));
            }
            ("ssl-mode" | "tls", "disabled" | "disable" | "false") => {
                return Err(TargetError::Disabled(option));
            }
            ("ssl-mode", "required" | "verify_ca" | "verify_identity") => {
                mode = Some(value.to_ascii_uppercase())
            }
            ("ssl-mode", _) => {
                return Err(TargetError::Value {
                    name: name.into(),
                    value: value.into(),
                    expected: MODES,
                });
            }
            ("ssl-ca", "") => {
                return Err(TargetError::Value {
                    name: name.into(),
                    value: String::new(),
                    expected: "the path of a PEM file",
                });
            }
            ("ssl-ca", _) => ca = Some(PathBuf::from(value.as_ref())),
            _ => {
                return Err(TargetError::UnknownOption {
                    name: name.into(),
                    known: KNOWN,
                });
            }
        }
    }
    match (mode.as_deref(), ca) {
        (Some("REQUIRED") | None, None) => Ok(Verification::None),
        (Some("VERIFY_CA") | None, Some(ca)) => Ok(Verification::Ca(ca)),
        (Some("VERIFY_IDENTITY"), Some(ca)) => Ok(Verification::HostName(ca, host.to_owned())),
        (Some("REQUIRED"), Some(_)) => Err(TargetError::Value {
            name: "ssl-mode".into(),
            value: "REQUIRED".into(),
            expected: "VERIFY_CA or VERIFY_IDENTITY, since ssl-ca is given (REQUIRED would not look at it)",
        }),
        (Some(mode), _) => Err(TargetError::NoCa(mode.to_owned())),
    }
}

fn missing(part: &'static str) -> TargetError {
    TargetError::Missing { part, expected: FORM }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<MySqlTarget, TargetError> {
        MySqlTarget::parse(text, None)
    }

    #[test]
    fn a_plain_url_gives_host_port_user_and_password() {
        let target = parse("mysql://app:p%40ss%2F@db.example:3307/").unwrap();
        assert_eq!(
            (target.host.as_str(), target.port, target.user.as_str()),
            ("db.example", 3307, "app")
        );
        assert_eq!(target.password.expose(), "p@ss/");
        assert_eq!(target.verification, Verification::None);
        assert_eq!(parse("mysql://app@h").unwrap().port, 3306);
        assert_eq!(parse("mysql://app@[::1]:3306").unwrap().host, "::1");
    }

    #[test]
    fn a_ca_is_verified_against() {
        let ca = PathBuf::from("/etc/ca.pem");
        let with = |options: &str| parse(&format!("mysql://a:b@h/?{options}")).unwrap().verification;
        assert_eq!(with("ssl-ca=/etc/ca.pem"), Verification::Ca(ca.clone()));
        assert_eq!(
            with("ssl-mode=VERIFY_IDENTITY&ssl-ca=/etc/ca.pem"),
            Verification::HostName(ca, "h".into())
        );
        assert_eq!(with("ssl-mode=REQUIRED"), Verification::None);
    }

    #[test]
    fn a_preferred_target_is_no_baseline() {
        for option in ["ssl-mode=PREFERRED", "tls=preferred", "sslmode=prefer"] {
            let error = parse(&format!("mysql://a:b@h/?{option}")).unwrap_err();
            assert!(matches!(error, TargetError::Preferred(_)), "{option}: {error}");
        }
    }

    #[test]
    fn what_is_not_understood_is_named_with_what_would_be() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert!(message("mysql://a:b@h/?sslca=x").contains("did you mean \"ssl-ca\""));
        assert!(message("mysql://a:b@h/?ssl-mode=maybe").contains("VERIFY_CA"));
        assert!(message("mysql://a:b@h/?ssl-mode=VERIFY_CA").contains("ssl-ca="));
        assert!(message("mysql://h/").contains("no user"));
        assert!(message("mysql://a:b@h/shop").contains("schema of its own"));
    }

    #[test]
    fn the_url_without_password_is_the_same_target() {
        for options in [
            "",
            "?ssl-ca=/etc/my%20ca.pem",
            "?ssl-mode=VERIFY_IDENTITY&ssl-ca=/etc/ca.pem",
        ] {
            let target = parse(&format!("mysql://app:secret@[::1]:3307/{options}")).unwrap();
            let again = MySqlTarget::parse(&target.url(), Some(Secret::new("secret"))).unwrap();
            assert_eq!(again, target);
        }
    }

    #[test]
    fn a_password_from_elsewhere_fills_in_for_one_that_is_not_in_the_url() {
        let given = || Some(Secret::new("given"));
        assert_eq!(
            MySqlTarget::parse("mysql://a@h/", given())
                .unwrap()
                .password
                .expose(),
            "given"
        );
        assert_eq!(
            MySqlTarget::parse("mysql://a:own@h/", given())
                .unwrap()
                .password
                .expose(),
            "own"
        );
    }
}
