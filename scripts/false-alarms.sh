#!/usr/bin/env bash
# Plain against plain, 40 times: how often does the tool say that nothing costs something? Keeps the answer in record/.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/keep.sh false-alarms.md cargo test --release --locked -p ciphertax-runner --test false_alarms -- --ignored --nocapture \
    --exact plain_against_plain_seldom_costs
