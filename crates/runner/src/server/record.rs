//! What the report says of a server.

use ciphertax_lab::PrivateServer;
use ciphertax_observe::Storage;
use ciphertax_records::{LiesOn, ServerId, ServerPlacement, ServerRecord};

use super::processes::Processes;
use super::route::Route;
use crate::database::{Description, Endpoint};

/// Which server of a run, and what is measured on it.
pub(crate) struct Identity {
    pub(crate) id: ServerId,
    /// The names of the cells.
    pub(crate) cells: Vec<String>,
}

/// What is known of a server once it has said who it is.
pub(super) fn described(
    unseen: &ServerRecord,
    description: Description,
    private: Option<&PrivateServer>,
    route: &Route,
    processes: &Processes,
) -> ServerRecord {
    let addresses: Vec<String> = route.measured.iter().map(Endpoint::to_string).collect();
    ServerRecord {
        product: description.product,
        version: description.version,
        tls_library: description.tls_library,
        placement: match private {
            Some(_) => ServerPlacement::Private,
            None => ServerPlacement::External,
        },
        address: addresses.join(","),
        same_host: processes.same_host,
        cpu_unread: processes.cpu_unread(),
        settings: match private {
            Some(server) => {
                let mut settings = server.settings().clone();
                settings.extend(route.settings_before());
                settings
            }
            None => description.settings,
        },
        cpu_from: processes.cpu_from(),
        lies_on: private.map(|server| lies_on(&Storage::under(server.folder()))),
        ..unseen.clone()
    }
}

fn lies_on(storage: &Storage) -> LiesOn {
    match storage {
        Storage::Device(device) => LiesOn::Device(device.name().to_owned()),
        Storage::Memory => LiesOn::Memory,
        Storage::Unknown(why) => LiesOn::Unknown(why.clone()),
    }
}
