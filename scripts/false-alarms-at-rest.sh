#!/usr/bin/env bash
# Identical servers under writes, five times: how often does the tool say that nothing costs something, and is what is paid
# later the same for all? Twenty-two minutes; keeps the answer in
# record/.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/keep.sh false-alarms-at-rest.md cargo test --release --locked -p ciphertax-runner --test false_alarms -- --ignored --nocapture \
    --exact identical_servers_under_writes_seldom_cost_and_pay_the_same_over_whole_rounds
