//! What the release before had and this one has not. The list is emptied with the next release.

/// Commands, options, keys of studies and their values by name, with what to use instead.
const REMOVED: [(&str, &str); 9] = [
    ("--verify", "give --set ycsb.verify=true"),
    ("gather_us", "it is poll_delay_us now"),
    (
        "history",
        "compare two or more runs with ciphertax compare; for a series, export each run with --export run.csv (see \
         docs/methodology-statistics.md)",
    ),
    ("gocryptfs-plaintextnames", "take gocryptfs"),
    (
        "link_by",
        "a link delays every packet now, also for an ordinary user in namespaces of their own (see docs/study-files.md)",
    ),
    ("shardingsphere_aes", "take aead_cbc_hmac"),
    (
        "speedscope",
        "take --format collapsed for CPU time, which speedscope opens too; stacks of waits are in the report alone",
    ),
    ("tidb", "give the URL of a TiDB of your own"),
    ("wireguard", "take the tunnel ssh, stunnel or haproxy"),
];

/// What to say of a name that was removed; `None` for every other one.
pub fn removed(name: &str) -> Option<String> {
    let (_, instead) = REMOVED.iter().find(|(removed, _)| *removed == name)?;
    Some(format!("{name} was removed: {instead}"))
}
