//! A request and its answer as bytes.

use std::io;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::ROWS;

/// Room for one answer: a row of `c` with its column's definition takes some 200 bytes.
pub const ANSWER_ROOM: usize = 1024;
/// Bytes of a packet's header: length and sequence number.
pub const HEADER: usize = 4;

/// One connection's request, over and over for another row, and what is missing of the answer.
pub struct Exchange {
    /// `COM_STMT_EXECUTE`, whose last eight bytes are the id.
    request: Vec<u8>,
    answer_bytes: usize,
    missing: usize,
    ids: Pcg64Mcg,
}

impl Exchange {
    /// `answer_bytes` is the size of every answer: all rows have values of the same length.
    pub fn new(request: Vec<u8>, answer_bytes: usize, seed: u64) -> Self {
        Self {
            request,
            answer_bytes,
            missing: 0,
            ids: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// The request for a row drawn uniformly.
    pub fn request(&mut self) -> &[u8] {
        let id: i64 = self.ids.random_range(1..=ROWS.into());
        let place = self.request.len() - size_of::<i64>();
        self.request[place..].copy_from_slice(&id.to_le_bytes());
        self.missing = self.answer_bytes;
        &self.request
    }

    /// Notes bytes that were received. True if the answer is complete.
    ///
    /// # Errors
    /// If the server closed, or says something else than a result of one column.
    pub fn received(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let begins = self.missing == self.answer_bytes;
        let is_result = bytes.get(HEADER).is_none_or(|columns| *columns == 1);
        if bytes.is_empty() || bytes.len() > self.missing || (begins && !is_result) {
            return Err(io::Error::other(
                "the server's answer is not that of a point select",
            ));
        }
        self.missing -= bytes.len();
        Ok(self.missing == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_complete_when_all_its_bytes_are_there() {
        let mut exchange = Exchange::new(vec![0; 20], 10, 1);
        let id = i64::from_le_bytes(exchange.request()[12..].try_into().unwrap());
        assert!((1..=i64::from(ROWS)).contains(&id));
        assert!(!exchange.received(&[1, 0, 0, 1, 1, 0]).unwrap());
        assert!(exchange.received(&[0xFF; 4]).unwrap());
    }

    #[test]
    fn what_is_no_result_is_an_error() {
        let mut exchange = Exchange::new(vec![0; 20], 10, 1);
        for wrong in [&[1, 0, 0, 1, 0xFF, 0][..], &[], &[1; 11]] {
            exchange.request();
            assert!(exchange.received(wrong).is_err(), "{wrong:?}");
        }
    }
}
