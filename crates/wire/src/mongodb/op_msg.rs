//! The layout of a message of `OP_MSG`
//! (<https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/>).

/// Bytes of a message before its first section: length, number, number of the question, code (4 each), flags (4).
pub(super) const HEADER: usize = 20;
/// The kind of a section that is one document.
pub(super) const BODY: u8 = 0;
/// The kind of a section that is a sequence of documents.
pub(super) const SEQUENCE: u8 = 1;
