//! New connections, phase by phase, and what short ones are made for.

use std::rc::Rc;
use std::time::Instant;

use ciphertax_base::Phase;
use ciphertax_engine::{Context, Engine, EngineError, Failure, Operation, Result, Slot, Workload};
use ciphertax_reactor::Reactor;
use ciphertax_wire::Session;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::driver::{Access, Job, failure};

/// Starts the load threads of a workload that makes connections for this task.
pub(crate) fn start<A: Access, T: Task<A>>(
    job: &Job<'_>,
    arms: &[A],
    task: T,
) -> Result<Option<Engine>, EngineError> {
    let arms = arms.iter().cloned();
    job.start(arms.map(|access| Connect { access, task }))
}

/// Connects, does little or nothing, and closes.
pub struct Connect<C, T> {
    /// How the arm reaches its server.
    pub access: C,
    /// What a connection is made for.
    pub task: T,
}

/// What outlives the connections of a slot.
pub struct Dialer<S: Session, T> {
    /// How its server is reached.
    options: S::Options,
    random: Pcg64Mcg,
    of_task: T,
    /// The connection before, over which goodbye was said and which its server may not have closed yet. There is one at
    /// most, so a load never has more than twice its connections open.
    leaving: Option<S>,
}

impl<C: Access, T: Task<C>> Workload for Connect<C, T> {
    type Connection = Dialer<C::Session, T::State>;

    const KINDS: &'static [&'static str] = ciphertax_model::Workload::Connect.descriptor().kinds;

    const CHECKS: bool = true;

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Connection> {
        Ok(Dialer {
            options: self.access.route(reactor, slot.index).await?,
            random: Pcg64Mcg::seed_from_u64(slot.seed),
            of_task: self.task.state(&self.access),
            leaving: None,
        })
    }

    /// Asks for the server's word; inside a slice a further query would change what is measured.
    async fn check(&self, reactor: &Rc<Reactor>) -> Result<()> {
        self.access.before_connects(reactor).await?;
        let mut session = self.access.open(reactor, 0).await?;
        self.task.prepare(&mut session).await?;
        session.close().await.map(drop).map_err(failure)
    }

    async fn operate(&self, dialer: &mut Self::Connection, context: &Context) -> Result<Operation> {
        let Dialer {
            options,
            random,
            of_task,
            leaving,
        } = dialer;
        let began = Instant::now();
        let (mut session, mut trace) = C::Session::connect(&context.reactor, options)
            .await
            .map_err(failure)?;
        self.access
            .expectation()
            .check(&session)
            .map_err(Failure::FactsDiffer)?;

        let before = session.traffic();
        let queries = self.task.run(of_task, random, &mut session).await?;
        let traffic = session.traffic();
        if queries > 0 {
            let query = traffic.phase_since(began, before);
            trace.set_until_now(Phase::FirstOperation, query.wall_ns, query);
        }

        let authentication = session.authentication().clone();
        let handshake = session.tls_summary();
        let close = session.leave().await.map_err(failure)?;
        // While this one did its work, the server has closed the one before: there is hardly ever anything to wait for.
        if let Some(before) = leaving.replace(session) {
            let received = before.gone().await;
            context.recorder.borrow_mut().closed(received);
        }
        trace.set_until_now(Phase::Close, began.elapsed().as_nanos() as u64, close);

        let mut recorder = context.recorder.borrow_mut();
        recorder.connected(&trace, &authentication);
        if let Some(handshake) = handshake {
            recorder.shook_hands(handshake.offered, handshake.resumed);
        }
        Ok(Operation {
            queries,
            bytes_sent: traffic.sent + close.bytes_sent,
            bytes_received: traffic.received + close.bytes_received,
            ..Operation::default()
        })
    }

    /// Waits until the servers' part of all connections is done, and nothing is left open.
    async fn settle(&self, dialer: &mut Self::Connection, context: &Context) {
        if let Some(last) = dialer.leaving.take() {
            let received = last.gone().await;
            context.recorder.borrow_mut().closed(received);
        }
    }
}

/// What a connection is made for.
pub trait Task<C: Access>: Copy + Send + Sync + 'static {
    /// What outlives a connection.
    type State;

    /// That of one slot.
    fn state(&self, access: &C) -> Self::State;

    /// What is needed before a slice, over a session that is made for it.
    async fn prepare(&self, _session: &mut C::Session) -> Result<()> {
        Ok(())
    }

    /// Does it over a new connection, and returns the number of statements that took.
    async fn run(
        &self,
        state: &mut Self::State,
        random: &mut Pcg64Mcg,
        session: &mut C::Session,
    ) -> Result<u64>;
}

/// Nothing at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nothing;

impl<C: Access> Task<C> for Nothing {
    type State = ();

    fn state(&self, _access: &C) {}

    async fn run(&self, _state: &mut (), _random: &mut Pcg64Mcg, _session: &mut C::Session) -> Result<u64> {
        Ok(0)
    }
}
