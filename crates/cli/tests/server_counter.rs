//! A server whose CPU time a counter tells that somebody else keeps.

use ciphertax_records::CounterRecord;

use crate::common::*;

/// What a command is given and nobody else should see.
const SECRET: &str = "hunter2";

/// The process of a server.
fn pid_of(server: &OwnServer) -> u32 {
    match listener(format!("127.0.0.1:{}", server.port()).parse().unwrap()) {
        SocketOwner::One(pid) => pid,
        other => panic!("{other:?}"),
    }
}

/// The CPU time of a process so far, in seconds, in steps of a tick.
pub(crate) fn seconds_of(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|field| field.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    (ticks(11) + ticks(12)) / 100.0
}

/// What a run on a server said.
struct Measured {
    run: Run,
    /// On standard output, on one line.
    shown: String,
    /// The longest time between two looks at the counter, in seconds, while it was found out how far it lags behind.
    pause_s: f64,
}

/// A run on the server of this process, whose slices must have all the CPU time that the process used meanwhile; `looks` tells when
/// the counter was looked at, in seconds.
fn measured(pid: u32, arguments: &[&str], looks: impl Fn() -> Vec<f64>) -> Measured {
    // Where the machine's pauses make slices long, the shorter time is over with the first block.
    let mut times = ["--time=20", "--time=80"].into_iter();
    times
        .find_map(|time| measured_for(time, pid, arguments, &looks))
        .unwrap()
}

/// `None` if hardly anything was measured after the first block.
fn measured_for(time: &str, pid: u32, arguments: &[&str], looks: impl Fn() -> Vec<f64>) -> Option<Measured> {
    const ENOUGH: usize = 4;
    let sandbox = Sandbox::new();
    let little = [
        "quick",
        "--cell=oltp_point_select",
        "--arm=plain",
        "--arm=tls1.3",
        time,
        "--out=run",
    ];
    let arguments = [&little, arguments].concat();
    let mut running = Running::start(sandbox.command(&arguments));
    running.says("Proving that ");
    let pause_s = longest_pause(&looks());
    running.measures();
    let before = seconds_of(pid);
    let already = samples_so_far(&sandbox.run()).len();
    let before_at_most = seconds_of(pid);
    let finished = running.finish_within(3 * PATIENCE);
    let end = seconds_of(pid);
    finished.measured();
    let run = record(&sandbox.run());
    let later = samples(&sandbox.run()).split_off(already);
    // The first of them may have begun before, and another may have ended between the readings; between slices and afterwards
    // little is asked.
    if later.len() < ENOUGH {
        return None;
    }
    let (least, most) = (end - before_at_most, end - before);
    let is_in_bounds = told_by(&later) > 0.85 * least && told_by(&later[1..]) < 1.05 * most;
    assert!(is_in_bounds, "{} s of {least} s to {most} s", told_by(&later));
    let [record, page] =
        ["run.json", "report.html"].map(|file| fs::read_to_string(sandbox.run().join(file)).unwrap());
    let written = [record, ciphertax_report_check::with_packed(&page).unwrap()];
    assert!(written.iter().all(|text| !text.contains(SECRET)));
    assert!(!finished.stdout.contains(SECRET) && !finished.stderr.contains(SECRET));
    no_slice_failed(&run);
    let mut rows = run.results.measurements.iter();
    assert!(rows.any(|row| row.metric == Metric::ServerCpuPerOp));
    sandbox.expect_nothing_left();
    let all = sandbox.finish(&["report", "run", "--full"]);
    Some(Measured {
        run,
        shown: all.stdout.split_whitespace().collect::<Vec<_>>().join(" "),
        pause_s,
    })
}

/// The server's CPU time in these slices, in seconds.
fn told_by(samples: &[Sample]) -> f64 {
    let told = samples.iter().filter_map(|sample| sample.server.server_cpu);
    told.map(|cpu| cpu.total_ns as f64 / 1e9).sum()
}

fn longest_pause(looks: &[f64]) -> f64 {
    let pauses = looks.windows(2).map(|pair| pair[1] - pair[0]);
    pauses.fold(0.0, f64::max)
}

fn counter_of(run: &Run) -> &CounterRecord {
    match &run.head.servers[0].cpu_from {
        Some(CpuSource::Counter(counter)) => counter,
        other => panic!("{other:?}"),
    }
}

/// What prints its CPU time.
fn command_for(pid: u32) -> String {
    format!("sh -c \"awk '{{print (\\$14 + \\$15) / 100}}' /proc/{pid}/stat\" {SECRET}")
}

#[test]
fn a_run_goes_on_with_the_command_that_is_given_again_alone() {
    let server = OwnServer::start();
    let url = server.url_with(server.password());
    let command = command_for(pid_of(&server));
    let sandbox = Sandbox::new();
    let start = |arguments: &[&str]| {
        let mut command = sandbox.command(arguments);
        command.env("CIPHERTAX_PASSWORD", server.password());
        Running::start(command)
    };
    let mut running = start(&[
        "quick",
        &url,
        "--time=60",
        "--out=run",
        "--server-cpu-command",
        &command,
    ]);
    running.measures();
    running.kill();
    assert!(within(PATIENCE, || server
        .query("SELECT IS_FREE_LOCK('ciphertax')")
        == ["1"]));
    let resume = |more: &[&str]| start(&[&["run", "--resume", "run"], more].concat());
    let asked = "the command sh … give it again: --server-cpu-command 'sh …'";
    for given in [&[][..], &["--server-cpu-command", "cat /proc/uptime"]] {
        resume(given).finish().refuses(asked);
    }
    let again = ["--server-cpu-command", command.as_str()];
    let file = sandbox.run().join("run.json");
    let text = fs::read_to_string(&file).unwrap();
    let found = text
        .lines()
        .find(|line| line.contains("\"resolution_s\""))
        .unwrap();
    for wrong in ["-1", "1e300"] {
        let line = format!("\"resolution_s\": {wrong}");
        fs::write(&file, text.replacen(found.trim(), &line, 1)).unwrap();
        resume(&again)
            .finish()
            .refuses("cannot go on … server_cpu.resolution_s");
    }
    fs::write(&file, &text).unwrap();
    let mut running = resume(&again);
    running.measures();
    running.interrupt();
    let written = fs::read_to_string(&file).unwrap();
    assert!(!written.contains(SECRET));
    sandbox.expect_nothing_left();
}

#[test]
fn a_login_that_is_refused_is_tried_no_more_while_a_counter_is_looked_at() {
    let server = OwnServer::start();
    let sandbox = Sandbox::new();
    let url = server.url_with("wrong");
    let arguments = [
        "quick",
        &url,
        "--out=run",
        "--server-cpu-command",
        "cat /proc/uptime",
    ];
    let arguments = [&arguments[..], &["--arm=plain", "--arm=tls1.3"]].concat();
    let refused = sandbox.finish(&arguments);
    refused.refuses("ccess denied");
    assert!(!sandbox.run().exists());
}

#[test]
fn a_command_that_prints_seconds_tells_the_servers_cpu() {
    let server = OwnServer::start();
    let url = server.url_with(server.password());
    let pid = pid_of(&server);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("looks");
    let command = command_for(pid).replace("awk", &format!("date +%s.%N >> {}; awk", log.display()));
    let looks = || -> Vec<f64> {
        let text = fs::read_to_string(&log).unwrap();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    let Measured { run, shown, pause_s } = measured(pid, &[&url, "--server-cpu-command", &command], looks);
    let counter = counter_of(&run);
    // A pause lengthens what lies between two moves, how far the counter seems to lag, and the longest turn.
    let is_fine = counter.resolution_s < 0.5 + 3.0 * pause_s;
    assert!(is_fine, "{counter:?}, {pause_s} s");
    says(
        &shown,
        "as the command sh reports. The counter lags up to … was not profiled: a counter tells CPU time alone",
    );
    let repeats = "--server-cpu-command 'sh …'";
    assert!(run.head.command.contains(repeats), "{}", run.head.command);
    let resolution_s = run.head.study.server_cpu.as_ref().unwrap().resolution_s;
    assert_eq!(resolution_s, Some(counter.resolution_s));
}

mod test_all {
    use super::*;

    #[test]
    fn metrics_that_are_renewed_now_and_then_lengthen_slices() {
        let server = OwnServer::start();
        let url = server.url_with(server.password());
        let exporter = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = exporter.local_addr().unwrap();
        let pid = pid_of(&server);
        let (looked, looks) = mpsc::channel();
        // Renews its number every 200 ms, as managed services do every minute; ends with the test program.
        thread::spawn(move || {
            let began = Instant::now();
            let (mut shown, mut since) = (seconds_of(pid), began);
            for stream in exporter.incoming().flatten() {
                let _ = looked.send(began.elapsed().as_secs_f64());
                if since.elapsed() > Duration::from_millis(200) {
                    (shown, since) = (seconds_of(pid), Instant::now());
                }
                let metrics = format!(
                    "namedprocess_namegroup_cpu_seconds_total{{groupname=\"db\",mode=\"user\"}} {shown}\n\
                     namedprocess_namegroup_cpu_seconds_total{{groupname=\"other\",mode=\"user\"}} 1e9\n"
                );
                let mut stream = stream;
                let _ = stream.read(&mut [0; 4096]);
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{metrics}",
                    metrics.len()
                );
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        let metrics = format!("http://{address}/metrics#db");
        let looks = || looks.try_iter().collect();
        let Measured { run, shown, pause_s } =
            measured(pid, &[&url, "--server-cpu-exporter", &metrics], looks);
        let counter = counter_of(&run);
        let expected = 0.2..1.0 + 3.0 * pause_s;
        let is_expected = expected.contains(&counter.resolution_s);
        assert!(is_expected, "{counter:?}, {pause_s} s");
        assert!(run.head.study.slice_seconds() >= 2.0 * counter.resolution_s);
        says(&shown, "the processes of the group db");

        let several = format!("http://{address}/metrics");
        let refused = |arguments: &[&str], words: &str| {
            let sandbox = Sandbox::new();
            let arguments = [&["quick", &url, "--time=2", "--out=run"], arguments].concat();
            sandbox.finish(&arguments).refuses(words);
            assert!(!sandbox.run().exists());
        };
        refused(
            &["--server-cpu-exporter", &several],
            "name one after a # … db, other",
        );
        refused(
            &["--server-cpu-exporter", "http://127.0.0.1:1/metrics"],
            "http://127.0.0.1:1/metrics … exit status … is the exporter running",
        );
        refused(
            &["--server-cpu-exporter", "http://127.0.0.1:1/metrics?token=1"],
            "what follows ? may be a key",
        );
        refused(
            &["--server-cpu-command", "echo 1e11"],
            "is no CPU time in seconds",
        );
        refused(
            &["--server-cpu-command", "echo much"],
            "must print one number … much",
        );
        refused(&["--server-cpu-command", "sh -c 'exit 3'"], "exit status: 3");
        refused(&["--server-cpu-command", "'"], "quotes");
    }
}
