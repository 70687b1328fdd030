#!/usr/bin/env bash
# Does the number hold tomorrow? Runs of `quick`, one after the other, each with a server process of its own: how often the 95 %
# interval of one holds the estimate of another, and the mean of all; and what `gate` and `compare` say of runs of the same thing.
# Prints Markdown.
#
#   scripts/tomorrow.sh [CIPHERTAX] [FOLDER]
#
# RUNS=12 and SECONDS_EACH="110 30" by default; the runs stay in FOLDER, from which the tables are made anew if they are there.
set -euo pipefail
program="$(realpath "${1:-target/release/ciphertax}")"
folder="${2:-$(mktemp -d)}"
runs="${RUNS:-12}"
mkdir -p "$folder"

table() { # seconds
    jq -s -r '
        def mean: add / length;
        def deviation: mean as $mean | (map(. - $mean | . * .) | add / (length - 1)) | sqrt;
        def median: sort | if length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
        def percent: . * 1000 | round / 10 | "\(.) %";
        def share: map(if . then 1 else 0 end) | mean;
        def cells: "| \(.name) | \(.half | percent) | \(.spread | percent) | \(.others | share | percent) | \(.means | share | percent) |";
        [.[].estimates[] | select(.metric == ("server_cpu_per_op", "client_cpu_per_op", "throughput"))
            | {cell, arm, metric, log: (1 + .change | log), low: (1 + .low | log), high: (1 + .high | log)}]
        | group_by([.cell, .arm, .metric])
        | map(. as $runs | (map(.log) | mean) as $mean | {
            name: "\(.[0].cell) | \(.[0].arm) | \(.[0].metric)",
            half: (map((.high - .low) / 2) | median),
            spread: (map(.log) | deviation),
            others: [range(length) as $one | range(length) as $other | select($one != $other)
                | $runs[$other].log >= $runs[$one].low and $runs[$other].log <= $runs[$one].high],
            means: map(.low <= $mean and $mean <= .high)})
        | (.[] | cells),
          ({name: "all \(length) | |", half: (map(.half) | median), spread: (map(.spread) | median),
            others: map(.others[]), means: map(.means[])} | cells)
    ' "$folder/$1"-*/run.json
}

judge() { # seconds: each run held to the one before it
    local verdicts="" changed=0 earlier later
    for run in $(seq 2 "$runs"); do
        earlier="$folder/$1-$((run - 1))"
        later="$folder/$1-$run"
        verdicts+="$("$program" gate "$later" --baseline "$earlier" --json 2>/dev/null | jq -r .verdict || true)"$'\n'
        "$program" compare "$earlier" "$later" --json 2>/dev/null | jq -e '.verdict | startswith("The cost changed")' >/dev/null &&
            changed=$((changed + 1))
    done
    count() { grep -c "^$1\$" <<<"$verdicts" || true; }
    echo "Of $((runs - 1)) gates of a run against the one before it: within $(count within), over $(count over), cannot tell"
    echo "$(count cannot_tell). \`compare\` said of $changed that the cost changed."
}

echo '# Does the number hold tomorrow?'
echo
echo "$runs runs of \`quick\` one after the other, on $(nproc) CPUs, $(date +%F). Of two runs whose intervals are right 83 % hold the"
echo "other's estimate, and 95 % the mean of all runs."
for seconds in ${SECONDS_EACH:-110 30}; do
    for run in $(seq "$runs"); do
        [[ ! -e $folder/$seconds-$run/run.json ]] || continue
        code=0
        "$program" quick --time "$seconds" --out "$folder/$seconds-$run" >/dev/null 2>"$folder/$seconds-$run.err" || code=$?
        [[ $code == 0 || $code == 3 ]] || { cat "$folder/$seconds-$run.err" >&2; exit 1; }
    done
    echo
    echo "## $seconds seconds"
    echo
    echo '| cell | variant | metric | half-width | spread over runs | holds another run'"'"'s | holds the mean |'
    echo '|---|---|---|--:|--:|--:|--:|'
    table "$seconds"
    echo
    judge "$seconds"
done
