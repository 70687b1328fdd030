//! Cells of ours before a judge: EncJDBC 1.0.7, the driver that EncDB's vendor publishes, reads them from a MariaDB that one stored
//! function makes pass for a server with the feature.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ciphertax_columns::{CellCipher, CellKind, MasterKey};
use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MARIADB;
use ciphertax_model::*;
use ciphertax_testkit::{cache, not_tested, plain, run};
use ciphertax_wire::Session as _;
use ciphertax_wire::mysql::Session;
use ciphertax_wire::sql::SqlSession as _;
use serde_json::json;

ciphertax_testkit::plays_roles!();

/// The driver, fetched once with what it needs.
const DRIVER: [&str; 3] = ["com.aliyun", "aliyun-encdb-mysql-jdbc", "1.0.7"];
/// A public key on the curve SM2, which the driver seals its master key with. Nobody has the private one.
const PUBLIC_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MFkwEwYHKoZIzj0CAQYIKoEcz1UBgi0DQgAE8ZZzdYi6z6o188gcezPKdieKW2EE\n\
    P6tspnu71VBQt0Z9ey/K841F0DtYdlHZU3e8mb65OfWHw9VFDwnyaYwvIQ==\n\
    -----END PUBLIC KEY-----\n";
const KEY: &str = "00112233445566778899aabbccddeeff";
const VARCHAR: CellKind = CellKind(253);

/// A cell, and what the driver should read in it.
struct Judged {
    made_with: String,
    cell: String,
    read: String,
}

#[test]
#[ignore = "needs a JDK and Maven: scripts/encjdbc.sh"]
fn encjdbc_reads_what_we_encrypt_and_not_what_was_changed() {
    let Some(jars) = driver() else { return };
    let judged = judged();
    let server = PrivateServer::builder(&MARIADB).without_tls().start().unwrap();
    fill(&server, &judged);
    let address = server.address();
    let url = format!(
        "jdbc:mysql:encdb://{address}/judge?user={}&password={}&MEK={KEY}&ENC_ALGO=SM4_128_GCM",
        server.user(),
        server.password().expose()
    );
    let answer = Command::new("java")
        .args([
            "--add-exports",
            "java.base/com.sun.crypto.provider=ALL-UNNAMED",
            "-cp",
        ])
        .arg(jars.join("*"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/encjdbc/Judge.java"))
        .env("JUDGE_URL", url)
        .env("JUDGE_CELLS", judged.len().to_string())
        .output()
        .unwrap();
    let holds = answer.status.success();
    assert!(holds, "{}", String::from_utf8_lossy(&answer.stderr));
    let answer = String::from_utf8(answer.stdout).unwrap();
    let mut read = BTreeMap::<&str, usize>::new();
    assert_eq!(answer.lines().count(), judged.len());
    for (cell, line) in judged.iter().zip(answer.lines()) {
        let wanted: String = cell.read.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(line, wanted, "{}", cell.made_with);
        *read.entry(cell.made_with.as_str()).or_default() += 1;
    }
    println!("# EncJDBC reads ciphertax's cells of EncDB\n");
    println!(
        "| | |\n|---|---|\n| command | `scripts/encjdbc.sh` |\n| driver | {} |",
        DRIVER.join(":")
    );
    println!("| server | {MARIADB}, with one stored function |\n");
    println!("| cells | read as they should be |\n|---|--:|");
    for (made_with, cells) in read {
        println!("| {made_with} | {cells} |");
    }
    println!();
}

/// Cells of all algorithms, vectors and types; and some that the driver must not read. It says nothing then: it gives out the cell.
fn judged() -> Vec<Judged> {
    let mut judged = Vec::new();
    let texts = [1, 2, 14, 15, 16, 17, 24, 31, 32, 63, 64, 255, 256, 500, 2000]
        .map(|length| (VARCHAR, "7".repeat(length)));
    let typed = [
        (3, "3001"),
        (3, "-1"),
        (8, "9876543210"),
        (246, "123.45"),
        (246, "-0.1250"),
        (253, "naïve 数据"),
        (254, "BARBARBAR"),
        (7, "2026-11-20 10:11:12"),
        (12, "2026-11-20 10:11:12"),
        (10, "2026-11-20"),
    ];
    let typed = typed.map(|(code, value)| (CellKind(code), value.to_owned()));
    use CellAlgorithm::{Aes128Cbc, Aes128Ecb, Aes128Gcm, Sm4Cbc, Sm4Ecb, Sm4Gcm};
    let in_results = [Sm4Gcm, Sm4Cbc, Sm4Ecb, Aes128Gcm, Aes128Cbc, Aes128Ecb];
    let in_results = in_results.map(|algorithm| (algorithm, CellMode::Random, ColumnFeature::InResults));
    let stored = [Sm4Gcm, Sm4Cbc, Aes128Gcm, Aes128Cbc];
    let stored = stored.map(|algorithm| (algorithm, CellMode::Deterministic, ColumnFeature::Stored));
    for (algorithm, mode, feature) in in_results.into_iter().chain(stored) {
        let encryption = encryption(algorithm, mode, feature);
        let mut cipher = CellCipher::open(&encryption, &MasterKey::from_hex(KEY).unwrap()).unwrap();
        for (kind, value) in texts.iter().chain(&typed) {
            judged.push(Judged {
                made_with: encryption.to_string(),
                cell: encrypt(&mut cipher, *kind, value),
                read: value.clone(),
            });
        }
    }
    let encryption = encryption(CellAlgorithm::Sm4Gcm, CellMode::Random, ColumnFeature::InResults);
    let mut of_another_key = CellCipher::open(&encryption, &MasterKey::random().unwrap()).unwrap();
    let mut cipher = CellCipher::open(&encryption, &MasterKey::from_hex(KEY).unwrap()).unwrap();
    let mut changed = STANDARD.decode(encrypt(&mut cipher, VARCHAR, "changed")).unwrap();
    let last = changed.len() - 1;
    changed[0] ^= 1;
    changed[last] ^= 1;
    for (made_with, cell) in [
        (
            "another key: given out as they are",
            encrypt(&mut of_another_key, VARCHAR, "hidden"),
        ),
        (
            "changed, with the check mended: given out as they are",
            STANDARD.encode(changed),
        ),
    ] {
        judged.push(Judged {
            made_with: made_with.to_owned(),
            read: cell.clone(),
            cell,
        });
    }
    judged
}

/// Makes the table of cells, and the function by which the driver and the server exchange keys.
fn fill(server: &PrivateServer, judged: &[Judged]) {
    let message = |body: serde_json::Value| {
        STANDARD.encode(json!({ "status": 0, "body": body.to_string() }).to_string())
    };
    let server_info = message(json!({ "server_info": {
        "version": "1.2.14",
        "tee_type": "NO_TEE",
        "cipher_suite": "SM2_WITH_SM4_128_CBC_SM3",
        "public_key": PUBLIC_KEY,
        "public_key_hash": openssl::sha::sha256(PUBLIC_KEY.as_bytes()).map(|byte| format!("{byte:02x}")).concat(),
    } }));
    let done = message(json!({}));
    let cells: Vec<String> = judged
        .iter()
        .enumerate()
        .map(|(index, judged)| format!("({}, '{}')", index + 1, judged.cell))
        .collect();
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &plain(server)).await.unwrap();
        for sql in [
            "CREATE DATABASE judge".to_owned(),
            "USE judge".to_owned(),
            format!(
                "CREATE FUNCTION encdb_process_message(message LONGTEXT) RETURNS LONGTEXT DETERMINISTIC \
                 RETURN IF(message LIKE '%\"request_type\":0%', '{server_info}', '{done}')"
            ),
            "CREATE TABLE cells (id INT PRIMARY KEY, value TEXT) CHARACTER SET utf8mb4".to_owned(),
            format!("INSERT INTO cells VALUES {}", cells.join(", ")),
        ] {
            session.query(&sql).await.unwrap();
        }
        session.close().await.unwrap();
    });
}

fn encrypt(cipher: &mut CellCipher, kind: CellKind, value: &str) -> String {
    let mut cell = Vec::new();
    cipher.encrypt(kind, value.as_bytes(), &mut cell).unwrap();
    String::from_utf8(cell).unwrap()
}

fn encryption(algorithm: CellAlgorithm, mode: CellMode, feature: ColumnFeature) -> ColumnEncryption {
    ColumnEncryption {
        feature,
        format: CellFormat::Encdb,
        algorithm,
        mode,
        encoding: CellEncoding::Base64,
        columns: ColumnSelection::All,
        decrypt: Decrypt::All,
    }
}

/// The folder of the driver's jars. They are fetched by Maven, as servers of other builds are.
fn driver() -> Option<PathBuf> {
    let [group, artifact, version] = DRIVER;
    let folder = cache().join("ciphertax").join(format!("{artifact}-{version}"));
    let jars = folder.join("jars");
    if jars.join(format!("{artifact}-{version}.jar")).is_file() {
        return Some(jars);
    }
    fs::create_dir_all(&folder).unwrap();
    let project = format!(
        "<project><modelVersion>4.0.0</modelVersion><groupId>judge</groupId><artifactId>judge</artifactId><version>1</version>\
         <dependencies><dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>\
         </dependency></dependencies></project>"
    );
    fs::write(folder.join("pom.xml"), project).unwrap();
    let fetched = Command::new("mvn")
        .args([
            "--batch-mode",
            "--quiet",
            "dependency:copy-dependencies",
            "-DoutputDirectory=jars",
        ])
        .current_dir(&folder)
        .status();
    if !fetched.is_ok_and(|status| status.success()) {
        not_tested("Maven cannot fetch EncJDBC");
        return None;
    }
    Some(jars)
}
