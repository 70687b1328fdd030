//! `ciphertax servers`.

use crate::common::*;

const NAMES: [&str; 11] = [
    "mariadb",
    "mariadb-11.8",
    "mysql",
    "mysql-5.6",
    "mariadb-10.2",
    "mariadb-10.11-wolfssl",
    "mariadb-11.4-wolfssl",
    "mongodb",
    "postgresql",
    "postgresql-18",
    "sqlite",
];

#[test]
fn the_list_names_every_server_its_library_and_what_it_can_do() {
    let finished = Sandbox::new().finish(&["servers"]);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    let rows: Vec<&str> = finished
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| NAMES.contains(word))
        .collect();
    assert_eq!(rows, NAMES);
    finished.shows("yaSSL … wolfSSL 5.7 … X25519MLKEM768 … ciphertax servers install NAME");
}

#[test]
fn the_list_as_json_says_what_is_installed_and_where() {
    let finished = Sandbox::new().finish(&["servers", "--json"]);
    let servers: Vec<Value> = serde_json::from_str(&finished.stdout).unwrap();
    let names: Vec<&str> = servers
        .iter()
        .filter_map(|server| server["name"].as_str())
        .collect();
    assert_eq!(names, NAMES);
    // The tests cannot run without it.
    let mariadb = &servers[0];
    let is_named = mariadb["installed"].as_str().unwrap().contains("MariaDB");
    assert!(is_named, "{mariadb}");
    assert!(
        fs::metadata(mariadb["program"].as_str().unwrap())
            .unwrap()
            .is_file()
    );
}

#[test]
fn a_server_that_is_not_in_the_catalogue_is_refused_with_the_names_there_are() {
    let finished = Sandbox::new().finish(&["servers", "install", "mysqll"]);
    finished.fails(
        2,
        "mysqll … a similar value exists: 'mysql' … mariadb-11.4-wolfssl … mongodb",
    );
}

#[test]
fn a_server_of_a_former_release_is_refused_with_what_to_use_instead() {
    let finished = Sandbox::new().finish(&["servers", "install", "tidb"]);
    finished.refuses("tidb was removed: give the URL of a TiDB of your own");
}
