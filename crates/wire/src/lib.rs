//! Lean database clients over plain and TLS streams, with a trace of every connect phase.
