#!/usr/bin/env bash
# Two servers that differ in when they flush: is what is paid later billed to whoever caused it? Four minutes; keeps the answer
# in record/.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/keep.sh delayed-flush.md cargo test --release --locked -p ciphertax-runner --lib -- --ignored --nocapture --exact \
    play::tests::delayed_flush::an_arm_that_flushes_later_costs_less_in_its_slices_and_the_same_over_whole_rounds
