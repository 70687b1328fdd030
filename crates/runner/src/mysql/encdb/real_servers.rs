//! A MariaDB that one stored function makes pass for a server with the feature.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ciphertax_base::Secret;
use ciphertax_columns::encdb::Derivation;
use ciphertax_columns::{CellCipher, CellKind};
use ciphertax_engine::Failure;
use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MARIADB;
use ciphertax_model::{Arm, Study};
use ciphertax_testkit::{plain, run};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_workload::Access as _;
use ciphertax_workload::mysql::MysqlAccess;
use openssl::md::Md;
use openssl::pkey::{Id, PKey, Private};
use openssl::pkey_ctx::PkeyCtx;
use openssl::rsa::{Padding, Rsa};
use openssl::symm;
use serde_json::{Value, json};

use super::*;
use crate::database::{Clients, ControlOptions};

const KEY: &str = "00112233445566778899aabbccddeeff";

/// The server, and a master key in the hands of its sealed account.
struct Ground {
    server: PrivateServer,
    control: Control<MySql>,
}

impl Ground {
    fn start() -> Self {
        let server = PrivateServer::builder(&MARIADB).without_tls().start().unwrap();
        let ways = ControlOptions {
            default: vec![plain(&server)],
            is_encrypted: false,
            encrypted: Vec::new(),
            lacks_password: false,
            patience: TIMEOUT,
        };
        let mut control = Control::connect("the server", ways, None).unwrap();
        for sql in [
            "CREATE DATABASE ciphertax",
            "CREATE TABLE ciphertax.heard (message LONGTEXT)",
            "CREATE TABLE ciphertax.cells (cell TEXT)",
            "CREATE USER sealed@'%' IDENTIFIED BY 'tr0ub4dor'",
            "GRANT ALL ON ciphertax.* TO sealed@'%'",
        ] {
            control.run(sql).unwrap();
        }
        Self { server, control }
    }

    /// Answers the first request so, and the second so.
    fn answers(&mut self, info: &str, taken: &str) {
        let function = format!(
            "CREATE OR REPLACE FUNCTION ciphertax.encdb_process_message(message LONGTEXT) RETURNS LONGTEXT MODIFIES SQL DATA BEGIN \
             IF message LIKE '{{\"request_type\":0,%' THEN RETURN '{info}'; END IF; \
             INSERT INTO ciphertax.heard VALUES (CONCAT(USER(), ' ', message)); RETURN '{taken}'; END"
        );
        self.control.run(&function).unwrap();
    }

    fn options(&self, database: &MySql, arm: &Arm) -> ConnectOptions {
        let options = database.options_of_arm(plain(&self.server), arm);
        // A real server's function is everywhere, and a stored one in its schema.
        ConnectOptions {
            database: Some("ciphertax".into()),
            ..options
        }
    }

    fn prove(&self, database: &MySql, arm: &Arm) -> Result<Option<Proof>> {
        let (options, expectation) = (self.options(database, arm), Expectation::of(arm));
        let encdb = database.encdb.as_ref().unwrap();
        encdb.prove(
            &self.control,
            &arm.name,
            &options,
            &expectation,
            arm.columns.as_ref(),
        )
    }

    fn access(&self, database: &MySql, arm: &Arm) -> MysqlAccess {
        database.access(arm, self.options(database, arm), Expectation::of(arm), &[])
    }
}

fn arms() -> Vec<Arm> {
    let study = Study::from_toml(
        "name = \"s\"\nquestion = \"?\"\ntime_s = 60\narm = [{ name = \"plain\", transport = \"plain\" },\
         { name = \"ready\", transport = \"plain\", columns = { feature = \"in_results\", columns = \"none\" } },\
         { name = \"all\", transport = \"plain\", columns = { feature = \"in_results\", \
         algorithm = \"aes128_gcm\", columns = \"all\" } }]\n\
         cell = [{ name = \"c\", workload = \"tpcc\", load = { connections = 1 } }]\n",
    );
    study.unwrap().arms
}

fn database() -> MySql {
    let account = EncdbAccount {
        user: "sealed".into(),
        password: Secret::new("tr0ub4dor"),
    };
    MySql {
        encdb: Some(Encdb::new(&account, MasterKey::from_hex(KEY).unwrap())),
        ..MySql::default()
    }
}

fn message(status: i64, body: &str) -> String {
    STANDARD.encode(json!({ "status": status, "body": body }).to_string())
}

fn info(suite: Suite, key: &PKey<Private>) -> String {
    let pem = String::from_utf8(key.public_key_to_pem().unwrap()).unwrap();
    let info = json!({ "server_info": {
        "version": "1.2.14", "tee_type": "NO_TEE", "cipher_suite": suite.name(), "public_key": pem, "public_key_hash": "c0ffee",
    } });
    message(0, &info.to_string())
}

fn keys() -> [(Suite, PKey<Private>); 2] {
    let mut context = PkeyCtx::new_id(Id::SM2).unwrap();
    context.keygen_init().unwrap();
    [
        (Suite::Sm2Sm4Cbc, context.keygen().unwrap()),
        (
            Suite::RsaAesGcm,
            PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap(),
        ),
    ]
}

/// What is in an envelope, by the calls of the library alone.
fn open(suite: Suite, private: &PKey<Private>, envelope: &[u8]) -> Vec<u8> {
    let length = usize::from(u16::from_le_bytes([envelope[0], envelope[1]]));
    let (sealed, body) = envelope[2..].split_at(length);
    let mut context = PkeyCtx::new(private).unwrap();
    context.decrypt_init().unwrap();
    if suite == Suite::RsaAesGcm {
        context.set_rsa_padding(Padding::PKCS1_OAEP).unwrap();
        context.set_rsa_oaep_md(Md::sha256()).unwrap();
        context.set_rsa_mgf1_md(Md::sha256()).unwrap();
    }
    let mut key = Vec::new();
    context.decrypt_to_vec(sealed, &mut key).unwrap();
    match suite {
        Suite::RsaAesGcm => {
            let (vector, tag) = (&body[..12], &body[12..28]);
            symm::decrypt_aead(
                symm::Cipher::aes_128_gcm(),
                &key,
                Some(vector),
                &[],
                &body[28..],
                tag,
            )
            .unwrap()
        }
        _ => symm::decrypt(symm::Cipher::sm4_cbc(), &key, Some(&body[..16]), &body[16..]).unwrap(),
    }
}

#[test]
fn every_session_gives_the_server_the_master_key_and_reads_what_the_server_makes_with_it() {
    let mut ground = Ground::start();
    let arms = arms();
    let [plain_arm, ready, all] = arms.as_slice() else {
        panic!("{arms:?}")
    };
    for (suite, private) in &keys() {
        ground.answers(&info(*suite, private), &message(0, "{}"));
        ground.control.run("TRUNCATE ciphertax.heard").unwrap();
        let database = database();
        assert_eq!(ground.prove(&database, plain_arm).unwrap(), None);
        for arm in [all, ready] {
            let proof = ground.prove(&database, arm).unwrap().unwrap();
            for word in [suite.name(), "1.2.14", "NO_TEE"] {
                assert!(proof.evidence.contains(word), "{proof:?}");
            }
            assert!(proof.claim.contains("untested on a real server"), "{proof:?}");
        }
        assert!(ground.access(&database, plain_arm).key_exchange.is_none());
        let access = ground.access(&database, all);
        assert_eq!(
            access.derivation() == Derivation::Sha256,
            *suite == Suite::RsaAesGcm
        );
        let columns = all.columns.as_ref().unwrap();
        let key = MasterKey::from_hex(KEY).unwrap();
        // As the server would make it.
        let mut cell = Vec::new();
        let mut made = CellCipher::with_derivation(columns, &key, suite.derivation()).unwrap();
        made.encrypt(CellKind(253), b"a chair", &mut cell).unwrap();
        let cell = String::from_utf8(cell).unwrap();
        ground
            .control
            .run(&format!("REPLACE INTO ciphertax.cells VALUES ('{cell}')"))
            .unwrap();
        let read = run(async |reactor| {
            let mut session = access.open(reactor, 0).await.unwrap();
            let query = format!("SELECT cell FROM cells WHERE cell = '{cell}'");
            session.query(&query).await.unwrap()[0].text(0)
        });
        let mut opened = CellCipher::with_derivation(columns, &key, access.derivation()).unwrap();
        let mut plaintext = Vec::new();
        opened.decrypt(read.as_bytes(), &mut plaintext).unwrap();
        assert_eq!(plaintext, b"a chair");

        let heard = ground
            .control
            .pairs("SELECT message, 1 FROM ciphertax.heard")
            .unwrap();
        let mut asked = Vec::new();
        for heard in heard.keys() {
            let (user, message) = heard.split_once(' ').unwrap();
            let message: Value = serde_json::from_str(message).unwrap();
            let envelope = STANDARD.decode(message["envelope"].as_str().unwrap()).unwrap();
            let inside: Value = serde_json::from_slice(&open(*suite, private, &envelope)).unwrap();
            assert_eq!(inside, json!({ "mek": STANDARD.encode(key.bytes()) }));
            assert_eq!(message["cipher_suite"], suite.name());
            asked.push((
                user.starts_with("sealed@"),
                message["algorithm"].as_str().unwrap().to_owned(),
            ));
        }
        asked.sort();
        let of = |is_sealed, algorithm: &str| (is_sealed, algorithm.to_owned());
        assert_eq!(
            asked,
            [
                of(false, "SM4_128_GCM"),
                of(true, "AES_128_GCM"),
                of(true, "AES_128_GCM")
            ]
        );
    }
}

#[test]
fn a_server_that_cannot_exchange_keys_is_named_with_what_to_do() {
    let mut ground = Ground::start();
    let arms = arms();
    let all = &arms[2];
    let [(suite, private), (other, its)] = keys();
    let refused = |ground: &Ground, says: &str| {
        let error = ground.prove(&database(), all).unwrap_err().to_string();
        for word in [
            "the server cannot be used",
            "arm all",
            says,
            "is it a PolarDB-X or RDS",
        ] {
            assert!(error.contains(word), "{word}: {error}");
        }
    };
    refused(&ground, "encdb_process_message does not exist");
    let good = info(suite, &private);
    for (info, taken, says) in [
        (
            message(5, "always-encrypted is off"),
            String::new(),
            "status 5: always-encrypted is off",
        ),
        ("noise, and no Base64".to_owned(), String::new(), "not Base64"),
        (good.clone(), message(9, "unknown key"), "status 9: unknown key"),
        (good.clone(), String::new(), "empty, or NULL"),
    ] {
        ground.answers(&info, &taken);
        refused(&ground, says);
    }
    // Another server behind the same name.
    let database = database();
    ground.answers(&good, &message(0, ""));
    ground.prove(&database, all).unwrap();
    let access = ground.access(&database, all);
    ground.answers(&info(other, &its), &message(0, ""));
    let opened = run(async |reactor| access.open(reactor, 0).await.map(drop));
    match opened {
        Err(Failure::FactsDiffer(detail)) => assert!(detail.contains(other.name()), "{detail}"),
        other => panic!("{other:?}"),
    }
    assert!(ground.prove(&database, all).is_err());
}
