//! Tests alone: `ciphertax-wire` beside the official drivers.
