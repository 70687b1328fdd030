//! Data keys of stored cells, derived from the master key: every session that knows it has the same.

use openssl::error::ErrorStack;
use openssl::md::Md;
use openssl::pkey::Id;
use openssl::pkey_ctx::PkeyCtx;

use crate::error::KeyError;
use crate::key::MasterKey;

/// Fills `derived` by HKDF-SHA-512 (RFC 5869) of the master key, for what `info` says.
///
/// # Errors
/// When the library lacks it.
pub(crate) fn derive(key: &MasterKey, info: &str, derived: &mut [u8]) -> Result<(), KeyError> {
    let mut derive = || {
        let mut context = PkeyCtx::new_id(Id::HKDF)?;
        context.derive_init()?;
        context.set_hkdf_md(Md::sha512())?;
        context.set_hkdf_key(key.bytes())?;
        context.add_hkdf_info(info.as_bytes())?;
        context.derive(Some(derived))?;
        Ok(())
    };
    derive().map_err(|error: ErrorStack| KeyError::Unavailable(error.to_string()))
}
