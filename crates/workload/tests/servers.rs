//! The workloads on real servers. One test program, so that each workload is compiled once for each client.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod beside_sysbench;
mod beside_sysbench_and_pgbench;
mod common;
mod dataset;
mod lines;
mod oltp;
mod pgbench_mysql;
mod postgresql;
mod slices;
mod sqlite;
mod stored_cells;
mod tpcc_dataset;
mod tpcc_transactions;
mod ycsb_cells;
mod ycsb_mongodb;
mod ycsb_mysql;

ciphertax_testkit::plays_roles!();
