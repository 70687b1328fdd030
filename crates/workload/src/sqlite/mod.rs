//! What is SQLite's alone: sessions that run in the load threads, and are what their arm says.

use std::rc::Rc;

use ciphertax_engine::{Engine, EngineError, Failure, Part, Result};
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{Cell, Load};
use ciphertax_reactor::Reactor;
use ciphertax_wire::Expectation;
use ciphertax_wire::sqlite::{ConnectOptions, Session};

use crate::driver::{Access, Job, failure};
use crate::sql;

/// Which file an arm opens, and what every session must then be.
#[derive(Clone)]
pub struct SqliteAccess {
    /// How to open it.
    pub options: ConnectOptions,
    /// What every session must be.
    pub expectation: Expectation,
}

impl Access for SqliteAccess {
    type Session = Session;

    const NAME: &'static str = "SQLite";

    const VOCABULARIES: &'static [Vocabulary] = &[Vocabulary::Connect, Vocabulary::Sql, Vocabulary::KeyValue];

    fn options(&self) -> &ConnectOptions {
        &self.options
    }

    fn expectation(&self) -> &Expectation {
        &self.expectation
    }

    async fn open(&self, _reactor: &Rc<Reactor>, _slot: u32) -> Result<Session> {
        let (mut session, _) = Session::open(&self.options).map_err(failure)?;
        self.expectation.check(&session).map_err(Failure::FactsDiffer)?;
        let status = session.status().map_err(failure)?;
        status.check(&self.options).map_err(Failure::FactsDiffer)?;
        Ok(session)
    }

    /// A session works where it is asked, and leaves its thread to no other until it is done: so each has its own.
    fn start(job: &Job<'_>, arms: Vec<Self>) -> Result<Option<Engine>, EngineError> {
        let load = Load {
            workers: Some(job.cell.load.connections),
            ..job.cell.load
        };
        let cell = Cell {
            load,
            ..job.cell.clone()
        };
        let job = &Job {
            cell: &cell,
            part: Part::WHOLE,
            keys: job.keys.clone(),
            columns: job.columns.clone(),
            ..*job
        };
        sql::start(job, &arms, |_| None)
    }
}
