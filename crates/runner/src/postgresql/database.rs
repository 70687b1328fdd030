//! What ciphertax does on PostgreSQL and servers that are compatible with it.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use ciphertax_columns::MasterKey;
use ciphertax_engine::Part;
use ciphertax_lab::catalogue::Entry;
use ciphertax_lab::pooler::RunningPooler;
use ciphertax_lab::postgresql::{self as lab, prove, select_canary};
use ciphertax_lab::{PrivateServer, Proved, ProvedAtRest};
use ciphertax_model::{Arm, Cell, CellEncoding, ColumnFunctions, Study};
use ciphertax_reactor::Reactor;
use ciphertax_wire::postgresql::{ConnectOptions, Session};
use ciphertax_wire::{Expectation, PostgreSqlTarget, Target};
use ciphertax_workload::Driver;
use ciphertax_workload::dataset::tpcc::ConditionResult;
use ciphertax_workload::dataset::{self, CellsProof, Contents, DatasetError, SCHEMA};
use ciphertax_workload::postgresql::PostgresqlAccess;
use ciphertax_workload::sql::Columns;
use ciphertax_workload::ycsb::FieldEncryption;

use super::clients::{Login, PostgreSql};
use super::members::standing;
use super::{counted, environment};
use crate::columns;
use crate::connections::Limit;
use crate::database::{
    Canary, Conditions, Control, Counted, Database, Description, Endpoint, Member, Reached,
};
use crate::error::RunError;
use crate::fields;
use crate::footprint::Footprint;
use crate::meter::ServedBy;
use crate::ranks::ServerState;
use crate::server::TargetServers;
use crate::stored_cells;
use crate::tpcc::{self, Examination};
use crate::wait_events::WaitEventAsker;

/// How long a server may take to remove a data set of any size.
const REMOVAL: Duration = Duration::from_secs(600);

/// How it is asked for what the proof of stored cells needs.
const CELLS_PROOF: CellsProof = CellsProof {
    hexadecimal: ["encode(", "::bytea, 'hex')"],
    log: [Some("SET log_statement = 'all'"), None],
    flush: |_| vec!["CHECKPOINT".to_owned()],
};

/// The user's own server.
pub(crate) fn postgresql_target(target: &PostgreSqlTarget) -> TargetServers<PostgreSql> {
    TargetServers {
        database: PostgreSql {
            negotiation: target.negotiation.unwrap_or_default(),
            ..PostgreSql::default()
        },
        endpoints: Endpoint::of_target(
            Endpoint {
                socket: target.socket(),
                ..Endpoint::new(&target.host, target.port)
            },
            &target.others,
        ),
        login: Login {
            user: target.user.clone(),
            password: target.password.clone(),
            database: target.database.clone(),
            method: None,
            method_over_tls: target.method,
            settings: target.settings.clone(),
            connect_timeout: target.connect_timeout,
        },
        verification: target.verification.clone(),
        client_certificate: target.client_certificate.clone(),
        needs_tls: false,
        display: target.to_string(),
        url: Target::PostgreSql(target.clone()).url(),
    }
}

impl Database for PostgreSql {
    const MADE: &'static str = "the schema ciphertax";
    const PROGRAMS_READ: &'static str = "the variables that libpq reads (PGHOST, PGSSLMODE …)";
    const COUNTERS_NEED: &'static str = "PostgreSQL 14 or newer";
    const COUNTS_HANDSHAKES: bool = false;
    const SERVED_BY: ServedBy = ServedBy::Processes;

    type Access = PostgresqlAccess;

    fn of_private(server: &PrivateServer, _among_themselves: &[Endpoint]) -> Self {
        Self {
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
        control.refuse_what_cannot_be_removed()?;
        control.end_leftovers()
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
        if options.socket.is_some() && options.tls.is_some() {
            return Err(control.unusable(format!(
                "the arm {arm} is over TLS, which PostgreSQL does not have over Unix sockets; give host:port, or take a study \
                 without TLS arms"
            )));
        }
        // A wrong password proves something only where a password is asked for.
        let method = match options.method {
            None => control.method_of(options)?,
            method => method,
        };
        let options = ConnectOptions {
            method,
            ..options.clone()
        };
        let pooler = conditions.pooler;
        let by = lab::Conditions {
            unknown_client: conditions.unknown_client.as_ref(),
            behind_pooler: pooler.map(RunningPooler::server_transport),
        };
        let mut proved = prove(arm, &options, expectation, by)?;
        if let Some(pooler) = pooler {
            proved.proofs.extend(pooler.prove(arm, &options)?);
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
    ) -> PostgresqlAccess {
        PostgresqlAccess {
            options: ConnectOptions {
                schema: Some(SCHEMA.to_owned()),
                ..options
            },
            expectation,
            connections: 1,
            is_pooled: arm.pooler.is_some(),
            columns: self.columns,
        }
    }

    fn options_of_access(access: &PostgresqlAccess) -> &ConnectOptions {
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
            ..tpcc::contents(study, PostgresqlAccess::VOCABULARIES, key)
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
        access: &PostgresqlAccess,
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
        control.counters(&self.readings)
    }

    fn wait_events(control: &Control<Self>) -> Option<WaitEventAsker> {
        control.wait_events()
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

    fn refuse(study: &Study, cell: &Cell, _private: Option<&Entry>) -> Vec<String> {
        let mut refusals = environment::refuse(study, cell);
        refusals.extend(columns::refuse(study, cell, Some(ColumnFunctions::Pgcrypto)));
        refusals.extend(fields::refuse(study, cell, |columns| {
            let is_bytes = columns.encoding == CellEncoding::Binary;
            is_bytes.then_some("cells are stored as text here; take encoding = \"base64\"")
        }));
        refusals
    }

    fn url(reached: &Reached<'_, Self>) -> String {
        environment::url(reached)
    }

    fn variables(reached: &Reached<'_, Self>) -> Vec<(String, String)> {
        environment::variables(reached)
    }

    fn files(reached: &Reached<'_, Self>) -> Result<Vec<(&'static str, Vec<u8>)>, RunError> {
        environment::files(reached)
    }

    fn counted(_at_the_end: &BTreeMap<String, i64>, change: &BTreeMap<String, i64>) -> Counted {
        counted::counted(change)
    }

    /// After the one byte that answers the client's request for TLS; at once where the client did not ask.
    fn tls_begins_at(answers: &[u8]) -> Option<usize> {
        match answers.first()? {
            b'S' => Some(1),
            _ => Some(0),
        }
    }
}
