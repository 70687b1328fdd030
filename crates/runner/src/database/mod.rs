//! The wall: what a database adds to servers, routes, tunnels and records that are the same for all.

mod clients;
mod control;
mod counted;
mod members;
mod program;
mod reached;
mod sql;
mod variable;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use ciphertax_columns::MasterKey;
use ciphertax_engine::Part;
use ciphertax_lab::catalogue::Entry;
use ciphertax_lab::column_relay::RunningColumnRelay;
use ciphertax_lab::pooler::RunningPooler;
use ciphertax_lab::{PrivateServer, Proved, ProvedAtRest, WrongLogins};
use ciphertax_model::{Arm, ColumnEncryption, ColumnFunctions};
use ciphertax_reactor::Reactor;
use ciphertax_wire::{Expectation, WireError};
use ciphertax_workload::dataset::tpcc::{ConditionResult, TableNames, When};
use ciphertax_workload::dataset::{CellsProof, Contents, DatasetError};
use ciphertax_workload::sql::Columns;

use crate::connections::Limit;
use crate::error::{Result, RunError};
use crate::footprint::Footprint;
use crate::meter::ServedBy;
use crate::wait_events::Ask;

pub(crate) use clients::{Clients, Documents, Relational};
pub(crate) use control::{Control, ControlOptions};
pub(crate) use counted::{Counted, Expected};
pub(crate) use members::{Member, Standing};
pub(crate) use program::{Reached, encoded};
pub(crate) use reached::{Endpoint, ReachedArm};
pub(crate) use variable::{Variable, Variables};

/// How long servers may take to remove a data set of any size.
pub(crate) const REMOVAL: Duration = Duration::from_secs(600);

/// A database, as the generic servers know it: its clients, its control session, its witnesses, its data set, its counters and
/// variables, and what it cannot do.
pub(crate) trait Database: Tables {
    /// Who serves the connections of a server, and so has to be read for what it uses.
    const SERVED_BY: ServedBy;
    /// Whom a server shows its counters to, as the rest of a sentence.
    const COUNTERS_NEED: &'static str;
    /// False for a server that counts no TLS handshakes: what a program's connections are is then seen in its trial alone.
    const COUNTS_HANDSHAKES: bool = true;
    /// How it is asked for what the proof of stored cells needs; `None` where there is another proof.
    const CELLS_PROOF: Option<CellsProof> = None;
    /// True if the statements that make a data set would leave another one there.
    const REMOVES_OTHER_FIRST: bool = false;
    /// How its variables are changed while it runs; `None` where none are.
    const VARIABLES: Option<Variables<Self>> = None;
    /// Opens a session that is asked for wait events; `None` where there are none.
    const WAIT_EVENTS: Option<OpenAsk<Self>> = None;

    /// Makes sure that no other ciphertax measures a server of the user's own, whose data and CPU are for one at a time. Of several
    /// servers that form one database it asks the one that takes writes, where all runs meet whichever servers they were given. The
    /// claim ends with the session.
    fn claim(control: &mut Control<Self>) -> Result<()>;

    fn limits(control: &mut Control<Self>) -> Result<Vec<Limit>>;

    /// Makes sure that the account may go on to the end of a run, as far as that may be seen: `wrong_logins` of it are made where they
    /// prove the others.
    fn refuse_account_that_ends(_control: &mut Control<Self>, _wrong_logins: bool) -> Result<()> {
        Ok(())
    }

    /// Where the servers of the user's own are that form one database, the one that takes writes first; `None` for a server
    /// of its own. From now on it tells them from others.
    fn members(&mut self, _control: &mut Control<Self>) -> Result<Option<Vec<Member>>> {
        Ok(None)
    }

    /// Makes sure that the names of ciphertax's data are free or its own, and that the account may remove them: before anything
    /// is written.
    fn refuse_what_cannot_be_removed(&self, control: &mut Control<Self>, contents: &Contents) -> Result<()>;

    /// Makes what the arms need on a private server besides its accounts, and tells whether some then have it forget what the logins
    /// of others find there.
    fn set_up(
        &mut self,
        _control: &mut Control<Self>,
        _server: &PrivateServer,
        _arms: &[&Arm],
    ) -> Result<bool> {
        Ok(false)
    }

    /// Which server it is, and what of its settings matters; `private` is its entry in the catalogue.
    fn describe(&self, control: &mut Control<Self>, private: Option<&Entry>) -> Result<Description>;

    /// The witnesses: proves that sessions opened by `options` are what an arm says.
    fn prove(
        &self,
        control: &Control<Self>,
        arm: &str,
        options: &Self::Options,
        expectation: &Expectation,
        conditions: Conditions<'_, Self>,
    ) -> Result<Proved>;

    /// How large ciphertax's tables are, and how much memory a private server has for them.
    fn footprint(&self, control: &mut Control<Self>) -> Result<Footprint>;

    /// The server's own counters now, [`UPTIME`](crate::counters::UPTIME) among them where it is known.
    fn counters(&self, control: &mut Control<Self>) -> Result<BTreeMap<String, i64>>;

    /// Removes tables, whoever holds them, over a session of its own: the control session may have been cut off in the middle of an
    /// answer, or ended by the server meanwhile. `remove` tells whether there were any.
    fn remove_by(
        &self,
        control: &Control<Self>,
        patience: Duration,
        remove: impl AsyncFn(&mut Self::Session) -> Result<bool, DatasetError>,
    ) -> Result<bool>;

    /// What is said of an account without the right to make the data set.
    fn of_missing_right(&self, control: &mut Control<Self>, error: WireError) -> RunError {
        control.of_dataset(DatasetError::Wire(error))
    }
}

/// The data set on a server.
pub(crate) trait Tables: Clients {
    /// Makes the data sets; false if there are none. `progress` hears how many rows are there.
    fn load(
        &mut self,
        control: &mut Control<Self>,
        contents: &Contents,
        progress: &mut dyn FnMut(u64),
    ) -> Result<bool>;

    /// Has the tables there, and tells whether several load generators may write a part of their rows each before
    /// [`Tables::load`]. Whatever is wrong that says.
    fn begin_load(&mut self, control: &mut Control<Self>, contents: &Contents) -> Result<bool>;

    /// Writes a part of the rows of tables that are there; `progress` hears how many it has written.
    fn load_part(
        reactor: &Rc<Reactor>,
        access: &Self::Access,
        contents: &Contents,
        part: Part,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()>;

    /// Checks each set of TPC-C's tables for what must be true of it, and that those which must hold the same do; tells what holds of
    /// each, nothing where the database has none.
    ///
    /// # Errors
    /// [`RunError::Inconsistent`] names the condition that does not hold, and rows.
    fn examine_tables(
        _control: &mut Control<Self>,
        _contents: &Contents,
        _when: &[When],
        _alike: &[Vec<TableNames>],
    ) -> Result<Vec<Vec<ConditionResult>>> {
        Ok(Vec::new())
    }

    /// Makes TPC-C's tables anew. `progress` hears the rows that are there.
    fn restore_tables(
        _control: &mut Control<Self>,
        _contents: &Contents,
        _progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        Ok(())
    }

    /// Removes them if they are there, and tells whether they were.
    fn remove(&self, control: &Control<Self>) -> Result<bool>;

    /// Proves that a private server encrypts `columns`, where its arms ask it to, or that fields can be read where others ask theirs
    /// for `functions`; nothing where no arm of the study does.
    fn prove_columns(
        _control: &Control<Self>,
        _columns: Option<&Columns>,
        _functions: Option<ColumnFunctions>,
        _server: &PrivateServer,
    ) -> Result<Option<ProvedAtRest>> {
        Ok(None)
    }

    /// Proves that a private server cannot read the cells that an arm's client stores, or that it can where they only look
    /// encrypted; nothing of an arm that stores none.
    fn prove_cells(
        &self,
        _control: &Control<Self>,
        _arm: &Arm,
        _key: Option<&MasterKey>,
        _server: &PrivateServer,
    ) -> Result<Option<ProvedAtRest>> {
        Ok(None)
    }
}

/// Opens a session by these options that is asked for wait events; `None` if that cannot be.
pub(crate) type OpenAsk<D> = fn(&<D as Clients>::Options) -> Option<Ask>;

/// Given an address and a canary: sends it there, in plaintext, and gets it back.
pub(crate) type Canary = Box<dyn FnMut(SocketAddr, &str) -> Result<(), String>>;

pub(crate) struct Description {
    pub(crate) product: String,
    /// Its own version string.
    pub(crate) version: String,
    /// Empty where it does not say.
    pub(crate) tls_library: String,
    /// By its own names.
    pub(crate) settings: BTreeMap<String, String>,
}

/// What a proof needs to know of an arm besides what its sessions must be.
pub(crate) struct Conditions<'a, D: Database> {
    pub(crate) is_private: bool,
    /// Which cells the arm has, in results or stored.
    pub(crate) columns: Option<&'a ColumnEncryption>,
    /// Where the servers are reached by measured connections.
    pub(crate) measured: &'a [Endpoint],
    /// What stands between its clients and the server, which sees the connections of the pooler alone.
    pub(crate) pooler: Option<&'a RunningPooler>,
    /// What encrypts cells of its results, or passes everything on.
    pub(crate) column_relay: Option<&'a RunningColumnRelay>,
    /// For logins by certificate: the same connection with a certificate of the same authority that no account has.
    pub(crate) unknown_client: Option<D::Options>,
    pub(crate) wrong_logins: &'a WrongLogins,
}
