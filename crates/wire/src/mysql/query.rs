//! Text statements as MySQL is sent them.

use super::framing::{HEADER, write_header};
use crate::error::WireError;
use crate::sql::Query;

const COM_QUERY: u8 = 0x03;

/// The bytes that run a text statement.
pub(super) fn request(query: &mut Query) -> Result<&[u8], WireError> {
    let packet = query.unended();
    packet[HEADER] = COM_QUERY;
    write_header(packet, 0)?;
    Ok(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_written_over_its_own_beginning() {
        let mut query = Query::new("SELECT ");
        query.push(b"12345");
        query.truncate("SELECT ".len());
        query.push_blank(1).copy_from_slice(b"7");
        assert_eq!(query.text(), b"SELECT 7");
        assert_eq!(request(&mut query).unwrap(), b"\x09\0\0\0\x03SELECT 7");
    }

    #[test]
    fn a_query_that_no_packet_can_hold_is_refused() {
        let mut query = Query::new("");
        query.push_blank(16 << 20);
        assert!(matches!(request(&mut query), Err(WireError::Request(_))));
    }
}
