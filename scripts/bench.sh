#!/usr/bin/env bash
# Runs every benchmark and keeps its document in record/. For a quiet machine: nothing else should be running.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p record docs
cargo build --release --locked -p ciphertax-bench
all="peers transactions engine connects ycsb logins pgbench postgres-connects sqlite io-choice placement pairing poll-delay cells values
    column-relay tpcc tpcc-load connections looking"
# Peers for TPC-C are in no package: GO_TPC names the program (github.com/pingcap/go-tpc), SYSBENCH_TPCC the folder of the scripts
# (github.com/Percona-Lab/sysbench-tpcc).
peers=(${GO_TPC:+--go-tpc "$GO_TPC"} ${SYSBENCH_TPCC:+--sysbench-tpcc "$SYSBENCH_TPCC"})
for name in ${*:-$all}; do
    echo "== $name" >&2
    arguments=()
    case "$name" in
    tpcc) arguments=("${peers[@]}") ;;
    tpcc-load) arguments=(${GO_TPC:+--go-tpc "$GO_TPC"}) ;;
    esac
    "target/release/$name" "${arguments[@]}" > "record/.$name.new"
    mv "record/.$name.new" "record/$name.md"
    cat "record/$name.md"
done
