//! A login from its first message to the proof that the server knows the password too.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ciphertax_records::LoginPath;
use openssl::hash::hash;
use openssl::memcmp;
use openssl::rand::rand_bytes;

use super::account::Account;
use super::binding::Binding;
use super::challenge::Challenge;
use super::keys::{Keys, ScramKeys, derive};
use super::mechanism::broken;
use crate::error::WireError;
use crate::trace::thread_cpu_ns;

/// Random bytes of the client's nonce.
const NONCE: usize = 24;

/// A login in progress: two messages to the server, two from it.
pub(crate) struct Exchange<'a> {
    account: Account<'a>,
    keys: &'a ScramKeys,
    binding: Binding,
    nonce: String,
    path: LoginPath,
    iterations: Option<u32>,
    /// What proves that the server knows the password too.
    expected_signature: Vec<u8>,
    cpu_ns: u64,
}

impl<'a> Exchange<'a> {
    pub(crate) fn new(
        account: Account<'a>,
        keys: &'a ScramKeys,
        binding: Binding,
    ) -> Result<Self, WireError> {
        let mut nonce = [0; NONCE];
        rand_bytes(&mut nonce).map_err(broken)?;
        let nonce = BASE64_STANDARD.encode(nonce);
        Ok(Self::with_nonce(account, keys, binding, nonce))
    }

    pub(super) fn with_nonce(
        account: Account<'a>,
        keys: &'a ScramKeys,
        binding: Binding,
        nonce: String,
    ) -> Self {
        Self {
            account,
            keys,
            binding,
            nonce,
            path: LoginPath::Derived,
            iterations: None,
            expected_signature: Vec::new(),
            cpu_ns: 0,
        }
    }

    /// Whether the keys were derived in this login or cached from an earlier one.
    pub(crate) fn path(&self) -> LoginPath {
        self.path
    }

    /// CPU time of the steps in nanoseconds.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.cpu_ns
    }

    /// How often the password was hashed; `None` before the server has said it.
    pub(crate) fn iterations(&self) -> Option<u32> {
        self.iterations
    }

    /// The client's first message.
    pub(crate) fn first_message(&self) -> String {
        format!("{}{}", self.binding.header(), self.first_bare())
    }

    /// The client's answer to the server's first message.
    pub(crate) fn final_message(&mut self, server_first: &[u8]) -> Result<String, WireError> {
        let began = thread_cpu_ns();
        let fewest = self.account.rules.fewest_iterations;
        let challenge = Challenge::parse(server_first, &self.nonce, fewest)?;
        self.iterations = Some(challenge.iterations as u32);
        let keys = self.keys_for(&challenge)?;
        let without_proof = format!("c={},r={}", self.binding.encoded(), challenge.nonce);
        let signed = format!("{},{},{without_proof}", self.first_bare(), challenge.text);
        let mechanism = self.account.mechanism;
        let stored = hash(mechanism.digest(), &keys.client).map_err(broken)?;
        let mut proof = mechanism.hmac(&stored, signed.as_bytes())?;
        for (byte, key) in proof.iter_mut().zip(&keys.client) {
            *byte ^= key;
        }
        self.expected_signature = mechanism.hmac(&keys.server, signed.as_bytes())?;
        self.cpu_ns += thread_cpu_ns() - began;
        Ok(format!("{without_proof},p={}", BASE64_STANDARD.encode(proof)))
    }

    /// Checks the server's last message.
    pub(crate) fn verify(&self, server_final: &[u8]) -> Result<(), WireError> {
        if let Some(problem) = server_final.strip_prefix(b"e=") {
            let problem = String::from_utf8_lossy(problem).into_owned();
            return Err(WireError::Authentication(problem));
        }
        let signature = server_final
            .strip_prefix(b"v=")
            .and_then(|text| BASE64_STANDARD.decode(text).ok())
            .ok_or_else(|| {
                WireError::Authentication(
                    "the server ended it without its signature, so it has not shown that it knows the password: it may \
                     not be the one that was meant, or somebody is between"
                        .into(),
                )
            })?;
        // The comparison takes two texts of one length.
        if signature.len() == self.expected_signature.len()
            && memcmp::eq(&signature, &self.expected_signature)
        {
            Ok(())
        } else {
            Err(WireError::Authentication(
                "the server's signature is wrong, so it does not know the password: it is not the one that was meant, or \
                 somebody is between"
                    .into(),
            ))
        }
    }

    fn first_bare(&self) -> String {
        let user = match self.account.rules.names_user {
            true => self.account.user.replace('=', "=3D").replace(',', "=2C"),
            false => String::new(),
        };
        format!("n={user},r={}", self.nonce)
    }

    fn keys_for(&mut self, challenge: &Challenge<'_>) -> Result<Keys, WireError> {
        let (account, salt, iterations) = (self.account, &challenge.salt, challenge.iterations);
        let ScramKeys::Kept(kept) = self.keys else {
            return derive(account, salt, iterations);
        };
        if let Some(keys) = kept.find(account, salt, iterations) {
            self.path = LoginPath::Cached;
            return Ok(keys);
        }
        let keys = derive(account, salt, iterations)?;
        kept.keep(account, salt, iterations, &keys);
        Ok(keys)
    }
}
