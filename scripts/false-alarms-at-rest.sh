#!/usr/bin/env bash
# Identical servers under writes, ten times: how often does the tool say that nothing costs something, and is what is paid
# later the same for all? And two that differ in when they flush. Keeps the answers in record/.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p record
keep() {
    tee /dev/stderr | sed -n '/^# /,/^test result/p' | grep -v '^test ' > "record/.$1.new"
    mv "record/.$1.new" "record/$1"
}
cargo test --release --locked -p ciphertax-runner --lib -- --ignored --nocapture \
    an_arm_that_flushes_later_costs_less_in_its_slices_and_the_same_over_whole_rounds | keep delayed-flush.md
cargo test --release --locked -p ciphertax-runner --test false_alarms_at_rest -- --ignored --nocapture |
    keep false-alarms-at-rest.md
