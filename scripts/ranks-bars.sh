#!/usr/bin/env bash
# How several load generators do beside one, as root on one machine with an MPI: prints Markdown.
#
#   scripts/ranks-bars.sh [beside|apart|many|killed]
set -euo pipefail
bin="$(cd "$(dirname "$0")/.." && pwd)/target/release"
[[ -x $bin/ciphertax-mpi ]] || { echo "make mpi builds ciphertax-mpi" >&2; exit 1; }
work="$(mktemp -d)"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
ranks=(mpirun --oversubscribe --bind-to none)
spaces=(a b c d)
server=""
link=""

end() {
    [[ -z $server ]] || { kill "$server"; wait "$server" 2>/dev/null || true; } 2>/dev/null
    for name in "${spaces[@]}"; do
        ip netns del "ctx-$name" 2>/dev/null || true
        rm -rf "/etc/netns/ctx-$name"
    done
    # It ends when nobody tells it anything any more.
    [[ -z $link ]] || { exec {LINK[1]}>&-; wait "$link" 2>/dev/null || true; }
    rm -rf "$work"
}
trap end EXIT

study() { # connections, slice, time, what else the load has
    cat > "$work/study.toml" <<EOF
name = "ranks"
question = "What does TLS cost?"
time_s = $3
slice_s = $2
profile = "off"
precision = { cpu = 0.0005, throughput = 0.0005 }
dataset = { table_size = 10000 }
arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
cell = [{ name = "c", workload = "oltp_point_select", load = { connections = $1${4:+, $4} } }]
EOF
}

run() { # how it is started, then words of ciphertax
    local code=0
    "$@" --out "$work/run" >"$work/said" 2>&1 || code=$?
    [[ $code == 0 || $code == 3 ]] && return
    cat "$work/said" >&2
    return "$code"
}

skew() { # of the slices that count, in microseconds: median, highest, how many; void slices
    grep -v '"void"' "$work/run/samples.jsonl" | jq -s -r '
        [.[] | select(.ranks) | [.ranks[].began_after_ns] | max / 1000] | sort
        | if length == 0 then "| | 0" else "\(.[length / 2 | floor] | floor) | \(max | floor) | \(length)" end'
}

beside() {
    echo '## One process with 64 connections beside four ranks with 16 each, in turns'
    echo
    echo '| run | load generators | load threads of each | queries per second, plain | server µs per query, plain'"\
 | tls costs the server | tls changes throughput | client µs per query, plain |"
    echo '|--:|--:|--:|--:|--:|--:|--:|--:|'
    : > "$work/rows"
    for turn in $(seq "${TURNS:-7}"); do
        for shape in '1 1' '1 4' '4 1'; do
            local of="${shape% *}" workers="${shape#* }"
            study 64 0.5 20 "workers = $workers"
            rm -rf "$work/run"
            case $of in
            1) run "$bin/ciphertax" run "$work/study.toml" ;;
            *) run "${ranks[@]}" -np "$of" "$bin/ciphertax-mpi" run "$work/study.toml" ;;
            esac
            jq -c --argjson turn "$turn" --argjson of "$of" --argjson workers "$workers" '
                # Without five blocks that count there is none.
                def of($metric): [.estimates[] | select(.arm == "tls" and .metric == $metric)][0];
                { $turn, $of, $workers, throughput: of("throughput"), server: of("server_cpu_per_op"),
                    client: of("client_cpu_per_op") }' "$work/run/run.json" | tee -a "$work/rows" | jq -r '
                def percent: . * 1000 | round / 10;
                def change: if . then "\(.change | percent) % [\(.low | percent), \(.high | percent)]" else "–" end;
                def tenth: if . then . * 10 | round / 10 else "–" end;
                [.turn, .of, .workers, (.throughput.baseline | tenth), (.server.baseline | tenth), (.server | change),
                    (.throughput | change), (.client.baseline | tenth)] | "| \(join(" | ")) |"'
        done
    done
    echo
    jq -s -r '
        def thousandth: . * 1000 | round / 1000;
        def at($of; $workers): [.[] | select(.of == $of and .workers == $workers)][0];
        group_by(.turn) | map([at(4; 1), at(1; 4)] | select(all(.throughput))) as $turns |
        def ratio(value): [$turns[] | (.[0] | value) / (.[1] | value)] | sort
            | "\(.[length / 2 | floor] | thousandth) [\(min | thousandth)–\(max | thousandth)]";
        if $turns == [] then "No turn has both."
        else "Four load generators with a thread each, of what one with four threads has, in the same turn,"
        + " the median of \($turns | length) and the lowest and highest: throughput \(ratio(.throughput.baseline)),"
        + " server CPU per query \(ratio(.server.baseline)), client CPU per query \(ratio(.client.baseline));"
        + " with tls of plain: server CPU per query \(ratio(1 + .server.change)), throughput \(ratio(1 + .throughput.change))."
        end
    ' "$work/rows"
    echo
}

apart() {
    echo '## Four ranks in network namespaces, each taken for a machine of its own'
    echo
    echo '| load | ms there and back | clock offsets found, µs (the truth is 0) | and by how much they may be wrong, µs'"\
 | skew of the beginning, µs: median | highest | slices that count | of them within 1 ms and that error | slices |"
    echo '|---|--:|---|---|--:|--:|--:|--:|--:|'
    [[ -x $bin/examples/owner ]] || {
        echo "cargo build --release -p ciphertax-lab --example owner builds what keeps hosts apart" >&2
        exit 1
    }
    coproc LINK { exec "$bin/examples/owner" link nodes; }
    link="$LINK_PID"
    local namespace
    read -r _ namespace _ <&"${LINK[0]}"
    in_link() { nsenter --net="$namespace" "$@"; }
    in_link ip route add default dev nodes table 100
    in_link sysctl -qw net.ipv4.ip_forward=1
    local at=1 hosts=""
    for name in "${spaces[@]}"; do hosts+="10.77.$((at++)).1 ctx-$name"$'\n'; done
    at=1
    for name in "${spaces[@]}"; do
        mkdir -p "/etc/netns/ctx-$name"
        printf '127.0.0.1 localhost\n%s' "$hosts" > "/etc/netns/ctx-$name/hosts"
        echo "boot-$name" > "$work/boot-$name"
        ip netns add "ctx-$name"
        in_link ip link add "ctx-$name" type veth peer name eth0 netns "ctx-$name"
        in_link ip addr add "10.77.$at.2/24" dev "ctx-$name"
        in_link ip link set "ctx-$name" up
        # What comes from a host goes to the link's device before it goes to another host, but for what asks who its gateway is.
        in_link ip rule add pref 10 iif "ctx-$name" to "10.77.$at.2" lookup local
        in_link ip rule add pref 11 iif "ctx-$name" lookup 100
        ip -n "ctx-$name" addr add "10.77.$at.1/24" dev eth0
        ip -n "ctx-$name" link set eth0 up
        ip -n "ctx-$name" link set lo up
        ip -n "ctx-$name" route add default via "10.77.$at.2"
        at=$((at + 1))
    done
    cat > "$work/in" <<EOF
#!/usr/bin/env bash
# In the namespace of a host, by another name, and under what looks like another kernel.
host="\$1"; shift
exec ip netns exec "\$host" unshare --uts --mount sh -c 'hostname "\$0"
    mount --bind "$work/boot-\${0#ctx-}" /proc/sys/kernel/random/boot_id
    exec sh -c "\$*"' "\$host" "\$@"
EOF
    chmod +x "$work/in"
    own_server
    # A closed loop has the server and four load generators wait for the same two CPUs; the other leaves them idle most of the time.
    for shape in 'closed 0' 'closed 1' 'closed 20' 'open 0' 'open 1' 'open 20'; do
        local loop="${shape% *}" ms="${shape#* }" pace=""
        [[ $loop == closed ]] || pace="rate = 400"
        study 8 0.5 12 "$pace"
        echo "$ms" >&"${LINK[1]}"
        rm -rf "$work/run"
        CIPHERTAX_PASSWORD=secret run "$work/in" ctx-a "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --bind-to none \
            --mca plm_rsh_agent $work/in --mca btl tcp,self --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 \
            --host ctx-a,ctx-b,ctx-c,ctx-d -np 4 -x CIPHERTAX_PASSWORD $bin/ciphertax-mpi run $work/study.toml mysql://ctx@10.77.1.1:3399/"
        local offsets errors error within all
        offsets="$(jq -r '[.ranks[1:][].clock_offset_ns / 1000 | round] | join(", ")' "$work/run/run.json")"
        errors="$(jq -r '[.ranks[1:][].clock_error_ns / 1000 | round] | join(", ")' "$work/run/run.json")"
        error="$(jq '[.ranks[1:][].clock_error_ns] | max' "$work/run/run.json")"
        within="$(grep -v '"void"' "$work/run/samples.jsonl" | jq -s --argjson error "$error" \
            '[.[] | select(.ranks) | [.ranks[].began_after_ns] | max | select(. <= 1e6 + $error)] | length')"
        all="$(grep -c '"arm"' "$work/run/samples.jsonl")"
        echo "| $loop loop${pace:+, ${pace#* = } operations per second} | $ms | $offsets | $errors | $(skew) | $within | $all |"
    done
    echo
}

own_server() {
    mariadb-install-db --no-defaults --auth-root-authentication-method=normal --datadir="$work/data" --user="$(id -un)" >/dev/null 2>&1 ||
        "$(dirname "$(readlink -f "$(command -v mariadb-install-db)")")/mariadb-install-db" --no-defaults --datadir="$work/data" >/dev/null
    # One statement a line.
    printf '%s\n' "CREATE USER ctx@'%' IDENTIFIED BY 'secret';" "GRANT ALL ON *.* TO ctx@'%';" > "$work/init.sql"
    chmod 755 "$work"
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ctx -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
    ip netns exec ctx-a mariadbd --no-defaults --user="$(id -un)" --datadir="$work/data" --socket="$work/s" --port=3399 \
        --bind-address=10.77.1.1 --init-file="$work/init.sql" --ssl-cert="$work/cert.pem" --ssl-key="$work/key.pem" \
        --skip-name-resolve --pid-file="$work/pid" >"$work/server" 2>&1 &
    server=$!
    for _ in $(seq 100); do [[ -S $work/s ]] && return; sleep 0.1; done
    cat "$work/server" >&2
    return 1
}

many() {
    echo '## Many ranks, on two CPUs'
    echo
    echo '| load generators | slices that count | slices | pause before a slice, of both | the same of one process'"\
 | memory of all, MB | of rank 0 | folder, MB per minute | skew of the beginning, µs: median | highest | slices of that |"
    echo '|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|'
    study 64 0.5 15
    rm -rf "$work/run"
    run "$bin/ciphertax" run "$work/study.toml"
    local alone of
    alone="$(beside_slices)"
    for of in 16 64; do
        rm -rf "$work/run"
        run "${ranks[@]}" -np "$of" "$bin/ciphertax-mpi" run "$work/study.toml"
        local memory conductor size
        memory="$(jq -s '[.[].client_peak_memory_bytes | values] | last / 1e6 | round' "$work/run/samples.jsonl")"
        conductor="$(jq -s '[.[].ranks[0].client_peak_memory_bytes | values] | last / 1e6 | round' "$work/run/samples.jsonl")"
        size="$(du -sb "$work/run" | awk '{print $1}')"
        local counts all rate
        counts="$(grep -vc '"void"' "$work/run/samples.jsonl")"
        all="$(grep -c '"arm"' "$work/run/samples.jsonl")"
        rate="$(awk -v bytes="$size" 'BEGIN {print bytes * 4 / 1e6}')"
        echo "| $of | $counts | $all | $(beside_slices) | $alone | $memory | $conductor | $rate | $(skew) |"
    done
    echo
}

beside_slices() { # percent of a slice and the pause before it that is pause, the median: after void slices is waited, which is none
    jq -s -r '[.[] | select(.start_ns)] | [range(1; length) as $at | .[$at - 1] as $last | .[$at] as $this
            | ($this.start_ns - $last.start_ns - $last.duration_ns) as $pause | $pause / ($pause + $this.duration_ns)]
        | sort | "\(.[length / 2 | floor] * 1000 | round / 10) %"' "$work/run/samples.jsonl"
}

killed() {
    echo "## A rank of three killed at a random moment, ${KILLS:-20} times"
    echo
    study 6 0.1 60
    local number ended=0 partial=0 slowest=0
    for number in $(seq "${KILLS:-20}"); do
        rm -rf "$work/run"
        "${ranks[@]}" -np 3 "$bin/ciphertax-mpi" run "$work/study.toml" --out "$work/run" >"$work/said" 2>&1 &
        local mpirun=$! began took
        until grep -qs '"arm"' "$work/run/samples.jsonl"; do sleep 0.05; done
        sleep "$(awk -v r="$RANDOM" 'BEGIN {print 0.5 + r / 32768 * 3}')"
        # Now the load generator itself, now what carries its messages.
        local whose=$((number % 2 == 0 ? 1 : 2)) program=ciphertax
        ((number % 4 < 2)) || program=ciphertax-mpi
        local victim
        victim="$(for pid in $(pgrep -x "$program"); do
            tr '\0' '\n' < "/proc/$pid/environ" 2>/dev/null |
                grep -Eq "^(CIPHERTAX_RANK=$whose/3|OMPI_COMM_WORLD_RANK=$whose)\$" && echo "$pid" && break
        done)"
        began=$(date +%s%N)
        kill -KILL "$victim"
        until jq -e '.status.state == "partial"' "$work/run/run.json" >/dev/null 2>&1; do
            sleep 0.05
            (( $(date +%s%N) - began < 20000000000 )) || break
        done
        took=$((($(date +%s%N) - began) / 1000000))
        wait "$mpirun" && true
        jq -e '.status.state == "partial"' "$work/run/run.json" >/dev/null && partial=$((partial + 1))
        ((took > slowest)) && slowest=$took
        sleep 2
        pgrep -f "$work" >/dev/null || ended=$((ended + 1))
    done
    echo "$partial of ${KILLS:-20} left a partial report, the slowest after $slowest ms; of $ended nothing ran two seconds later."
    echo
}

echo '# Several load generators'
echo
for part in ${*:-beside apart many killed}; do "$part"; done
