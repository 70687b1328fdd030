//! Certificates in PEM files, read the same for both libraries.

use std::fs;
use std::path::Path;

use openssl::x509::X509;

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

/// A client's own certificate and those that it rests on, of which each must be readable.
pub(super) fn chain(path: &Path) -> Result<Vec<X509>, String> {
    let each = each_certificate(path)?;
    let all: Option<Vec<X509>> = each.into_iter().collect();
    let damaged = || damaged(path).unwrap_or_else(|| NONE.into());
    all.filter(|all| !all.is_empty()).ok_or_else(damaged)
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
        .filter_map(|(certificate, number): (_, usize)| certificate.is_none().then(|| number.to_string()))
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
    let readable = |block: String| {
        X509::from_pem(block.as_bytes())
            .ok()
            .filter(|_| !block.contains("ENCRYPTED"))
    };
    Ok(blocks.map(readable).collect())
}
