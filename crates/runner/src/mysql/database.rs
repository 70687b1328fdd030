//! What ciphertax does on MySQL and servers that are compatible with it.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use ciphertax_columns::MasterKey;
use ciphertax_engine::Part;
use ciphertax_lab::catalogue::{Cluster, Entry};
use ciphertax_lab::mysql::{prove, select_canary};
use ciphertax_lab::{PrivateServer, Proved, ProvedAtRest};
use ciphertax_model::workload::Tables;
use ciphertax_model::{Arm, Cell, ColumnFunctions, Study};
use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::{ConnectOptions, KeyFile, Session, TrustedKeys};
use ciphertax_wire::tls::{TlsPolicy, Verification};
use ciphertax_wire::{Expectation, MySqlTarget, PublicKey, Target};
use ciphertax_workload::Driver;
use ciphertax_workload::dataset::tpcc::ConditionResult;
use ciphertax_workload::dataset::{self, CellsProof, Contents, DatasetError};
use ciphertax_workload::mysql::MysqlAccess;
use ciphertax_workload::sql::Columns;
use ciphertax_workload::ycsb::FieldEncryption;

use super::clients::{Keys, Login, MySql, is_cold};
use super::encdb::Encdb;
use super::members::standing;
use super::{cold, counted, environment};
use crate::columns;
use crate::connections::Limit;
use crate::database::{
    Canary, Conditions, Control, Counted, Database, Description, Endpoint, Member, Reached, Variable,
};
use crate::error::RunError;
use crate::footprint::Footprint;
use crate::meter::ServedBy;
use crate::plan::EncdbAccount;
use crate::ranks::ServerState;
use crate::server::TargetServers;
use crate::stored_cells;
use crate::tpcc::{self, Examination};

/// How long a server may take to remove a data set of any size.
const REMOVAL: Duration = Duration::from_secs(600);

/// How it is asked for what the proof of stored cells needs.
const CELLS_PROOF: CellsProof = CellsProof {
    hexadecimal: ["HEX(", ")"],
    log: [
        Some("SET GLOBAL general_log = ON"),
        Some("SET GLOBAL general_log = OFF"),
    ],
    flush: |table| {
        vec![
            format!("FLUSH TABLES {table} FOR EXPORT"),
            "UNLOCK TABLES".to_owned(),
        ]
    },
};

/// The user's own server.
pub(crate) fn mysql_target(target: &MySqlTarget) -> TargetServers<MySql> {
    TargetServers {
        database: MySql::default(),
        endpoints: Endpoint::of_target(
            Endpoint {
                socket: target.socket.clone(),
                ..Endpoint::new(&target.host, target.port)
            },
            &target.others,
        ),
        login: Login {
            user: target.user.clone(),
            password: target.password.clone(),
            schema: target.schema.clone(),
            keys: match (&target.public_key, &target.verification) {
                (Some(PublicKey::Anybodys), _) => Keys::These(TrustedKeys::Anybody),
                (Some(PublicKey::File(file)), _) => {
                    Keys::These(TrustedKeys::File(KeyFile::read(file.clone()).into()))
                }
                (None, Verification::None) => Keys::ThisMachine,
                (None, verification) => Keys::OverTls(TlsPolicy::new(None, verification.clone()).into()),
            },
        },
        verification: target.verification.clone(),
        client_certificate: None,
        needs_tls: false,
        display: target.to_string(),
        url: Target::MySql(target.clone()).url(),
    }
}

/// The same, whose results are encrypted for an account by this master key.
pub(crate) fn encdb_target(
    target: &MySqlTarget,
    account: &EncdbAccount,
    key: MasterKey,
) -> TargetServers<MySql> {
    TargetServers {
        database: MySql {
            encdb: Some(Encdb::new(account, key)),
            ..MySql::default()
        },
        ..mysql_target(target)
    }
}

impl Database for MySql {
    const MADE: &'static str = "the schema ciphertax";
    const PROGRAMS_READ: &'static str = "the file {my_cnf}";
    const COUNTERS_NEED: &'static str = "a user who may read the server's counters";
    const SETS_VARIABLES: bool = true;
    const SERVED_BY: ServedBy = ServedBy::Threads;

    type Access = MysqlAccess;

    fn of_private(server: &PrivateServer, _among_themselves: &[Endpoint]) -> Self {
        Self {
            forget_passwords: server.entry().capabilities.forget_passwords,
            columns: server.at_rest().columns.map(Columns::new),
            ..Self::default()
        }
    }

    fn elsewhere(own: Option<Self>, _state: &ServerState) -> Self {
        own.unwrap_or_default()
    }

    fn claim(control: &mut Control<Self>) -> Result<(), RunError> {
        control.claim()
    }

    fn limits(control: &mut Control<Self>) -> Result<Vec<Limit>, RunError> {
        Ok(control.limits())
    }

    fn members(&self, control: &mut Control<Self>) -> Result<Option<Vec<Member>>, RunError> {
        control.members_by(standing)
    }

    fn refuse_what_cannot_be_removed(&self, control: &mut Control<Self>) -> Result<(), RunError> {
        control.refuse_what_cannot_be_removed()
    }

    fn set_up(
        &mut self,
        control: &mut Control<Self>,
        server: &PrivateServer,
        arms: &[&Arm],
    ) -> Result<(), RunError> {
        if self.forget_passwords.is_some() && arms.iter().copied().any(is_cold) {
            self.cold_accounts = cold::accounts(control, server)?;
        }
        Ok(())
    }

    fn describe(
        &self,
        control: &mut Control<Self>,
        private: Option<&Entry>,
    ) -> Result<Description, RunError> {
        control.describe(private)
    }

    fn prove(
        &self,
        control: &Control<Self>,
        arm: &str,
        options: &ConnectOptions,
        expectation: &Expectation,
        conditions: Conditions<'_, Self>,
    ) -> Result<Proved, RunError> {
        let mut proved = prove(arm, options, expectation)?;
        if let (Some(relay), Some(direct)) = (conditions.column_relay, control.ways.first()) {
            proved.proofs.push(relay.prove(arm, options, direct)?);
        }
        if let Some(encdb) = &self.encdb {
            let proof = encdb.prove(control, arm, options, expectation, conditions.columns)?;
            proved.proofs.extend(proof);
        }
        Ok(proved)
    }

    fn canary(options: &ConnectOptions) -> Canary {
        Box::new(select_canary(options))
    }

    fn access(
        &self,
        arm: &Arm,
        options: ConnectOptions,
        expectation: Expectation,
        _measured: &[Endpoint],
    ) -> MysqlAccess {
        MysqlAccess {
            options: ConnectOptions {
                database: Some(dataset::SCHEMA.to_owned()),
                ..options
            },
            expectation,
            connections: 1,
            forget_passwords: self.forget_passwords.filter(|_| is_cold(arm)),
            columns: self.columns,
            key_exchange: self
                .encdb
                .as_ref()
                .and_then(|encdb| encdb.exchange_of(arm.columns.as_ref())),
        }
    }

    fn options_of_access(access: &MysqlAccess) -> &ConnectOptions {
        &access.options
    }

    fn load(
        &mut self,
        control: &mut Control<Self>,
        study: &Study,
        key: Option<&MasterKey>,
        fields: Option<FieldEncryption>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<bool, RunError> {
        let contents = Contents {
            columns: self.columns,
            fields,
            ..tpcc::contents(study, MysqlAccess::VOCABULARIES, key)
        };
        let of = contents.rows();
        progress(0, of);
        control.prepare(&contents, &mut self.given_up, |rows| progress(rows, of))?;
        Ok(true)
    }

    fn begin_load(&mut self, control: &mut Control<Self>, contents: &Contents) -> Result<bool, RunError> {
        control.begin(contents)
    }

    async fn load_part(
        reactor: &Rc<Reactor>,
        access: &MysqlAccess,
        contents: &Contents,
        part: Part,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), DatasetError> {
        dataset::load_part::<Session>(reactor, &access.options, contents, part, progress).await
    }

    fn examine_tables(
        &self,
        control: &mut Control<Self>,
        examination: &Examination,
    ) -> Result<Vec<Vec<ConditionResult>>, RunError> {
        tpcc::examine(control, examination)
    }

    fn restore_tables(
        &mut self,
        control: &mut Control<Self>,
        contents: &Contents,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), RunError> {
        tpcc::restore(control, contents, &mut self.given_up, progress)
    }

    fn remove(&self, control: &Control<Self>) -> Result<bool, RunError> {
        control.remove(&self.given_up, REMOVAL)
    }

    fn counters(&self, control: &mut Control<Self>) -> Result<BTreeMap<String, i64>, RunError> {
        control.counters()
    }

    fn variable(&self, control: &mut Control<Self>, name: &str) -> Result<Variable, RunError> {
        control.variable(name)
    }

    fn set_variable(
        &self,
        control: &mut Control<Self>,
        name: &str,
        value: &Variable,
    ) -> Result<(), RunError> {
        control.set_variable(name, value)
    }

    fn has_session_value(&self, control: &mut Control<Self>, name: &str) -> Result<bool, RunError> {
        control.has_session_value(name)
    }

    fn prove_columns(
        &self,
        control: &Control<Self>,
        functions: Option<ColumnFunctions>,
        server: &PrivateServer,
    ) -> Result<Option<ProvedAtRest>, RunError> {
        columns::prove::<Self>(control, self.columns.as_ref(), functions, server)
    }

    fn prove_cells(
        &self,
        control: &Control<Self>,
        arm: &Arm,
        key: Option<&MasterKey>,
        server: &PrivateServer,
    ) -> Result<Option<ProvedAtRest>, RunError> {
        stored_cells::prove(control, arm, key, server, &CELLS_PROOF)
    }

    fn footprint(&self, control: &mut Control<Self>) -> Result<Footprint, RunError> {
        control.footprint()
    }

    fn refuse(study: &Study, cell: &Cell, private: Option<&Entry>) -> Vec<String> {
        let mut refusals = columns::refuse(study, cell, Some(ColumnFunctions::AesEncrypt));
        if study.server_spec(cell).replica_set.is_some() {
            refusals.push(format!(
                "cell {}: replica_set is for MongoDB alone; leave it out, or take server = \"mongodb\"",
                cell.name
            ));
        }
        let is_group =
            private.is_some_and(|entry| entry.capabilities.cluster == Some(Cluster::GroupReplication));
        let has_no_keys = match cell.workload.descriptor().tables {
            Some(Tables::Pgbench) => Some("pgbench's tables are loaded before they have primary keys"),
            Some(Tables::Tpcc) => Some("TPC-C's history has no primary key"),
            _ => None,
        };
        if let Some(has_none) = has_no_keys.filter(|_| is_group && study.server_spec(cell).is_cluster()) {
            refusals.push(format!(
                "cell {}: {has_none}, which a replication group refuses; leave nodes out, or take server = \"mariadb\"",
                cell.name
            ));
        }
        let forgets = private.is_some_and(|entry| entry.capabilities.forget_passwords.is_some());
        if forgets && cold::is_too_much(study, cell) {
            refusals.push(format!(
                "cell {}: a slice has more logins than the {} accounts that a cold arm has; take smaller batches, a lower \
                 rate, or shorter slices",
                cell.name,
                cold::LOGINS
            ));
        }
        refusals
    }

    /// Cold arms may have made it forget passwords: a program cannot tell it twice.
    fn remind(&self, control: &Control<Self>, access: &MysqlAccess) {
        if self.cold_accounts.is_some() {
            // A server that is gone is noticed by the next who asks it something.
            let _ = control.visit(&access.options);
        }
    }

    fn url(reached: &Reached<'_, Self>) -> String {
        environment::url(reached)
    }

    fn files(reached: &Reached<'_, Self>) -> Result<Vec<(&'static str, Vec<u8>)>, RunError> {
        environment::files(reached)
    }

    fn counted(at_the_end: &BTreeMap<String, i64>, change: &BTreeMap<String, i64>) -> Counted {
        counted::counted(at_the_end, change)
    }

    /// After a greeting, which begins with its length.
    fn tls_begins_at(answers: &[u8]) -> Option<usize> {
        let header = answers.get(..4)?;
        Some(4 + usize::from(header[0]) + (usize::from(header[1]) << 8) + (usize::from(header[2]) << 16))
    }
}
