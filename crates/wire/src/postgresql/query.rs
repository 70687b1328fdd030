//! Text statements as PostgreSQL is sent them.

use super::messages::write_length;
use crate::error::WireError;
use crate::sql::Query;

const QUERY: u8 = b'Q';

/// The bytes that run a text statement.
pub(super) fn request(query: &mut Query) -> Result<&[u8], WireError> {
    let message = query.ended();
    message[0] = QUERY;
    write_length(message, 0)?;
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_written_over_its_own_beginning() {
        let mut query = Query::new("SELECT ");
        query.push(b"12345");
        assert_eq!(request(&mut query).unwrap(), b"Q\0\0\0\x11SELECT 12345\0");
        query.truncate("SELECT ".len());
        query.push_blank(1).copy_from_slice(b"7");
        for _ in 0..2 {
            assert_eq!(request(&mut query).unwrap(), b"Q\0\0\0\x0DSELECT 7\0");
            assert_eq!(query.length(), 8);
        }
    }

    #[test]
    fn a_query_that_no_message_can_hold_is_refused() {
        let mut query = Query::new("");
        query.push_blank(16 << 20);
        assert!(matches!(request(&mut query), Err(WireError::Request(_))));
    }
}
