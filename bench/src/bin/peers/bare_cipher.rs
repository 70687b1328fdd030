//! What OpenSSL itself takes for a cell: one context that is kept, a vector, one update, the tag.

use std::ffi::c_int;
use std::ptr::{null, null_mut};

use foreign_types::ForeignType;
use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl_sys as ffi;

use ciphertax_bench::Result;

/// Bytes of a vector of GCM, and of a tag.
const VECTOR: usize = 12;
const TAG: usize = 16;

/// A context for cells of one length, and one sealed value.
pub(crate) struct BareCipher {
    context: CipherCtx,
    encrypts: bool,
    vector: [u8; VECTOR],
    tag: [u8; TAG],
    value: Vec<u8>,
    out: Vec<u8>,
}

impl BareCipher {
    /// For values of this length, encrypted by the algorithm that OpenSSL knows by this name.
    pub(crate) fn new(algorithm: &str, length: usize) -> Result<Self> {
        let mut context = CipherCtx::new()?;
        let cipher = Cipher::fetch(None, algorithm, None)?;
        context.encrypt_init(Some(&cipher), Some(&[7; 16]), None)?;
        Ok(Self {
            context,
            encrypts: true,
            vector: [0; VECTOR],
            tag: [0; TAG],
            value: vec![b'7'; length],
            out: vec![0; length],
        })
    }

    /// The same context for decrypting what it encrypted.
    pub(crate) fn for_decryption(mut self) -> Result<Self> {
        self.work()?;
        self.context.decrypt_init(None, None, Some(&self.vector))?;
        self.encrypts = false;
        self.value.copy_from_slice(&self.out);
        Ok(self)
    }

    /// Encrypts or decrypts the value once.
    pub(crate) fn work(&mut self) -> Result<()> {
        /// The direction that the context has.
        const AS_BEFORE: c_int = -1;
        let (context, mut written) = (self.context.as_ptr(), 0);
        if self.encrypts {
            self.vector[0] = self.vector[0].wrapping_add(1);
        }
        // SAFETY: the context lives and has its key; the vector and the tag have the lengths of GCM's, and `out` that of `value`,
        // whose length fits.
        let done = unsafe {
            let mut tag = |command| {
                ffi::EVP_CIPHER_CTX_ctrl(context, command, TAG as c_int, self.tag.as_mut_ptr().cast()) == 1
            };
            ffi::EVP_CipherInit_ex(
                context,
                null(),
                null_mut(),
                null(),
                self.vector.as_ptr(),
                AS_BEFORE,
            ) == 1
                && (self.encrypts || tag(ffi::EVP_CTRL_GCM_SET_TAG))
                && ffi::EVP_CipherUpdate(
                    context,
                    self.out.as_mut_ptr(),
                    &mut written,
                    self.value.as_ptr(),
                    self.value.len() as c_int,
                ) == 1
                && ffi::EVP_CipherFinal(context, self.out.as_mut_ptr(), &mut written) == 1
                && (!self.encrypts || tag(ffi::EVP_CTRL_GCM_GET_TAG))
        };
        match done {
            true => Ok(()),
            false => Err("OpenSSL does not do it".into()),
        }
    }
}
