#!/usr/bin/env bash
# A real TiDB, given by URL as anybody's server: that of the catalogue, which Go builds if it is not there, started in a folder of
# its own with its embedded store, and measured. Prints Markdown. Needs Go, openssl, jq, and `make build`.
set -euo pipefail
bin="$(cd "$(dirname "$0")/.." && pwd)/target/release"
[[ -x $bin/ciphertax ]] || { echo "make build builds ciphertax" >&2; exit 1; }
port=4399
work="$(mktemp -d)"
program=""
server=""

end() {
    [[ -z $server ]] || { kill "$server"; wait "$server" 2>/dev/null || true; } 2>/dev/null
    rm -rf "$work"
}
trap end EXIT

install() {
    "$bin/ciphertax" servers install tidb
    program="$("$bin/ciphertax" servers --json | jq -r '.[] | select(.name == "tidb").program')"
    cd "$work"
}

start() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem 2>/dev/null
    cat > tidb.toml <<EOF
host = "127.0.0.1"
port = $port
store = "unistore"
path = "$work/data"
tmp-storage-path = "$work/tmp"
[status]
report-status = false
[security]
ssl-cert = "$work/cert.pem"
ssl-key = "$work/key.pem"
EOF
    "$program" -config tidb.toml > log 2>&1 &
    server=$!
    for _ in $(seq 100); do
        # Root has no password until somebody sets one.
        CIPHERTAX_PASSWORD='' "$bin/ciphertax" connect "mysql://root@127.0.0.1:$port/" --transport plain >/dev/null 2>&1 && return
        sleep 0.2
    done
    tail log >&2
    return 1
}

study() {
    cat > tidb-study.toml <<'EOF'
name = "tidb"
question = "What does TLS cost on TiDB?"
time_s = 120
slice_s = 0.5
profile = "off"
dataset = { table_size = 10000 }
ycsb = { record_count = 1000 }
arm = [{ name = "plain", transport = "plain" }, { name = "tls1.3", transport = "tls1.3" }]
EOF
    local workload
    for workload in oltp_point_select connect oltp_read_only oltp_read_write oltp_insert pgbench_tpcb_like ycsb_a; do
        printf '[[cell]]\nname = "%s"\nworkload = "%s"\nload = { connections = 2 }\n' "$workload" "$workload" >> tidb-study.toml
    done
}

install >&2
start
study
code=0
# A host where nobody is, besides: the product's word for each is in the report.
CIPHERTAX_PASSWORD='' "$bin/ciphertax" run tidb-study.toml "mysql://root@127.0.0.1:$port,127.0.0.1:1/" --out run > report || code=$?
[[ $code == 0 || $code == 3 ]] || { cat report >&2; exit "$code"; }
echo '# TiDB by URL'
echo
echo "\`make build && scripts/tidb.sh\`: $(jq -r '.servers[0] | "\(.product) \(.version), "
    + ([.members[] | "\(.address) (\(.role))"] | join(", "))' run/run.json)."
echo
echo '| workload | blocks | void slices | restarts | server µs per operation, plain | TLS 1.3 costs the server |'
echo '|---|--:|--:|--:|--:|--:|'
jq -r --slurpfile samples run/samples.jsonl '
    def percent: . * 1000 | round / 10;
    .cells[] as $cell
    | (.estimates[] | select(.cell == $cell.name and .arm == "tls1.3" and .metric == "server_cpu_per_op")) as $row
    | ([$samples[] | select(.cell == $cell.name) | .restarts // 0] | add) as $restarts
    | "| \($cell.name) | \($cell.blocks) | \($cell.void_slices) | \($restarts) | \($row.baseline * 10 | round / 10)"
        + " | \($row.change | percent) % [\($row.low | percent), \($row.high | percent)] |"
' run/run.json
