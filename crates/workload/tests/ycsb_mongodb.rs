//! YCSB's table and workloads on MongoDB, and connections to it.

use ciphertax_wire::Session as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use ciphertax_lab::catalogue::MONGODB;
use ciphertax_model::workload::STALE_READS;
use ciphertax_model::*;
use ciphertax_wire::Address;
use ciphertax_wire::mongodb::bson::RawDocument;
use ciphertax_wire::mongodb::{ConnectOptions, Expectation, Login, Session};
use ciphertax_workload::connect::Task;
use ciphertax_workload::mongodb::{DATABASE, FindRecord, MongodbAccess, dataset};

use crate::common::*;

/// How long members may take to notice that there is no primary, and to elect one.
const ELECTION: Duration = Duration::from_secs(10);

#[test]
fn every_core_workload_runs_and_leaves_as_many_documents_as_it_found() {
    let Some(server) = loaded() else { return };
    core_workloads(
        |mix| store(&server, TABLE, mix.writes()),
        || documents(&server, "usertable"),
        |_| (),
    );
    run(async |reactor| dataset::check(reactor, &plain_mongodb(&server), &TABLE, None).await).unwrap();
}

#[test]
fn a_changed_byte_is_found_by_reads_that_compare_and_a_changed_length_by_all() {
    let Some(server) = loaded() else { return };
    let set = |bytes: usize| {
        let value = Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![b'x'; bytes],
        };
        update_all(&server, &rawdoc! { "$set": { "field7": value } });
    };
    let read = |verify| failure_of_reads(|table| store(&server, table, false), verify);
    assert_eq!(read(true), None);
    set(100);
    assert_changed(read(true), "other bytes in field7");
    assert_eq!(read(false), None);
    set(99);
    assert_changed(read(false), "99 bytes in field7");
    update_all(&server, &rawdoc! { "$unset": { "field0": "" } });
    assert_changed(read(false), "in the place of field0");
    ask(&server, &rawdoc! { "drop": "usertable", "$db": &*DATABASE });
    assert_changed(read(false), "is not there");
}

#[test]
fn an_interrupted_load_is_taken_up_and_what_is_wrong_is_made_anew() {
    let Some(server) = loaded() else { return };
    let delete = |key: &str| {
        let deletes = RawArrayBuf::from_iter([rawdoc! { "q": { "_id": key }, "limit": 1_i32 }]);
        rawdoc! { "delete": "usertable", "deletes": deletes, "$db": &*DATABASE }
    };
    let insert = |key: &str| {
        let documents = RawArrayBuf::from_iter([rawdoc! { "_id": key }]);
        rawdoc! { "insert": "usertable", "documents": documents, "$db": &*DATABASE }
    };
    for (damage, heard) in [
        (rawdoc! { "ping": 1_i32, "$db": &*DATABASE }, &[1050][..]),
        (delete("user6284781860667377211"), &[950, 1050]),
        (insert("another"), &[1050, 100]),
        (rawdoc! { "drop": "usertable", "$db": &*DATABASE }, &[100]),
    ] {
        ask(&server, &damage);
        let progress = load(&server, TABLE).unwrap();
        assert!(progress.starts_with(heard), "{damage:?}: {progress:?}");
        assert_eq!(progress.last(), Some(&1050), "{damage:?}");
        assert_eq!(documents(&server, "usertable"), 1050);
    }
}

#[test]
fn what_two_load_a_part_of_each_is_whole_and_what_one_did_not_is_made() {
    let records = u64::from(TABLE.record_count);
    for parts in [2, 1] {
        let Some(server) = server() else { return };
        let options = plain_mongodb(&server);
        let begin = || run(async |reactor| dataset::begin(reactor, &options, &TABLE).await).unwrap();
        assert!(begin());
        let mut written = 0;
        for index in 0..parts {
            let part = Part::new(index, 2).unwrap();
            let mut heard = Vec::new();
            run(async |reactor| {
                dataset::load_part(reactor, &options, &TABLE, part, &mut |count| heard.push(count)).await
            })
            .unwrap();
            assert!(heard.is_sorted() && heard[heard.len() - 1] < records, "{heard:?}");
            written += heard[heard.len() - 1];
        }
        assert_eq!(written == records, parts == 2, "{written}");
        assert!(!begin());
        let heard = load(&server, TABLE).unwrap();
        assert_eq!((heard[0], *heard.last().unwrap()), (written, records));
    }
}

#[test]
fn batches_fill_a_collection_of_their_own_anew_in_every_slice() {
    let Some(server) = loaded() else { return };
    let mut engine = engine(YcsbLoad::new(store(&server, TABLE, true), &TABLE));
    for _ in 0..2 {
        engine.prepare(0).unwrap().unwrap();
        let yielded = engine.slice(0, SLICE).unwrap();
        assert_eq!(yielded.failures, 0, "{:?}", yielded.first_failure);
        let batches = count_of(&yielded, "insert");
        assert_eq!(documents(&server, "usertable_load"), 100 * batches);
    }
    assert_eq!(documents(&server, "usertable"), 1050);
}

#[test]
fn connections_are_traced_and_find_a_document_or_do_nothing() {
    let Some(server) = loaded() else { return };
    traced(access(&server), FindRecord(TABLE), 1);
    traced(access(&server), Nothing, 0);
}

/// Connections that ask so many queries each.
fn traced<T: Task<MongodbAccess>>(access: MongodbAccess, task: T, queries: u64) {
    let yielded = slice(Connect { access, task }, SLICE);
    assert_eq!(yielded.failures, 0, "{:?}", yielded.first_failure);
    let count = count_of(&yielded, "connect");
    assert!(count > 0);
    assert_eq!(yielded.queries, queries * count);
    let asked = yielded
        .phases
        .iter()
        .find(|phase| phase.phase == Phase::FirstOperation);
    assert_eq!(asked.map_or(0, |phase| phase.count), queries * count);
    for phase in [Phase::Tcp, Phase::Preface, Phase::Close] {
        let mut phases = yielded.phases.iter();
        assert!(phases.any(|sample| sample.phase == phase && sample.count == count));
    }
    let sent: u64 = yielded.phases.iter().map(|phase| phase.bytes_sent).sum();
    assert_eq!(sent, yielded.bytes_sent);
}

#[test]
fn a_database_of_somebody_else_is_refused_and_left_as_it_is() {
    let Some(server) = server() else { return };
    let documents_of_others = RawArrayBuf::from_iter([rawdoc! { "_id": "precious" }]);
    ask(
        &server,
        &rawdoc! { "insert": "usertable", "documents": documents_of_others, "$db": &*DATABASE },
    );
    let refused = [
        load(&server, TABLE).map(|_| ()),
        with_session(&server, async |session| dataset::remove(session).await.map(drop)),
        with_session(&server, async |session| dataset::refuse_foreign(session).await),
    ];
    for outcome in refused {
        let is_refused = matches!(outcome, Err(DatasetError::NotOurs("database")));
        assert!(is_refused, "{outcome:?}");
    }
    assert_eq!(documents(&server, "usertable"), 1);
}

#[test]
fn what_an_interrupted_proof_left_is_nobody_elses() {
    let Some(server) = server() else { return };
    ask(
        &server,
        &rawdoc! { "insert": "ciphertax_proofs", "documents": [{ "by": "ciphertax" }], "$db": &*DATABASE },
    );
    with_session(&server, async |session| dataset::refuse_foreign(session).await).unwrap();
    let heard = load(&server, TABLE).unwrap();
    assert_eq!(heard.last(), Some(&TABLE.record_count.into()));
}

#[test]
fn what_was_made_can_be_removed_and_another_table_takes_its_place() {
    let Some(server) = loaded() else { return };
    let smaller = YcsbTable {
        record_count: 40,
        field_count: 1,
        field_length: 1,
        batch_size: 7,
        ..TABLE
    };
    assert_eq!(load(&server, smaller).unwrap().last(), Some(&40));
    for _ in 0..2 {
        with_session(&server, async |session| dataset::remove(session).await).unwrap();
        assert_eq!(documents(&server, "usertable"), 0);
    }
}

/// Measures with a replica set, which it returns; and anew with another where members elected a primary meanwhile, which they do
/// when the machine stands still for long. Operations may fail then.
fn unless_elected_anew(measure: impl Fn(&PrivateServer)) -> PrivateServer {
    let mut attempt = 1;
    loop {
        let server = started_set();
        let before = term(&server);
        match catch_unwind(AssertUnwindSafe(|| measure(&server))) {
            Ok(()) => return server,
            Err(fault) if attempt == 3 || !within(ELECTION, || term(&server) > before) => {
                resume_unwind(fault)
            }
            Err(_) => attempt += 1,
        }
    }
}

/// A replica set of three members.
fn started_set() -> PrivateServer {
    let set = ReplicaSet {
        members: 3,
        read_only_member: false,
    };
    PrivateServer::builder(&MONGODB)
        .without_tls()
        .access_control(false)
        .replica_set(set)
        .start()
        .unwrap()
}

/// Gives all members the table.
fn load_members(server: &PrivateServer) {
    let access = set_access(server, ReadPreference::Primary);
    run(async |reactor| {
        let primary = access.primary(reactor).await.unwrap();
        dataset::prepare(reactor, &primary, &TABLE, None, &mut |_| ()).await?;
        let (mut session, _) = Session::connect(reactor, &primary).await?;
        dataset::wait_for_members(&mut session, 3).await
    })
    .unwrap();
}

fn set_access(server: &PrivateServer, read_preference: ReadPreference) -> MongodbAccess {
    MongodbAccess {
        seeds: seeds(server),
        routes: Vec::new(),
        read_preference,
        ..access(server)
    }
}

fn ycsb_of_set(
    server: &PrivateServer,
    mix: YcsbMix,
    read_preference: ReadPreference,
    keys: &Arc<KeySpace>,
) -> Ycsb<MongodbTable> {
    let store = MongodbTable {
        access: set_access(server, read_preference),
        ..store(server, TABLE, true)
    };
    Ycsb::new(store, &TABLE, mix, Arc::clone(keys))
}

/// Of each member whether it is the primary, and how many queries and how many writes it was asked for by clients.
fn asked(server: &PrivateServer) -> Vec<(bool, [u64; 2])> {
    let ask = |member: Address| {
        let status = ask_member(member, &rawdoc! { "serverStatus": 1_i32, "$db": "admin" });
        let counters = status.get_document("opcounters").unwrap();
        let count = |name| match counters.get(name).unwrap().unwrap() {
            RawBsonRef::Int64(count) => count as u64,
            other => other.as_i32().unwrap() as u64,
        };
        let is_primary = status
            .get_document("repl")
            .unwrap()
            .get_bool("isWritablePrimary")
            .unwrap();
        (is_primary, [count("query"), count("update") + count("insert")])
    };
    seeds(server).into_iter().map(ask).collect()
}

/// The highest number of an election that any member knows.
fn term(server: &PrivateServer) -> i64 {
    let of_member = |member: Address| {
        let status = ask_member(member, &rawdoc! { "replSetGetStatus": 1_i32, "$db": "admin" });
        status.get_i64("term").unwrap()
    };
    seeds(server).into_iter().map(of_member).max().unwrap()
}

fn ask_member(member: Address, command: &RawDocument) -> RawDocumentBuf {
    let options = ConnectOptions::new(member.host, member.port, Login::None);
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
        session.command(command).await.unwrap()
    })
}

/// Tells a secondary to hold back what the primary writes (`fsync` with a lock), or to catch up.
fn tell_a_secondary(server: &PrivateServer, command: &RawDocument) {
    run(async |reactor| {
        let access = set_access(server, ReadPreference::Secondary);
        let mut session = access.open(reactor, 0).await.unwrap();
        session.command(command).await.unwrap();
    });
}

/// A server, where one is available.
pub(crate) fn server() -> Option<Lease> {
    fetched(&MONGODB).map(|_| lease(&MONGODB))
}

/// The same with the table.
fn loaded() -> Option<Lease> {
    let server = server()?;
    assert_eq!(load(&server, TABLE).unwrap().len(), 11);
    Some(server)
}

/// Loads the table, and returns what was heard of the progress.
fn load(server: &PrivateServer, table: YcsbTable) -> Result<Vec<u64>, DatasetError> {
    let mut heard = Vec::new();
    let options = plain_mongodb(server);
    run(async |reactor| {
        dataset::prepare(reactor, &options, &table, None, &mut |count| heard.push(count)).await
    })?;
    Ok(heard)
}

fn store(server: &PrivateServer, table: YcsbTable, writes: bool) -> MongodbTable {
    MongodbTable {
        access: access(server),
        table,
        writes,
        fields: None,
    }
}

pub(crate) fn access(server: &PrivateServer) -> MongodbAccess {
    MongodbAccess {
        options: plain_mongodb(server),
        seeds: Vec::new(),
        routes: Vec::new(),
        expectation: Expectation::new(Transport::Plain),
        connections: 1,
        read_preference: ReadPreference::Primary,
    }
}

fn seeds(server: &PrivateServer) -> Vec<Address> {
    let address = |member: std::net::SocketAddr| Address {
        host: member.ip().to_string(),
        port: member.port(),
    };
    server.addresses().into_iter().map(address).collect()
}

fn update_all(server: &PrivateServer, change: &RawDocument) {
    let updates = RawArrayBuf::from_iter([rawdoc! { "q": {}, "u": change.to_owned(), "multi": true }]);
    ask(
        server,
        &rawdoc! { "update": "usertable", "updates": updates, "$db": &*DATABASE },
    );
}

pub(crate) fn documents(server: &PrivateServer, collection: &str) -> u64 {
    let counted = ask(
        server,
        &rawdoc! { "count": collection, "query": { "_id": { "$exists": true } }, "$db": &*DATABASE },
    );
    counted.get_i32("n").unwrap() as u64
}

fn ask(server: &PrivateServer, command: &RawDocument) -> RawDocumentBuf {
    with_session(server, async |session| session.command(command).await.unwrap())
}

fn with_session<T>(server: &PrivateServer, task: impl AsyncFnOnce(&mut Session) -> T) -> T {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &plain_mongodb(server)).await.unwrap();
        task(&mut session).await
    })
}

fn engine<W: ciphertax_engine::Workload>(workload: W) -> Engine {
    crate::common::engine(vec![workload])
}

mod test_all {
    use super::*;

    #[test]
    fn a_failover_breaks_connections_and_the_next_ones_find_the_new_primary() {
        let Some(_) = fetched(&MONGODB) else { return };
        let server = unless_elected_anew(load_members);
        let keys = Arc::new(KeySpace::new(&TABLE));
        let mix = Workload::YcsbA.ycsb_mix().unwrap();
        for read_preference in [ReadPreference::Primary, ReadPreference::Secondary] {
            let mut engine = engine(ycsb_of_set(&server, mix, read_preference, &keys));
            for _ in 0..2 {
                // The first slice after a failover may find its connections broken or their server no primary any more.
                let works = (0..10).any(|_| {
                    engine.prepare(0).unwrap().is_ok() && engine.slice(0, SLICE).unwrap().failures == 0
                });
                assert!(works, "no slice without a failure");
                server.step_down().unwrap();
            }
        }
    }

    #[test]
    fn reads_go_to_the_secondaries_and_writes_to_the_primary() {
        let Some(_) = fetched(&MONGODB) else { return };
        unless_elected_anew(|server| {
            load_members(server);
            let keys = Arc::new(KeySpace::new(&TABLE));
            let mix = YcsbMix {
                read: 0.5,
                update: 0.2,
                insert: 0.1,
                read_modify_write: 0.2,
                ..YcsbMix::default()
            };
            let mut engine = engine_of(
                vec![ycsb_of_set(server, mix, ReadPreference::Secondary, &keys)],
                1000,
            );
            engine.prepare(0).unwrap().unwrap();
            let before = asked(server);
            let yielded = engine.slice(0, SLICE).unwrap();
            assert_eq!(yielded.failures, 0, "{:?}", yielded.first_failure);
            let asked = asked(server)
                .into_iter()
                .zip(before)
                .map(|((is_primary, after), (_, before))| {
                    let risen = [0, 1].map(|kind| after[kind] - before[kind]);
                    (is_primary, risen)
                });
            let count = |kind| count_of(&yielded, kind);
            let reads = count("read") + count("read_modify_write");
            let writes = count("update") + count("insert") + count("read_modify_write");
            // Members ask each other a little too.
            let (mut at_secondaries, mut at_primary) = (0, 0);
            for (is_primary, [queries, written]) in asked {
                match is_primary {
                    true => {
                        at_primary += queries;
                        assert!(written >= writes, "{written} of {writes}");
                    }
                    false => {
                        at_secondaries += queries;
                        let are_primarys = queries >= reads / 4 && written == 0;
                        assert!(are_primarys, "{queries} and {written} of {reads}");
                    }
                }
            }
            let are_secondarys = writes > 0 && reads > 100 && at_secondaries >= reads;
            assert!(are_secondarys, "{at_secondaries} of {reads}");
            assert!(at_primary < reads / 4, "{at_primary} of {reads}");
        });
    }

    #[test]
    fn what_a_secondary_does_not_have_yet_is_a_stale_read_and_no_failure() {
        let Some(_) = fetched(&MONGODB) else { return };
        unless_elected_anew(|server| {
            load_members(server);
            let keys = Arc::new(KeySpace::new(&TABLE));
            tell_a_secondary(server, &rawdoc! { "fsync": 1_i32, "lock": true, "$db": "admin" });
            let mix = YcsbMix {
                read: 0.5,
                scan: 0.2,
                insert: 0.3,
                distribution: RequestDistribution::Latest,
                ..YcsbMix::default()
            };
            let stale_reads = |preference| {
                let mut engine = engine(ycsb_of_set(server, mix, preference, &keys));
                engine.prepare(0).unwrap().unwrap();
                let yielded = engine.slice(0, 2 * SLICE).unwrap();
                assert_eq!(yielded.failures, 0, "{:?}", yielded.first_failure);
                let [stale] = yielded.counts_of(STALE_READS);
                assert!(stale <= count_of(&yielded, "read") + count_of(&yielded, "scan"));
                stale
            };
            // Either secondary may be asked, and what is asked for may be older than the lock.
            assert!((0..10).any(|_| stale_reads(ReadPreference::Secondary) > 0));
            assert_eq!(stale_reads(ReadPreference::Primary), 0);
            // A record that was loaded is on every member.
            tell_a_secondary(server, &rawdoc! { "fsyncUnlock": 1_i32, "$db": "admin" });
            run(async |reactor| {
                let access = set_access(server, ReadPreference::Primary);
                let mut session = access.open(reactor, 0).await.unwrap();
                let drop = rawdoc! { "drop": "usertable", "writeConcern": { "w": 3_i32 }, "$db": &*DATABASE };
                session.command(&drop).await.unwrap();
            });
            let only_reads = YcsbMix {
                read: 1.0,
                ..YcsbMix::default()
            };
            let mut engine = engine(ycsb_of_set(server, only_reads, ReadPreference::Secondary, &keys));
            engine.prepare(0).unwrap().unwrap();
            let failure = engine.slice(0, SLICE).unwrap().first_failure;
            assert!(
                matches!(&failure, Some(Failure::Error(problem)) if problem.contains("is not there")),
                "{failure:?}"
            );
        });
    }
}
