//! ciphertax beside its best peer, workload by workload: client CPU per operation, on the same private server.
//!
//! ```sh
//! cargo run --release --manifest-path bench/Cargo.toml --bin peers -- --workload select > record/select.md
//! ```
//!
//! | workload | what both do | peer |
//! |---|---|---|
//! | `select` | `oltp_point_select` on MariaDB | sysbench |
//! | `transactions` | `oltp_read_only` and `oltp_read_write` on MariaDB | sysbench |
//! | `connect` | connect, log in, disconnect, on MariaDB and PostgreSQL | sysbench, pgbench |
//! | `login` | SCRAM on MongoDB and PostgreSQL | the bare derivation of its keys by OpenSSL |
//! | `pgbench` | `select-only`, `tpcb-like` and the load of their tables on PostgreSQL | pgbench |
//! | `ycsb` | YCSB's workloads C and A and the load of their records on MongoDB | go-ycsb |
//! | `tpcc` | TPC-C on MariaDB | sysbench-tpcc, where `--sysbench-tpcc` says where its scripts are |
//! | `tpcc-load` | the load of TPC-C's tables on MariaDB | the same |
//! | `cells` | encrypted cells, without a server | OpenSSL's bare cipher |
//!
//! `scripts/setup.sh bench` installs the peers. sysbench-tpcc is in no package: its scripts are those of
//! <https://github.com/Percona-Lab/sysbench-tpcc>.

mod bare_cipher;
mod beside_pgbench;
mod beside_sysbench;
mod cells;
mod connect;
mod go_ycsb;
mod login;
mod pgbench;
mod select;
mod sysbench_tpcc;
mod tpcc;
mod tpcc_load;
mod transactions;
mod ycsb;
mod ycsb_load;

use std::path::PathBuf;
use std::process::ExitCode;

use ciphertax_bench::Document;
use clap::{Parser, ValueEnum};

/// Client CPU per operation, ciphertax beside its best peer: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// What both do
    #[arg(long, value_enum)]
    workload: Workload,
    /// How often each figure is measured
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// The folder of sysbench-tpcc's scripts; without it ciphertax is alone in `tpcc` and `tpcc-load`
    #[arg(long, value_name = "FOLDER")]
    sysbench_tpcc: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Workload {
    Select,
    Transactions,
    Connect,
    Login,
    Pgbench,
    Ycsb,
    Tpcc,
    TpccLoad,
    Cells,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let arguments = Arguments::parse();
        let repeats = arguments.repeats;
        let scripts = arguments.sysbench_tpcc.as_deref();
        let mut document = Document::new(arguments.workload.title(), "peers");
        document.fact("repeats", format!("{repeats}, in turns"));
        let into = &mut document;
        match arguments.workload {
            Workload::Select => select::measure(into, repeats)?,
            Workload::Transactions => transactions::measure(into, repeats)?,
            Workload::Connect => connect::measure(into, repeats)?,
            Workload::Login => login::measure(into, repeats)?,
            Workload::Pgbench => pgbench::measure(into, repeats)?,
            Workload::Ycsb => ycsb::measure(into, repeats)?,
            Workload::Tpcc => tpcc::measure(into, repeats, scripts)?,
            Workload::TpccLoad => tpcc_load::measure(into, repeats, scripts)?,
            Workload::Cells => cells::measure(into, repeats)?,
        }
        print!("{document}");
        Ok(())
    })
}

impl Workload {
    fn title(self) -> &'static str {
        match self {
            Self::Select => "Client CPU per point select, beside sysbench",
            Self::Transactions => "Client CPU per transaction, beside sysbench",
            Self::Connect => "New connections, beside sysbench and pgbench",
            Self::Login => "Logins by SCRAM, beside the bare derivation of their keys",
            Self::Pgbench => "The workloads of pgbench, beside pgbench",
            Self::Ycsb => "Client CPU per operation of YCSB, beside go-ycsb",
            Self::Tpcc => "Client CPU per transaction of TPC-C, beside sysbench-tpcc",
            Self::TpccLoad => "Loading TPC-C's tables, beside sysbench-tpcc",
            Self::Cells => "CPU time of an encrypted cell, beside its bare cipher",
        }
    }
}
