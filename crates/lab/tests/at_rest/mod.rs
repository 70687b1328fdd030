//! What real servers encrypt on the disk: a canary is in every kind of file that they write in plaintext, and in none that
//! they were told to encrypt; without their key they open nothing. How much memory they have, and how they write.
//!
//! All servers are fetched, since the distribution's MariaDB has its plugins in another package, unless they are in the
//! user's cache.

mod common;
mod files;
mod keys;
mod storage;
