//! Plays a study: cells, blocks, records and the stopping rule.
