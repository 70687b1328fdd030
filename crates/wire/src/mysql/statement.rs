//! Prepared statements with integer parameters, which is all that the workloads bind.

use mysql_common::constants::ColumnType;

use super::framing::{HEADER, command_packet};
use crate::error::WireError;

const COM_STMT_EXECUTE: u8 = 0x17;

/// A prepared statement of one session. Its request is built once; an execution only writes the parameters into it.
pub struct Statement {
    pub(super) parameters: usize,
    /// The request that names the parameters' types, which the server wants once.
    typed: Vec<u8>,
    /// The request of all later executions.
    request: Vec<u8>,
    typed_sent: bool,
}

impl Statement {
    pub(super) fn new(id: u32, parameters: u16) -> Result<Self, WireError> {
        let parameters = usize::from(parameters);
        Ok(Self {
            parameters,
            typed: request(id, parameters, true)?,
            request: request(id, parameters, false)?,
            typed_sent: false,
        })
    }

    /// The bytes that execute the statement with `values`.
    pub(super) fn bind(&mut self, values: &[i64]) -> &[u8] {
        let request = if self.typed_sent {
            &mut self.request
        } else {
            &mut self.typed
        };
        self.typed_sent = true;
        let first = request.len() - size_of_val(values);
        for (place, value) in request[first..].chunks_exact_mut(size_of::<i64>()).zip(values) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        request
    }
}

/// `COM_STMT_EXECUTE`: statement, no cursor, one iteration, no NULLs, types if asked for, values.
fn request(id: u32, parameters: usize, typed: bool) -> Result<Vec<u8>, WireError> {
    let mut payload = Vec::with_capacity(HEADER + 16 + parameters * 12);
    payload.extend_from_slice(&id.to_le_bytes());
    payload.push(0);
    payload.extend_from_slice(&1_u32.to_le_bytes());
    if parameters > 0 {
        payload.resize(payload.len() + parameters.div_ceil(8), 0);
        payload.push(u8::from(typed));
        if typed {
            for _ in 0..parameters {
                payload.extend_from_slice(&[ColumnType::MYSQL_TYPE_LONGLONG as u8, 0]);
            }
        }
        payload.resize(payload.len() + parameters * size_of::<i64>(), 0);
    }
    command_packet(COM_STMT_EXECUTE, &payload)
}
