#!/usr/bin/env bash
# Plays the built-in studies and keeps their reports in record/studies/. For a quiet machine.
set -euo pipefail
cd "$(dirname "$0")/.."
studies=(${*:-mysql-connect-rate mysql-connect-distance mysql-tls-library mysql-tls-tunnel-wan mysql-tls-scenarios mysql-tls-client-library
    mysql-tls-resumption mysql-post-quantum mysql-login mongodb-tls-connection mongodb-auth mongodb-login
    postgres-post-quantum postgres-login postgres-connect-distance postgres-pooler postgres-tls databases-tls
    sqlcipher mysql-at-rest-settings mysql-transit-and-rest at-rest-everywhere mysql-tls-tde-library
    mysql-why always-encrypted-tpcc cluster-encryption mysql-tls-galera mongodb-tls-cluster})
# Those that are measured in another size than the one they have by themselves.
declare -A scales=([mysql-tls-tde-library]=laptop)
mkdir -p record/studies
cargo build --release --locked -p ciphertax
runs="$(mktemp -d)"
trap 'rm -rf "$runs"' EXIT
for name in "${studies[@]}"; do
    echo "== $name" >&2
    # What a run lacks it says with the remedy.
    target/release/ciphertax run "$name" --dry-run | grep -o 'servers install [a-z0-9.-]*' | sort -u |
        while read -r _ _ server; do target/release/ciphertax servers install "$server"; done || true
    target/release/ciphertax run "$name" ${scales[$name]:+--scale "${scales[$name]}"} --out "$runs/$name" > "$runs/$name.txt"
    grep -v '^Report: ' "$runs/$name.txt" > "record/studies/$name.txt"
done
