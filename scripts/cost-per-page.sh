#!/usr/bin/env bash
# What servers are billed for a page that they encrypt, beside what the cipher takes by itself. Twelve minutes; keeps the answer in
# record/.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/keep.sh cost-per-page.md cargo test --release --locked -p ciphertax-runner --lib -- --ignored --nocapture \
    --test-threads=1 play::tests::cost_per_page::
