//! The way to a server in words: what listens in its place, and which members of one database the load goes to.

use ciphertax_model::ReadPreference;
use ciphertax_records::{MemberRecord, Run, ServerRecord};

/// `, through haproxy` where that listens in the server's place; nothing where the server itself does.
pub(crate) fn through_in_words(through: Option<&str>) -> String {
    through.map(|it| format!(", through {it}")).unwrap_or_default()
}

/// `, through haproxy` where that listens in its place; `; the load goes to h1:3306 (PRIMARY), beside h2:3306 (SECONDARY)` for several
/// servers that form one database.
/// Reads go where all cells prefer, or may go to any member; the first member takes the writes, and reads without a preference.
pub(crate) fn way_in_words(run: &Run, server: &ServerRecord) -> String {
    let study = &run.head.study;
    let prefer = |preference| {
        let mut cells = study.cells.iter();
        cells.all(|cell| study.read_preference(cell) == preference)
    };
    let is_first = |member: &MemberRecord| server.members.first() == Some(member);
    let is_loaded = |member: &&MemberRecord| match prefer(ReadPreference::Primary) {
        true => is_first(member),
        false => !prefer(ReadPreference::Secondary) || member.role == "SECONDARY",
    };
    let (loaded, others): (Vec<_>, Vec<_>) = server.members.iter().partition(is_loaded);
    let in_words = |members: Vec<&MemberRecord>| {
        let each = members
            .iter()
            .map(|member| format!("{} ({})", member.address, member.role));
        each.collect::<Vec<_>>().join(", ")
    };
    let through = through_in_words(server.through.as_deref());
    match (loaded.is_empty(), others.is_empty()) {
        (true, _) => through,
        (_, true) => format!("{through}; the load goes to {}", in_words(loaded)),
        _ => format!(
            "{through}; the load goes to {}, beside {}",
            in_words(loaded),
            in_words(others)
        ),
    }
}
