//! How fast each TLS library is on one CPU: both ends of sessions in memory, without a network.

mod openssl_end;
mod rustls_end;

use std::time::{Duration, Instant};

use ciphertax_base::format::{count, significant};
use ciphertax_observe::ThreadUsage;
use ciphertax_reactor::stop;
use ciphertax_records::{Check, CheckStatus};
use ciphertax_wire::tls::{Pipe, ServerKey};

use super::quantile;

/// How long handshakes are made, and records are encrypted, by each library.
const TIME: Duration = Duration::from_millis(700);
/// Plaintext of a record, the most that one takes.
const RECORD: usize = 16 << 10;
/// Records of one turn.
const RECORDS: usize = 32;
/// Less than this, in bytes a second, no CPU has that computes AES by its instructions.
const SLOW_BYTES: f64 = 400e6;
/// Turns of a handshake at most: it takes three.
const MOST_TURNS: usize = 10;

/// One end of a TLS session on pipes.
trait End {
    /// Goes on with the handshake; true once it is complete.
    fn shake(&mut self) -> Result<bool, String>;
    /// Encrypts into the pipe.
    fn write(&mut self, plaintext: &[u8]) -> Result<(), String>;
    /// Decrypts all that is in the pipe, into `buffer`; tells how many bytes.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, String>;
}

/// The two ends of a session, the client's first.
type Ends = (Box<dyn End>, Box<dyn End>);

/// Makes them.
type Connect = Box<dyn Fn(Pipe, Pipe) -> Result<Ends, String>>;

/// A library with its version and what makes its sessions, or why there are none.
type Library = Result<(String, Connect), String>;

/// How fast a library is, on one CPU.
struct Speed {
    /// CPU time of a handshake in seconds, of the client and of the server.
    handshake: [f64; 2],
    /// Bytes a second that are encrypted, and decrypted.
    bytes: [f64; 2],
}

pub(super) fn look() -> Vec<Check> {
    let key = match ServerKey::new() {
        Ok(key) => key,
        Err(problem) => return vec![failed("openssl-speed", "TLS by OpenSSL", &problem.to_string())],
    };
    let libraries: [(&str, &str, Library); 2] = [
        ("openssl-speed", "TLS by OpenSSL", openssl_end::library(&key)),
        ("rustls-speed", "TLS by rustls", rustls_end::library(&key)),
    ];
    libraries
        .into_iter()
        .map(|(id, name, library)| {
            match library.and_then(|(version, connect)| Ok((version, speed(&connect)?))) {
                Ok((version, speed)) => check(id, name, &version, &speed),
                Err(problem) => failed(id, name, &problem),
            }
        })
        .collect()
}

fn failed(id: &str, name: &str, problem: &str) -> Check {
    Check::good(
        id,
        name,
        format!("no session: {problem}"),
        "the speed of this library is unknown here",
    )
    .but(
        CheckStatus::Limited,
        "take the other library in studies (tls.library)",
    )
}

fn check(id: &str, name: &str, version: &str, speed: &Speed) -> Check {
    let [client, server] = speed.handshake.map(|seconds| 1.0 / seconds);
    let [encrypts, decrypts] = speed.bytes;
    let check = Check::good(
        id,
        name,
        format!(
            "{version}: {} handshakes/s as client and {} as server, {} MB/s encrypted and {} decrypted, on one CPU",
            count(client),
            count(server),
            significant(encrypts / 1e6),
            significant(decrypts / 1e6)
        ),
        "the least that a connect (X25519, ECDSA P-256) and a byte (AES-256-GCM) can cost here; a real one costs system calls too",
    )
    .with("client_handshakes_per_s", client)
    .with("server_handshakes_per_s", server)
    .with("encrypted_bytes_per_s", encrypts)
    .with("decrypted_bytes_per_s", decrypts);
    check.limited_if(
        encrypts.min(decrypts) < SLOW_BYTES,
        "look whether the CPU's instructions for AES reach this machine (CPU model `host` in the hypervisor); without them \
         ChaCha20-Poly1305 is the faster cipher",
    )
}

fn speed(connect: &Connect) -> Result<Speed, String> {
    let mut handshakes: [Vec<f64>; 2] = Default::default();
    let end = Instant::now() + TIME;
    while handshakes[0].len() < 3 || Instant::now() < end && !stop::is_requested() {
        let ([client, server], _) = handshake(connect)?;
        handshakes[0].push(client);
        handshakes[1].push(server);
    }
    let (_, (mut client, mut server)) = handshake(connect)?;
    let plaintext = vec![0x5A; RECORD];
    let mut buffer = vec![0; 2 * RECORD];
    let mut turns: [Vec<f64>; 2] = Default::default();
    let end = Instant::now() + TIME;
    while turns[0].len() < 3 || Instant::now() < end && !stop::is_requested() {
        let began = cpu_s();
        for _ in 0..RECORDS {
            client.write(&plaintext)?;
        }
        turns[0].push(cpu_s() - began);
        let began = cpu_s();
        let mut read = 0;
        while read < RECORDS * RECORD {
            match server.read(&mut buffer)? {
                0 => return Err("bytes were lost between the ends of a session".to_owned()),
                more => read += more,
            }
        }
        turns[1].push(cpu_s() - began);
    }
    Ok(Speed {
        handshake: handshakes.map(median),
        bytes: turns.map(|times| (RECORDS * RECORD) as f64 / median(times)),
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// CPU time of this thread in seconds: what others take from it is not the library's.
fn cpu_s() -> f64 {
    ThreadUsage::now().cpu.total_ns as f64 / 1e9
}

/// A session, and the CPU time that each end took for its handshake, in seconds.
fn handshake(connect: &Connect) -> Result<([f64; 2], Ends), String> {
    let (near, far) = Pipe::pair();
    let mut taken = [0.0; 2];
    let began = cpu_s();
    let (mut client, mut server) = connect(near, far)?;
    // Both make an end alike.
    let made = (cpu_s() - began) / 2.0;
    for _ in 0..MOST_TURNS {
        let began = cpu_s();
        let client_is_done = client.shake()?;
        let between = cpu_s();
        let server_is_done = server.shake()?;
        taken[0] += between - began;
        taken[1] += cpu_s() - between;
        if client_is_done && server_is_done {
            return Ok((taken.map(|taken| taken + made), (client, server)));
        }
    }
    Err("the handshake does not come to its end".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_libraries_shake_hands_with_themselves_and_decrypt_what_they_encrypted() {
        let key = ServerKey::new().unwrap();
        for library in [openssl_end::library(&key), rustls_end::library(&key)] {
            let (version, connect) = library.unwrap();
            assert!(version.chars().any(|c| c.is_ascii_digit()), "{version}");
            let (_, (mut client, mut server)) = handshake(&connect).unwrap();
            let text: Vec<u8> = (0..RECORD).map(|byte| byte as u8).collect();
            client.write(&text).unwrap();
            let mut read = Vec::new();
            let mut buffer = [0; 5_000];
            while read.len() < text.len() {
                let count = server.read(&mut buffer).unwrap();
                assert!(count > 0);
                read.extend_from_slice(&buffer[..count]);
            }
            assert!(read == text);
        }
    }

    #[test]
    fn a_cpu_without_instructions_for_aes_limits() {
        let speed = |bytes| Speed {
            handshake: [0.000_5, 0.000_25],
            bytes: [bytes, 2e9],
        };
        let fast = check("x", "OpenSSL", "OpenSSL 3.5", &speed(3e9));
        assert_eq!(fast.status, CheckStatus::Good);
        assert!(
            fast.found
                .contains("2,000 handshakes/s as client and 4,000 as server"),
            "{}",
            fast.found
        );
        let seen = check("x", "OpenSSL", "OpenSSL 3.5", &speed(150e6)).status;
        assert_eq!(seen, CheckStatus::Limited);
    }
}
