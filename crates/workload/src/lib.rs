//! What is asked of a database: prepare, check, run.
