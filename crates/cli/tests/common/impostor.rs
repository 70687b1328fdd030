//! A server that answers in the name of another: it asks for the password, over TLS too and by a key of its own, and keeps all that
//! it can read.

use std::sync::atomic::AtomicUsize;

use ciphertax_testkit::PATIENCE;
use openssl::pkey::Private;
use openssl::rsa::{Padding, Rsa};
use openssl::ssl::{SslAcceptor, SslFiletype, SslMethod};

use crate::common::*;

const NONCE: &[u8; 20] = b"abcdefghijklmnopqrst";
/// `CLIENT_PROTOCOL_41`, `CLIENT_SECURE_CONNECTION`, `CLIENT_PLUGIN_AUTH`.
const CAPABILITIES: u32 = 0x0200 | 0x8000 | 0x0008_0000;
const CLIENT_SSL: u32 = 0x0800;
/// A `SSLRequest` of MySQL's protocol has so many bytes, a login more.
const SSL_REQUEST: usize = 32;
/// The number of PostgreSQL's `SSLRequest`.
const POSTGRESQL_SSL: [u8; 4] = 80_877_103_u32.to_be_bytes();

/// How it asks for the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    /// By the full login of `caching_sha2_password`.
    CachingSha2,
    /// By `sha256_password`.
    Sha256,
    /// By `mysql_clear_password`.
    Clear,
    /// By PostgreSQL's `password`.
    PostgreSql,
}

/// Listens until the tests are over, and lets nobody in.
pub(crate) struct Impostor {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<u8>>>,
    /// Connections that it has taken, and that have ended.
    taken: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
}

trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

impl Impostor {
    /// One at this address, which speaks TLS where it has a certificate.
    pub(crate) fn start(at: IpAddr, asks: Asks, certificate: Option<&CertificateFiles>) -> Self {
        let tls = certificate.map(|files| {
            let mut tls = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server()).unwrap();
            tls.set_certificate_chain_file(&files.certificate).unwrap();
            tls.set_private_key_file(&files.key, SslFiletype::PEM).unwrap();
            tls.build()
        });
        let listener = TcpListener::bind((at, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (taken, ended) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let (ears, takes, ends) = (Arc::clone(&heard), Arc::clone(&taken), Arc::clone(&ended));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                takes.fetch_add(1, Ordering::SeqCst);
                let (ears, ends, tls) = (Arc::clone(&ears), Arc::clone(&ends), tls.clone());
                thread::spawn(move || {
                    let hear = |bytes: &[u8]| ears.lock().unwrap().extend_from_slice(bytes);
                    // A client goes when it has heard enough.
                    let _ = match asks {
                        Asks::PostgreSql => postgresql(stream, tls.as_ref(), &hear),
                        _ => mysql(stream, asks, tls.as_ref(), &hear),
                    };
                    ends.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        Self {
            address,
            heard,
            taken,
            ended,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// True if these bytes came in plaintext, in TLS, or encrypted with its key, over connections that clients have closed.
    pub(crate) fn has_heard(&self, text: &str) -> bool {
        // Connections are taken in their order, so with this one all before it are.
        let before = self.taken.load(Ordering::SeqCst);
        drop(TcpStream::connect(self.address).unwrap());
        let have_ended = || {
            let (taken, ended) = (
                self.taken.load(Ordering::SeqCst),
                self.ended.load(Ordering::SeqCst),
            );
            taken > before && taken == ended
        };
        assert!(within(PATIENCE, have_ended), "a client keeps its connection");
        let heard = self.heard.lock().unwrap();
        heard.windows(text.len()).any(|window| window == text.as_bytes())
    }
}

fn mysql(stream: TcpStream, asks: Asks, tls: Option<&SslAcceptor>, hear: &dyn Fn(&[u8])) -> io::Result<()> {
    let mut stream: Box<dyn Stream> = Box::new(stream);
    let capabilities = tls
        .map_or(CAPABILITIES, |_| CAPABILITIES | CLIENT_SSL)
        .to_le_bytes();
    let greeting = [
        b"\x0A8.4.0\0\x01\0\0\0",
        &NONCE[..8],
        &[0],
        &capabilities[..2],
        &[45, 2, 0],
        &capabilities[2..],
        &[21],
        &[0; 10],
        &NONCE[8..],
        b"\0mysql_native_password\0",
    ];
    say(&mut stream, 0, &greeting.concat())?;
    let (mut number, mut login) = packet(&mut stream)?;
    if let Some(tls) = tls.filter(|_| login.len() == SSL_REQUEST) {
        stream = Box::new(tls.accept(stream).map_err(|_| io::ErrorKind::InvalidData)?);
        (number, login) = packet(&mut stream)?;
    }
    hear(&login);
    let plugin = match asks {
        Asks::Sha256 => "sha256_password",
        Asks::Clear => "mysql_clear_password",
        _ => "caching_sha2_password",
    };
    say(
        &mut stream,
        number + 1,
        &[b"\xFE", plugin.as_bytes(), b"\0", NONCE, b"\0"].concat(),
    )?;
    let (mut number, mut answer) = packet(&mut stream)?;
    hear(&answer);
    if asks == Asks::CachingSha2 {
        say(&mut stream, number + 1, &[1, 4])?;
        (number, answer) = packet(&mut stream)?;
        hear(&answer);
    }
    if let [1 | 2] = answer[..] {
        let pem = own_key().public_key_to_pem().unwrap();
        say(&mut stream, number + 1, &[b"\x01", &pem[..]].concat())?;
        (number, answer) = packet(&mut stream)?;
        hear(&decrypted(&answer));
    }
    let denial = b"\xFF\x15\x04#28000Access denied for user 'app' (using password: YES)";
    say(&mut stream, number + 1, denial)
}

fn postgresql(mut stream: TcpStream, tls: Option<&SslAcceptor>, hear: &dyn Fn(&[u8])) -> io::Result<()> {
    let mut message = startup(&mut stream)?;
    let mut stream: Box<dyn Stream> = Box::new(stream);
    if message.starts_with(&POSTGRESQL_SSL) {
        match tls {
            None => stream.write_all(b"N")?,
            Some(tls) => {
                stream.write_all(b"S")?;
                stream = Box::new(tls.accept(stream).map_err(|_| io::ErrorKind::InvalidData)?);
            }
        }
        message = startup(&mut stream)?;
    }
    hear(&message);
    stream.write_all(b"R\0\0\0\x08\0\0\0\x03")?;
    stream.read_exact(&mut [0])?;
    hear(&startup(&mut stream)?);
    let denial = b"SFATAL\0C28P01\0Mpassword authentication failed for user \"app\"\0\0";
    let length = (denial.len() as u32 + 4).to_be_bytes();
    stream.write_all(&[b"E", &length[..], denial].concat())
}

/// A message of PostgreSQL's without its kind: its length, and what that counts.
fn startup(stream: &mut dyn Stream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut message = vec![0; (u32::from_be_bytes(length) as usize).saturating_sub(4).min(4096)];
    stream.read_exact(&mut message)?;
    Ok(message)
}

/// A packet of MySQL's: its number, and what is in it.
fn packet(stream: &mut dyn Stream) -> io::Result<(u8, Vec<u8>)> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    stream.read_exact(&mut payload)?;
    Ok((header[3], payload))
}

fn say(stream: &mut dyn Stream, number: u8, payload: &[u8]) -> io::Result<()> {
    let length = (payload.len() as u32).to_le_bytes();
    stream.write_all(&[&length[..3], &[number], payload].concat())
}

fn own_key() -> &'static Rsa<Private> {
    static KEY: OnceLock<Rsa<Private>> = OnceLock::new();
    KEY.get_or_init(|| Rsa::generate(2048).unwrap())
}

/// What was encrypted with its key and mixed with its nonce.
fn decrypted(sent: &[u8]) -> Vec<u8> {
    let mut clear = vec![0; 256];
    let length = own_key().private_decrypt(sent, &mut clear, Padding::PKCS1_OAEP);
    clear.truncate(length.unwrap_or(0));
    let masked = clear.iter().zip(NONCE.iter().cycle());
    masked.map(|(byte, mask)| byte ^ mask).collect()
}
