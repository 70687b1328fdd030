//! What programs cannot be given, or held to, on MongoDB.

use ciphertax_model::load::{Part, Placeholder, parts};
use ciphertax_model::{Cell, Study};

/// Certificate and key of the client in one file, as MongoDB's drivers want them.
pub(super) const CLIENT: &str = "client.pem";

/// What programs cannot be given, or held to, on MongoDB.
pub(super) fn refuse(study: &Study, cell: &Cell) -> Vec<String> {
    let Some(command) = &cell.command else {
        return Vec::new();
    };
    let mut refusals = Vec::new();
    if study.server_spec(cell).replica_set.is_some() {
        refusals.push(format!(
            "cell {}: each member of a replica set counts its connections for itself, so nobody can tell what a program's \
             were; leave replica_set out",
            cell.name
        ));
    }
    let of_mysql = [Placeholder::MyCnf, Placeholder::SysbenchCnf, Placeholder::Socket];
    let parts = command
        .run
        .iter()
        .flat_map(|word| parts(word).unwrap_or_default());
    for placeholder in of_mysql {
        if parts.clone().any(|part| part == Part::Placeholder(placeholder)) {
            refusals.push(format!(
                "cell {}: {{{}}} is for programs that speak to MySQL; on MongoDB they find everything in the environment \
                 variable CIPHERTAX_URL",
                cell.name,
                placeholder.name()
            ));
        }
    }
    refusals
}

#[cfg(test)]
mod tests {
    use ciphertax_model::{Arm, AuthenticationMethod, Secret, Transport};
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
