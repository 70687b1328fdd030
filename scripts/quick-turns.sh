#!/usr/bin/env bash
# Two releases of ciphertax on the same machine, `quick` with the same seconds in turns: how wide their intervals are. Prints
# Markdown.
#
#   scripts/quick-turns.sh FORMER_CIPHERTAX CIPHERTAX [FOLDER]
#
# TURNS=10 and SECONDS_EACH=60 by default; the runs stay in FOLDER, from which the tables are made anew if they are there.
set -euo pipefail
(($# >= 2)) || { echo "usage: scripts/quick-turns.sh FORMER_CIPHERTAX CIPHERTAX [FOLDER]" >&2; exit 2; }
former="$(realpath "$1")"
present="$(realpath "$2")"
runs="${3:-$(mktemp -d)}"
turns="${TURNS:-10}"
seconds="${SECONDS_EACH:-60}"
mkdir -p "$runs"

play() { # which, turn, program
    [[ ! -e $runs/$1-$2/run.json ]] || return 0
    local code=0
    "$3" quick --time "$seconds" --out "$runs/$1-$2" >/dev/null 2>"$runs/$1-$2.err" || code=$?
    [[ $code == 0 || $code == 3 ]] || { cat "$runs/$1-$2.err" >&2; exit 1; }
}

for turn in $(seq "$turns"); do
    # Neither is always the first.
    if ((turn % 2)); then
        play former "$turn" "$former"
        play present "$turn" "$present"
    else
        play present "$turn" "$present"
        play former "$turn" "$former"
    fi
done

took() { # which: seconds at the median
    jq -s -r '[.[].elapsed_s] | sort | "\((.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2 | round) s"' "$runs/$1"-*/run.json
}

commit() {
    jq -r '.tool.commit // "unknown"' "$runs/$1-1/run.json"
}

echo '# The precision of two releases in the same seconds'
echo
echo "\`quick --time $seconds\`, $turns runs of each release in turns, on $(nproc) CPUs, $(date +%F): the former of commit $(commit former)"
echo "and the present of commit $(commit present). Half-widths of the 95 % intervals, as parts of the value; medians over the runs."
echo "Runs end as soon as all targets are reached, the former after $(took former), the present after $(took present), at the median;"
echo 'the ratio of the same seconds is of half-widths as they would be after the same time, with whose root they shrink.'
echo 'The spread is the standard deviation of the estimates of the runs: where it is larger than half of the half-width, runs'
echo 'differ by what no interval of one run holds.'
echo
echo '| cell | variant | metric | former | present | present / former | of the same seconds | spread, former | spread, present |'
echo '|---|---|---|--:|--:|--:|--:|--:|--:|'
for which in former present; do
    jq -s --arg which "$which" --argjson seconds "$seconds" '[.[] | (.elapsed_s / $seconds | sqrt) as $root
        | (.estimates // .results.estimates)[]
        | select(.metric == ("server_cpu_per_op", "client_cpu_per_op", "throughput"))
        | {which: $which, cell, arm, metric, half: ((.high - .low) / 2 / (1 + .change)), $root, log: ((1 + .change) | log)}]' \
        "$runs/$which"-*/run.json
done | jq -s -r '
    def median: sort | if length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
    def deviation: (add / length) as $mean | (map(. - $mean | . * .) | add / (length - 1)) | sqrt;
    def percent: . * 10000 | round / 100 | "\(.) %";
    def ratio: . * 100 | round / 100;
    add | group_by([.metric, .cell, .arm])
    | map({metric: .[0].metric, cell: .[0].cell, arm: .[0].arm,
        former: map(select(.which == "former")), present: map(select(.which == "present"))}
        | . + {ratio: ((.present | map(.half) | median) / (.former | map(.half) | median)),
            same: ((.present | map(.half * .root) | median) / (.former | map(.half * .root) | median))})
    | (.[] | "| \(.cell) | \(.arm) | \(.metric) | \(.former | map(.half) | median | percent) | \(.present | map(.half) | median | percent)"
        + " | \(.ratio | ratio) | \(.same | ratio)"
        + " | \(.former | map(.log) | deviation | percent) | \(.present | map(.log) | deviation | percent) |"),
      "", (group_by(.metric)[] | "\(.[0].metric): the geometric mean of the ratios is \(map(.ratio | log) | add / length | exp | ratio), "
        + "of the same seconds \(map(.same | log) | add / length | exp | ratio).")'
