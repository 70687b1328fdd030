//! Sending a canary to a server of the MySQL family.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::{ConnectOptions, Session};
use ciphertax_wire::{Protocol, WireError};

/// How long one query may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// For [`RunningTunnel::prove`](super::RunningTunnel::prove): logs in by `options` at the address it is given, always
/// without TLS, and selects the canary.
pub fn select_canary(
    options: &ConnectOptions,
) -> impl FnMut(SocketAddr, &str) -> std::result::Result<(), String> + use<> {
    let options = ConnectOptions {
        tls: None,
        ..options.clone()
    };
    move |address, canary| {
        let options = ConnectOptions {
            host: address.ip().to_string(),
            port: address.port(),
            ..options.clone()
        };
        let reactor = Reactor::new().map_err(|error| error.to_string())?;
        let answer = reactor
            .run_one(select(&reactor, &options, canary), Instant::now() + PATIENCE)
            .map_err(|error| error.to_string())?
            .ok_or_else(|| format!("the server did not answer within {} s", PATIENCE.as_secs()))?
            .map_err(|error| format!("{error}{}", error.remedy(Protocol::MySql)))?;
        match answer.as_deref() {
            Some(answer) if answer == canary => Ok(()),
            _ => Err("the canary did not come back from the server".into()),
        }
    }
}

async fn select(
    reactor: &std::rc::Rc<Reactor>,
    options: &ConnectOptions,
    canary: &str,
) -> std::result::Result<Option<String>, WireError> {
    let (mut session, _) = Session::connect(reactor, options).await?;
    let rows = session.query(&format!("SELECT '{canary}'")).await?;
    let _ = session.close().await;
    Ok(rows.first().map(|row| row.text(0)))
}
