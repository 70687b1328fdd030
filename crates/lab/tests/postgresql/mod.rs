//! Real private PostgreSQL servers: how they are made, as whom they run, and that nothing of them stays.

mod common;
mod life;
mod logins;
mod tls;
