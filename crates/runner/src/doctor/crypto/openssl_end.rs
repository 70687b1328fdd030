//! OpenSSL's ends of a session.

use ciphertax_wire::tls::{Pipe, ServerKey, library_version};
use openssl::error::ErrorStack;
use openssl::ssl::{
    ErrorCode, Ssl, SslContext, SslContextBuilder, SslMethod, SslStream, SslVerifyMode, SslVersion,
};

use super::{End, Ends, Library};

/// The library, with its version.
pub(super) fn library(key: &ServerKey) -> Library {
    let contexts = || -> Result<_, ErrorStack> {
        let mut client = context()?;
        // As every client, it verifies the server's signature; only whose certificate that is it takes for granted.
        client.set_verify(SslVerifyMode::NONE);
        let mut server = context()?;
        server.set_private_key(&key.key)?;
        server.set_certificate(&key.certificate)?;
        Ok((client.build(), server.build()))
    };
    let (client, server) = contexts().map_err(|error| error.to_string())?;
    let connect = move |near, far| -> Result<Ends, String> {
        let mut of_client = Ssl::new(&client).map_err(|error| error.to_string())?;
        of_client.set_connect_state();
        let mut of_server = Ssl::new(&server).map_err(|error| error.to_string())?;
        of_server.set_accept_state();
        Ok((Box::new(end(of_client, near)?), Box::new(end(of_server, far)?)))
    };
    Ok((library_version(), Box::new(connect)))
}

fn context() -> Result<SslContextBuilder, ErrorStack> {
    let mut context = SslContext::builder(SslMethod::tls())?;
    context.set_min_proto_version(Some(SslVersion::TLS1_3))?;
    context.set_ciphersuites("TLS_AES_256_GCM_SHA384")?;
    context.set_groups_list("X25519")?;
    Ok(context)
}

fn end(ssl: Ssl, pipe: Pipe) -> Result<SslStream<Pipe>, String> {
    SslStream::new(ssl, pipe).map_err(|error| error.to_string())
}

impl End for SslStream<Pipe> {
    fn shake(&mut self) -> Result<bool, String> {
        match self.do_handshake() {
            Ok(()) => Ok(true),
            Err(error) if error.code() == ErrorCode::WANT_READ => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    fn write(&mut self, plaintext: &[u8]) -> Result<(), String> {
        self.ssl_write(plaintext)
            .map(drop)
            .map_err(|error| error.to_string())
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, String> {
        match self.ssl_read(buffer) {
            Ok(count) => Ok(count),
            Err(error) if error.code() == ErrorCode::WANT_READ => Ok(0),
            Err(error) => Err(error.to_string()),
        }
    }
}
