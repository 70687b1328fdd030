mod real_servers {
    use std::time::Duration;

    use ciphertax_lab::catalogue::{MARIADB, MONGODB, POSTGRESQL};

    use super::super::*;
    use crate::fetched;

    crate::plays_roles!();

    #[test]
    fn what_a_test_made_is_gone_and_a_server_with_other_settings_is_not_lent_again() {
        for entry in [&MARIADB, &POSTGRESQL, &MONGODB] {
            let Some(_) = fetched(entry) else { continue };
            let server = lease(entry);
            let address = server.address();
            for statement in match entry.protocol() {
                Some(Protocol::MySql) => vec!["CREATE DATABASE `of a test`", "CREATE USER a@b"],
                Some(Protocol::PostgreSql) => vec![
                    "CREATE ROLE a",
                    "CREATE SCHEMA ours AUTHORIZATION a CREATE TABLE t (i INTEGER)",
                    "CREATE TABLE t (i INTEGER)",
                ],
                _ => Vec::new(),
            } {
                ask(&server, statement);
            }
            drop(server);
            let server = lease(entry);
            assert_eq!(server.address(), address);
            let (_, new) = server.0.as_ref().unwrap();
            assert!(within(Duration::from_secs(60), || {
                left(&server, None).is_ok_and(|left| left == *new)
            }));
            if entry.name == MARIADB.name {
                ask(&server, "SET GLOBAL max_connections = 77");
                drop(server);
                assert_ne!(lease(entry).address(), address);
            }
        }
    }

    fn ask(server: &PrivateServer, statement: &str) {
        run(async |reactor| match server.entry().protocol() {
            Some(Protocol::MySql) => {
                let (mut session, _) = mysql::Session::connect(reactor, &plain(server)).await.unwrap();
                session.query(statement).await.map(drop)
            }
            _ => {
                let options = plain_postgresql(server);
                let (mut session, _) = postgresql::Session::connect(reactor, &options).await.unwrap();
                session.query(statement).await.map(drop)
            }
        })
        .unwrap();
    }
}
