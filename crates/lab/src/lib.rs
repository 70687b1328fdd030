//! Private servers, certificates, relays and proofs.
