#!/usr/bin/env bash
# How right why is, over many runs, each of which measures minutes; keeps the answers in record/. About 45 minutes; as root, or by who
# may look into servers. Servers that were made to have a bound take three hours more; BOUND_RUNS=20 takes a fifth of the runs.
#
#   scripts/why-bars.sh [slowed|same|size|bounds]    functions made slower by a known time; a baseline beside itself; ten minutes of
#                                                    looking; servers that were made to have a bound
set -euo pipefail
cd "$(dirname "$0")/.."

keep() {
    scripts/keep.sh "$1" cargo test --locked --workspace --test end_to_end -- --ignored --nocapture --exact "test_all::why_bars::$2"
}

for part in ${1:-slowed same size}; do
    case "$part" in
        slowed) keep why-slowed.md functions_that_are_slower_by_a_known_time_are_found_with_that_time ;;
        same) keep why-same.md a_baseline_beside_itself_differs_in_no_category_and_is_bound_by_the_cpu ;;
        size) keep why-size.md ten_minutes_of_looking_need_little_memory_and_disk ;;
        bounds) keep why-bounds.md bounds::the_bound_that_a_server_was_made_to_have_is_named ;;
        *)
            echo "usage: scripts/why-bars.sh [slowed|same|size|bounds]" >&2
            exit 1
            ;;
    esac
done
