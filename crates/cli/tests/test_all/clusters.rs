//! Clusters through the whole command, on real servers: what travels between their nodes, and whose CPU time it is.

use crate::common::*;

const ARMS: &str = r#"
arm = [{ name = "plain", transport = "plain" }, { name = "both", transport = "tls1.3", cluster_tls = true }]
"#;

#[test]
fn galera_is_measured_with_all_its_nodes() {
    nodes_are_measured("mariadb");
}

#[test]
fn group_replication_is_measured_with_all_its_nodes() {
    nodes_are_measured("mysql");
}

fn nodes_are_measured(server: &str) {
    if fetched(catalogue::find(server).unwrap()).is_none() || !may_look() {
        return;
    }
    let cells = r#"
cell = [
    { name = "reads", workload = "oltp_point_select", load = { connections = 2 } },
    { name = "writes", workload = "oltp_insert", load = { connections = 2 } },
    { name = "history", workload = "pgbench_tpcb_like", load = { connections = 2 } },
]
"#;
    let head = format!("server = \"{server}\"\nnodes = 3\ndataset = {{ table_size = 1000 }}");
    let samples = of_three(&head, cells);
    let cpu_of = |cell: &str| {
        let of_cell = samples
            .iter()
            .filter(|sample| sample.is_valid() && sample.slice.cell == cell);
        let each = of_cell
            .map(cpu_of_each)
            .reduce(|all, each| all.iter().zip(each).map(|(a, b)| a + b).collect());
        let each = each.unwrap();
        (each[0] as f64 / each.iter().sum::<u64>() as f64, each)
    };
    // Nobody else is told of a read.
    let (share, each) = cpu_of("reads");
    assert!(share > 0.8, "{each:?}");
    // Of a write all are, and the others have no client to talk to.
    let (share, each) = cpu_of("writes");
    assert!(share < 0.95 && each.iter().all(|cpu| *cpu > 0), "{each:?}");
}

#[test]
fn a_commit_takes_as_much_longer_as_the_nodes_are_apart() {
    if fetched(&MARIADB).is_none() || !may_look() {
        return;
    }
    let cell = |name: &str, rtt_ms: u32| {
        format!(
            "[[cell]]\nname = \"{name}\"\nworkload = \"oltp_insert\"\nload = {{ connections = 1 }}\nnode_link = {{ rtt_ms = \
             {rtt_ms} }}\n"
        )
    };
    let cells = cell("near", 0) + &cell("far", 20);
    let head = "nodes = 3\ndataset = { table_size = 1000 }";
    let (run, samples) = measured(head, &cells);
    let mean_ms = |cell: &str| {
        let of_cell = |sample: &&Sample| sample.is_valid() && sample.slice.cell == cell;
        let slices: Vec<&Sample> = samples.iter().filter(of_cell).collect();
        let time_ns: u64 = slices.iter().map(|sample| sample.load.duration_ns).sum();
        let commits = slices.iter().flat_map(|sample| &sample.load.operations);
        time_ns as f64 / 1e6 / commits.map(|operation| operation.count).sum::<u64>() as f64
    };
    // Galera's commits take one and a half round trips, whatever it does beside.
    let more = mean_ms("far") - mean_ms("near");
    assert!((29.0..38.0).contains(&more), "{more} ms");
    let link = run.head.servers[0].link.as_ref().unwrap();
    let apart: Vec<f64> = link.node_distances.iter().map(|link| link.rtt_ms).collect();
    assert_eq!((apart, link.distances.len()), (vec![0.0, 20.0], 0));
}

#[test]
fn a_replica_set_is_measured_with_all_its_members() {
    if fetched(&MONGODB).is_none() || !may_look() {
        return;
    }
    let cells = r#"
cell = [{ name = "writes", workload = "ycsb_a", load = { connections = 2 } }]
"#;
    let head = "server = \"mongodb\"\nreplica_set = { members = 3 }\nycsb = { record_count = 1000 }";
    of_three(head, cells);
}

#[test]
fn what_servers_of_ones_own_tell_each_other_is_not_ciphertaxs_to_set() {
    let sandbox = sandbox("nodes = 3", "");
    let url = "mysql://root@127.0.0.1:1/";
    let finished = Running::start(sandbox.command(&["run", "cluster.toml", url])).finish_within(PROMPT);
    finished.refuses("what the servers of the target tell each other is set there; leave cluster_tls out");
}

#[test]
fn a_cluster_of_ones_own_is_measured_by_one_at_a_time() {
    let Some(_) = fetched(&MARIADB) else { return };
    let server = OwnServer::start_with(|builder| builder.nodes(3));
    let target = server.url_with(server.password());
    let before = server.schemas();
    let sandbox = Sandbox::new();
    let mut running = sandbox.start(&["quick", &target, "--time", "20", "--out", "first"]);
    running.measures();
    let finished = sandbox.finish(&["quick", &target, "--time", "2", "--out", "second"]);
    finished.refuses("another ciphertax measures it … wait for its end");
    running.interrupt();
    sandbox
        .finish(&["quick", &target, "--time", "2", "--out", "third"])
        .measured();
    assert_eq!(server.schemas(), before);
}

#[test]
fn nodes_of_galera_named_in_one_url_are_measured_together() {
    let Some(_) = fetched(&MARIADB) else { return };
    let server = OwnServer::start_with(|builder| builder.nodes(3));
    let nodes: Vec<String> = server.nodes().iter().rev().map(ToString::to_string).collect();
    // Nobody listens on port 1.
    let run = measured_by_url(&server, &format!("{},127.0.0.1:1", nodes.join(",")));
    let synced = nodes
        .iter()
        .map(|node| (node.clone(), "Galera, Synced".to_owned()));
    let silent = ("127.0.0.1:1".to_owned(), "no answer".to_owned());
    let expected: Vec<_> = synced.chain([silent]).collect();
    assert_eq!(members(&run), expected);
}

#[test]
fn of_a_replication_group_named_in_one_url_the_primary_is_measured() {
    let Some(_) = fetched(&MYSQL) else { return };
    let server = OwnServer::start_of(&MYSQL, |builder| builder.nodes(3));
    let [primary, others @ ..] = &server.nodes()[..] else {
        panic!()
    };
    let named = |address: &SocketAddr| address.to_string();
    let run = measured_by_url(
        &server,
        &format!(
            "{},{primary}",
            others.iter().map(named).collect::<Vec<_>>().join(",")
        ),
    );
    let secondaries = others
        .iter()
        .map(|address| (named(address), "group replication, SECONDARY".to_owned()));
    let expected: Vec<_> = [(named(primary), "group replication, PRIMARY".to_owned())]
        .into_iter()
        .chain(secondaries)
        .collect();
    assert_eq!(members(&run), expected);
    let secondaries_alone = format!("{},{}", others[0], others[1]);
    let target = url_of(&server, &secondaries_alone);
    let finished = Sandbox::new().finish(&["quick", &target, "--time", "2", "--out", "run"]);
    finished.refuses("none of its servers takes writes … group replication, SECONDARY");
}

#[test]
fn two_databases_in_one_url_are_refused() {
    let [first, second] = [OwnServer::start(), OwnServer::start()];
    let hosts = format!("{},{}", first.nodes()[0], second.nodes()[0]);
    let password = first.password();
    for server in [&first, &second] {
        server.query(&format!("CREATE USER twin@'%' IDENTIFIED BY '{password}'"));
    }
    let target = format!("mysql://twin:{password}@{hosts}/");
    let finished = Sandbox::new().finish(&["quick", &target, "--time", "2", "--out", "run"]);
    finished.refuses("both take writes and do not say that they are one database … name the one");
}

fn url_of(server: &OwnServer, hosts: &str) -> String {
    format!("mysql://{}:{}@{hosts}/", server.user(), server.password())
}

/// Measures reads on the nodes at these addresses, of which the report says what they are and whose CPU time is told.
fn measured_by_url(server: &OwnServer, hosts: &str) -> Run {
    let sandbox = Sandbox::new();
    let finished = sandbox.finish(&["quick", &url_of(server, hosts), "--time", "9", "--out", "run"]);
    finished.measured();
    let run = record(&sandbox.run());
    no_slice_failed(&run);
    let [own] = &run.head.servers[..] else {
        panic!("{:?}", run.head.servers)
    };
    let first = &own.members[0];
    assert!(own.same_host && own.cpu_unread.is_none(), "{own:?}");
    let sentence = format!("the load goes to {} ({})", first.address, first.role);
    sandbox.finish(&["report", "run", "--full"]).shows(&sentence);
    // Of all slices together: of a single short one, what the others do for themselves was a quarter.
    let samples = samples(&sandbox.run());
    let of_each: Vec<Vec<u64>> = samples
        .iter()
        .filter(|sample| sample.is_valid())
        .map(cpu_of_each)
        .collect();
    assert!(of_each.iter().all(|each| each.len() == 3), "{of_each:?}");
    let of_first: u64 = of_each.iter().map(|each| each[0]).sum();
    let of_all: u64 = of_each.iter().flatten().sum();
    assert!(of_first as f64 > 0.9 * of_all as f64, "{of_each:?}");
    sandbox.expect_nothing_left();
    run
}

fn members(run: &Run) -> Vec<(String, String)> {
    let members = run.head.servers[0].members.iter();
    members
        .map(|member| (member.address.clone(), member.role.clone()))
        .collect()
}

const PROMPT: Duration = Duration::from_secs(20);

fn may_look() -> bool {
    if !is_root() {
        not_tested("looking between servers needs root");
    }
    is_root()
}

fn sandbox(head: &str, cells: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let cells = match cells {
        "" => "[[cell]]\nname = \"c\"\nworkload = \"connect\"\nload = { connections = 1 }\n",
        cells => cells,
    };
    let study = format!(
        "name = \"cluster\"\nquestion = \"What does TLS between servers cost?\"\ntime_s = 8\nslice_s = 0.3\nprofile = \"off\"\n\
         {head}\n{ARMS}\n{cells}"
    );
    fs::write(sandbox.work().join("cluster.toml"), study).unwrap();
    sandbox
}

fn of_three(head: &str, cells: &str) -> Vec<Sample> {
    measured(head, cells).1
}

/// Every arm is proved between its three servers, and their CPU times make up the server's.
fn measured(head: &str, cells: &str) -> (Run, Vec<Sample>) {
    let sandbox = sandbox(head, cells);
    let mut command = sandbox.command(&["run", "cluster.toml", "--seed", "3", "--out", "run"]);
    command.env("XDG_CACHE_HOME", cache());
    let finished = Running::start(command).finish_within(Duration::from_secs(240));
    finished.measured();
    let (run, samples) = (record(&sandbox.run()), samples(&sandbox.run()));
    no_slice_failed(&run);
    sandbox.expect_nothing_left();
    are_proved(&run);
    make_up_the_servers(&samples);
    (run, samples)
}

fn cpu_of_each(sample: &Sample) -> Vec<u64> {
    let each = sample.server.server_cpu_of_each_ns.iter();
    each.map(|cpu| cpu.unwrap()).collect()
}

fn are_proved(run: &Run) {
    for arm in &run.head.arms {
        let claim = match arm.name.as_str() {
            "both" => "a row does not travel in plaintext between the servers",
            _ => "a row travels in plaintext between the servers",
        };
        assert!(!arm.sessions.is_empty());
        for session in &arm.sessions {
            let is_it =
                |proof: &&ciphertax_base::Proof| proof.witness == Witness::Wire && proof.claim == claim;
            let holds = session.proofs.iter().any(|proof| is_it(&proof));
            assert!(holds, "{}: {:?}", arm.name, session.proofs);
        }
    }
    let between = run
        .head
        .servers
        .iter()
        .filter(|server| server.name.contains("TLS between its servers"));
    assert_eq!(between.count(), 1);
}

fn make_up_the_servers(samples: &[Sample]) {
    let valid: Vec<&Sample> = samples.iter().filter(|sample| sample.is_valid()).collect();
    assert!(!valid.is_empty());
    for sample in valid {
        let each = cpu_of_each(sample);
        assert_eq!(each.len(), 3);
        let sum = each.iter().sum::<u64>();
        assert_eq!(sum, sample.server.server_cpu.unwrap().total_ns);
    }
}
