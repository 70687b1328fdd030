//! From the place of a server to a connection.

use std::path::Path;
use std::rc::Rc;

use ciphertax_reactor::Reactor;
use ciphertax_records::Phase;

use crate::error::WireError;
use crate::resolve::resolve;
use crate::stream::Stream;
use crate::trace::Tracer;

/// Connects over a server's Unix socket, for which there is no name to resolve and the phase `tcp` is that of its connect,
/// or else over TCP.
pub(crate) async fn reach(
    reactor: &Rc<Reactor>,
    socket: Option<&Path>,
    host: &str,
    port: u16,
    tracer: &mut Tracer,
) -> Result<Stream, WireError> {
    let stream = match socket {
        Some(path) => Stream::connect_unix(reactor, path).await?,
        None => {
            let address = resolve(host, port)?;
            tracer.end(Phase::Resolve, Default::default(), None);
            Stream::connect(reactor, address).await?
        }
    };
    tracer.end(Phase::Tcp, stream.traffic(), None);
    Ok(stream)
}
