//! Connections to a server of the user's own, taken apart one by one.

mod observe;
mod taken_apart;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ciphertax_estimate::connection::{Asked, connection};
use ciphertax_model::{Arm, TlsLibrary, TlsSettings, Transport};
use ciphertax_reactor::stop;
use ciphertax_records::{ConnectionRecord, Tool};
use ciphertax_wire::{Protocol, Target};

use crate::databases;
use crate::error::Result;
use crate::timeout::unusable;

pub(crate) use observe::{Connecting, Found};

/// How to connect, and how often.
#[derive(Debug, Clone)]
pub struct ConnectPlan {
    /// Who measures.
    pub tool: Tool,
    /// The server.
    pub target: Target,
    /// Plaintext, or TLS of a version.
    pub transport: Transport,
    /// The client's TLS library.
    pub library: TlsLibrary,
    /// How many connections are taken apart, one at least. Of several, one before them is not: servers and resolvers do more
    /// for the first. What the client's TLS library does once was done before.
    pub count: u32,
}

/// Connects, asks the least there is to ask, and says goodbye, as often as asked; nothing is written. `progress` hears
/// how many connections are done.
///
/// # Errors
/// Names the server and what keeps clients from being served, with the remedy; and when somebody wants to stop.
pub fn connect(
    plan: &ConnectPlan,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(u32),
) -> Result<ConnectionRecord> {
    if plan.transport.is_encrypted() && !plan.target.has_tls() {
        return Err(unusable(
            &plan.target.to_string(),
            "PostgreSQL speaks no TLS over a Unix socket: give host:port, or --transport plain",
        ));
    }
    let started = jiff::Timestamp::now().to_string();
    let arm = Arm {
        tls: TlsSettings {
            library: plan.library,
            ..TlsSettings::default()
        },
        ..Arm::new("connect", plan.transport)
    };
    let connecting = Connecting {
        arm,
        count: plan.count.max(1),
    };
    let Found {
        seen,
        address,
        same_host,
        through,
    } = stop::with_flag(stop, || {
        databases::target(&plan.target).connect(&connecting, progress)
    })?;
    let asked = Asked {
        tool: plan.tool.clone(),
        started,
        target: plan.target.url(),
        product: match seen.facts.server_version.contains("MariaDB") {
            true => "MariaDB".to_owned(),
            false => plan.target.protocol().to_string(),
        },
        greets_over_tls: plan.target.protocol() == Protocol::MongoDb,
        address,
        same_host,
        through,
    };
    Ok(connection(asked, &seen))
}
