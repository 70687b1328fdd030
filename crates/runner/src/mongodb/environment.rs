//! What programs cannot be given, or held to, on MongoDB.

/// Certificate and key of the client in one file, as MongoDB's drivers want them.
pub(super) const CLIENT: &str = "client.pem";

#[cfg(test)]
mod tests {
    use ciphertax_base::Secret;
    use ciphertax_model::{Arm, AuthenticationMethod, Transport};
    use ciphertax_wire::mongodb::Login;
    use ciphertax_wire::tls::{ClientCertificate, TlsPolicy, Verification};

    use crate::database::{Clients as _, Endpoint, Reached};
    use crate::mongodb::MongoDb;

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
