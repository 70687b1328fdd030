//! Connect, log in, disconnect: the workload `connect` without its query.

use std::cell::RefCell;
use std::rc::Rc;

use ciphertax_engine::{Failure, Operation, Recorder, Seat, Workload};
use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;
use ciphertax_wire::mysql::Session;
use ciphertax_workload::Access;

/// New connections and nothing else.
pub(crate) struct Connects {
    pub(crate) access: Access,
}

impl Workload for Connects {
    type Connection = ();

    const KINDS: &'static [&'static str] = &["connect"];

    async fn open(&self, _reactor: &Rc<Reactor>, _seat: Seat) -> Result<(), Failure> {
        Ok(())
    }

    async fn operate(
        &self,
        reactor: &Rc<Reactor>,
        _connection: &mut (),
        recorder: &RefCell<Recorder>,
    ) -> Result<Operation, Failure> {
        let (session, trace) = Session::connect(reactor, &self.access.options)
            .await
            .map_err(failure)?;
        self.access
            .expectation
            .check(&session)
            .map_err(Failure::FactsDiffer)?;
        let authentication = session.authentication().clone();
        let traffic = session.traffic();
        let close = session.close().await.map_err(failure)?;
        recorder.borrow_mut().connected(&trace, &authentication);
        Ok(Operation {
            bytes_sent: traffic.sent + close.bytes_sent,
            bytes_received: traffic.received + close.bytes_received,
            ..Operation::default()
        })
    }
}

fn failure(error: WireError) -> Failure {
    Failure::Error(error.to_string())
}
