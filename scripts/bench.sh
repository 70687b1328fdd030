#!/usr/bin/env bash
# Runs the programs of bench/ and keeps their documents in record/. For a quiet machine: nothing else should be running.
#
#   scripts/bench.sh [DOCUMENT…]    all of them, or these, for example: select engine pairing
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p record docs
cargo build --release --locked --manifest-path bench/Cargo.toml --target-dir target/bench
all="select transactions connect login pgbench ycsb tpcc tpcc-load cells engine pairing placement poll-delay looking"
# A peer that is in no package: SYSBENCH_TPCC names the folder of its scripts (github.com/Percona-Lab/sysbench-tpcc).
for name in ${*:-$all}; do
    echo "== $name" >&2
    case "$name" in
    engine) call=(engine) ;;
    pairing | placement | poll-delay | looking) call=(methodology --question "$name") ;;
    tpcc | tpcc-load)
        if [[ -z ${SYSBENCH_TPCC:-} ]]; then
            echo "left out: SYSBENCH_TPCC is not set" >&2
            continue
        fi
        call=(peers --workload "$name" --sysbench-tpcc "$SYSBENCH_TPCC")
        ;;
    *) call=(peers --workload "$name") ;;
    esac
    "target/bench/release/${call[0]}" "${call[@]:1}" > "record/.$name.new"
    mv "record/.$name.new" "record/$name.md"
    cat "record/$name.md"
done
