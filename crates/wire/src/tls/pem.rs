//! Certificates and keys in PEM files, read the same for both libraries.

use std::path::Path;
use std::{fs, io};

use ciphertax_base::Secret;
use openssl::pkey::{PKey, Private};
use openssl::x509::X509;

use super::policy::ClientCertificate;
use crate::error::{Result, WireError};

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----";
/// OpenSSL's own label for a certificate with what it is trusted for after it, of which the certificate alone is read.
const TRUSTED: &str = "TRUSTED CERTIFICATE-----";

const NONE: &str = "it holds no PEM certificate that can be read";

/// The certificates of a CA file that can be read, one at least.
pub(super) fn authorities(path: &Path) -> Result<Vec<X509>> {
    let each = each_certificate(path).map_err(|problem| unusable(path, problem))?;
    let readable: Vec<X509> = each.into_iter().flatten().collect();
    match readable.is_empty() {
        true => Err(unusable(path, NONE.into())),
        false => Ok(readable),
    }
}

/// A client's own certificate and those that it rests on, of which each must be readable, and its key.
pub(super) fn client(client: &ClientCertificate) -> Result<(Vec<X509>, PKey<Private>)> {
    let path = &client.certificate;
    let each = each_certificate(path).map_err(|problem| client.unusable(path, problem))?;
    let all: Option<Vec<X509>> = each.into_iter().collect();
    let damaged = || client.unusable(path, damaged(path).unwrap_or_else(|| NONE.into()));
    let chain = all.filter(|all| !all.is_empty()).ok_or_else(damaged)?;
    let key = key(&client.key, client.password.as_ref());
    Ok((
        chain,
        key.map_err(|problem| client.unusable(&client.key, problem))?,
    ))
}

pub(super) fn unusable(path: &Path, problem: String) -> WireError {
    WireError::CaFile {
        path: path.display().to_string(),
        problem,
    }
}

/// Which certificates of a file cannot be read, in words; `None` where none or all can.
pub fn damaged(path: &Path) -> Option<String> {
    let each = each_certificate(path).ok()?;
    let numbered = each.iter().zip(1..);
    let damaged: Vec<String> = numbered
        .filter(|(certificate, _): &(_, usize)| certificate.is_none())
        .map(|(_, number)| number.to_string())
        .collect();
    let (count, noun) = (
        each.len(),
        if damaged.len() == 1 {
            "certificate"
        } else {
            "certificates"
        },
    );
    let is_partly = !damaged.is_empty() && damaged.len() < count;
    is_partly.then(|| {
        format!(
            "{noun} {} of {count} in {} cannot be read",
            damaged.join(", "),
            path.display()
        )
    })
}

/// All certificates of a PEM file in turn, `None` for one that cannot be read. A block may begin in the line in which another ends.
fn each_certificate(path: &Path) -> Result<Vec<Option<X509>>, String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&bytes);
    let blocks = text.split(BEGIN).skip(1).filter_map(|block| {
        let (label, _) = block.split_once(END)?;
        let is_certificate = ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"].contains(&label);
        is_certificate.then(|| format!("{BEGIN}{block}").replace(TRUSTED, &TRUSTED["TRUSTED ".len()..]))
    });
    // OpenSSL would ask for the password of one that is encrypted, which no certificate is.
    let readable = |block: String| match block.contains("ENCRYPTED") {
        true => None,
        false => X509::from_pem(block.as_bytes()).ok(),
    };
    Ok(blocks.map(readable).collect())
}

impl ClientCertificate {
    /// Why one of its files cannot be used.
    pub(super) fn unusable(&self, path: &Path, problem: impl ToString) -> WireError {
        WireError::ClientCertificate {
            path: path.display().to_string(),
            problem: problem.to_string(),
        }
    }

    /// True if its key is encrypted, and no password is known.
    pub fn lacks_password(&self) -> bool {
        self.password.is_none() && matches!(key(&self.key, None), Err(KeyProblem::Encrypted))
    }
}

/// Why a key cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyProblem {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it holds no PEM key that can be read")]
    None,
    #[error("it is encrypted; give its password in the environment variable CIPHERTAX_KEY_PASSWORD")]
    Encrypted,
    #[error("it cannot be decrypted by the password that is given")]
    OtherPassword,
}

/// The key in a PEM file, decrypted where it is encrypted. OpenSSL never asks for the password by itself.
pub(super) fn key(path: &Path, password: Option<&Secret>) -> Result<PKey<Private>, KeyProblem> {
    let pem = fs::read(path)?;
    let mut is_encrypted = false;
    let give = |buffer: &mut [u8]| {
        is_encrypted = true;
        let password = password.map_or(&[][..], |password| password.expose().as_bytes());
        let room = buffer.get_mut(..password.len());
        // One that is too long for OpenSSL is none that it has encrypted by.
        Ok(room.map_or(0, |room| {
            room.copy_from_slice(password);
            password.len()
        }))
    };
    PKey::private_key_from_pem_callback(&pem, give).map_err(|_| match (is_encrypted, password) {
        (true, None) => KeyProblem::Encrypted,
        (true, Some(_)) => KeyProblem::OtherPassword,
        (false, _) => KeyProblem::None,
    })
}
