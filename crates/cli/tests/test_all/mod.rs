//! What `make test-all` and `make long` run: what takes minutes, and what wants programs that nothing else does.

mod clusters;
mod long_run;
mod postgresql_waits;
mod ranks;
mod why;
mod why_bars;
