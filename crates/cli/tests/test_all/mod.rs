//! What `make test-all` and `make long` run: tests that take minutes, or need programs that no other test needs.

mod clusters;
mod long_run;
mod mysql_router;
mod postgresql_waits;
mod ranks;
mod why;
mod why_bars;
