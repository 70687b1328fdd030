//! What short connections are made for.

use std::future::Future;

use ciphertax_engine::Failure;
use rand_pcg::Pcg64Mcg;

use crate::client::Client;

/// What a connection is made for.
pub trait Task<C: Client>: Send + Sync + 'static {
    /// What outlives a connection.
    type State;

    /// That of one slot.
    fn state(&self, access: &C) -> Self::State;

    /// What is needed before a slice, over a session that is made for it.
    fn prepare(&self, _session: &mut C::Session) -> impl Future<Output = Result<(), Failure>> {
        async { Ok(()) }
    }

    /// Does it over a new connection, and returns the number of statements that took.
    fn run(
        &self,
        state: &mut Self::State,
        random: &mut Pcg64Mcg,
        session: &mut C::Session,
    ) -> impl Future<Output = Result<u64, Failure>>;
}

/// Nothing at all.
pub struct Nothing;

impl<C: Client> Task<C> for Nothing {
    type State = ();

    fn state(&self, _access: &C) {}

    async fn run(
        &self,
        _state: &mut (),
        _random: &mut Pcg64Mcg,
        _session: &mut C::Session,
    ) -> Result<u64, Failure> {
        Ok(0)
    }
}
