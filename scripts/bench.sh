#!/usr/bin/env bash
# Runs every benchmark and keeps its document in record/. For a quiet machine: nothing else should be running.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p record docs
cargo build --release --locked -p ciphertax-bench
for name in ${*:-peers transactions engine connects ycsb logins pgbench postgres-connects sqlite io-choice placement pairing poll-delay}; do
    echo "== $name" >&2
    "target/release/$name" > "record/.$name.new"
    mv "record/.$name.new" "record/$name.md"
    cat "record/$name.md"
done
