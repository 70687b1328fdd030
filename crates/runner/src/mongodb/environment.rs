//! What programs find of an arm on MongoDB: a URL.

use ciphertax_wire::mongodb::{Account, Login};

use super::clients::MongoDb;
use crate::database::{Programs, Reached, encoded};
use crate::error::RunError;

/// Certificate and key of the client in one file, as MongoDB's drivers want them.
const CLIENT: &str = "client.pem";

impl Programs for MongoDb {
    const PROGRAMS_READ: &'static str = "CIPHERTAX_URL";

    /// `mongodb://user:password@host:port/?authSource=…&tls=…`. It names no database: drivers would take it for that of the user.
    fn url(reached: &Reached<'_, Self>) -> String {
        let (credentials, mut options) = match reached.login {
            Login::None => (String::new(), Vec::new()),
            Login::X509 => (
                String::new(),
                vec![
                    ("authSource", encoded("$external")),
                    ("authMechanism", "MONGODB-X509".into()),
                ],
            ),
            Login::Scram(Account {
                mechanism,
                user,
                password,
                source,
            }) => (
                format!("{}:{}@", encoded(user), encoded(password.expose())),
                vec![
                    ("authSource", encoded(source)),
                    ("authMechanism", mechanism.method().name().to_owned()),
                ],
            ),
        };
        // What stands between program and server is no member of a replica set.
        options.push(("directConnection", "true".into()));
        options.push(("tls", reached.policy.is_some().to_string()));
        if reached.policy.is_some() {
            match reached.ca() {
                Some(ca) => options.push(("tlsCAFile", encoded(&ca.to_string_lossy()))),
                None => options.push(("tlsAllowInvalidCertificates", "true".into())),
            }
            if reached.ca().is_some() && !reached.verifies_name() {
                options.push(("tlsAllowInvalidHostnames", "true".into()));
            }
            if reached.client_certificate().is_some() {
                let file = reached.folder.join(CLIENT);
                options.push(("tlsCertificateKeyFile", encoded(&file.to_string_lossy())));
            }
        }
        let options: Vec<String> = options
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        format!(
            "mongodb://{credentials}{}:{}/?{}",
            reached.host_in_url(),
            reached.endpoint.port,
            options.join("&")
        )
    }

    /// The client's certificate with its key.
    fn files(reached: &Reached<'_, Self>) -> Result<Vec<(&'static str, Vec<u8>)>, RunError> {
        let Some(client) = reached.client_certificate() else {
            return Ok(Vec::new());
        };
        let mut both = reached.read(&client.key)?;
        both.push(b'\n');
        both.extend(reached.read(&client.certificate)?);
        Ok(vec![(CLIENT, both)])
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_model::{Arm, AuthenticationMethod, Secret, Transport};
    use ciphertax_wire::tls::{ClientCertificate, TlsPolicy, Verification};

    use super::*;
    use crate::database::Endpoint;

    #[test]
    fn a_url_holds_whatever_a_password_holds() {
        let arm = Arm::new("plain", Transport::Plain);
        let endpoint = Endpoint::new("::1", 27018);
        let login = Login::by(AuthenticationMethod::ScramSha256, "app", Secret::new("p#/é"));
        assert_eq!(
            MongoDb::url(&Reached::made_up(&arm, &endpoint, &login.unwrap(), None)),
            "mongodb://app:p%23%2F%C3%A9@[::1]:27018/?authSource=admin&authMechanism=SCRAM-SHA-256&directConnection=true&\
             tls=false"
        );
    }

    #[test]
    fn a_client_certificate_is_one_file_and_names_nobody_else() {
        let arm = Arm::new("tls", Transport::Tls13);
        let endpoint = Endpoint::new("127.0.0.1", 27018);
        let policy = TlsPolicy {
            client_certificate: Some(ClientCertificate {
                certificate: "/a".into(),
                key: "/b".into(),
            }),
            ..TlsPolicy::new(None, Verification::HostName("/ca.pem".into(), "127.0.0.1".into()))
        };
        assert_eq!(
            MongoDb::url(&Reached::made_up(&arm, &endpoint, &Login::X509, Some(&policy))),
            "mongodb://127.0.0.1:27018/?authSource=%24external&authMechanism=MONGODB-X509&directConnection=true&tls=true&\
             tlsCAFile=%2Fca%2Epem&tlsCertificateKeyFile=%2Ftmp%2Ff%2Fclient%2Epem"
        );
    }
}
