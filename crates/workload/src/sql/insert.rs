//! sysbench's `oltp_insert`: one row, as text, its id chosen by the server, so that connections and arms never meet.

use std::rc::Rc;

use ciphertax_engine::{Context, Failure, Operation, Result, Slot, Workload};
use ciphertax_reactor::Reactor;
use ciphertax_wire::Session;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::distribution::Picker;
use super::point_select::operation;
use super::session::{Query, SqlSession, Tables, Trouble};
use crate::digits::Digits;
use crate::driver::Access;

const BEGINNING: &str = "INSERT INTO sbtest";

/// `INSERT INTO sbtest… (id, k, c, pad) VALUES (0, …)`, or what asks for the next id elsewhere, with a table and a `k`
/// picked for each.
pub struct Insert<C> {
    /// How the arm reaches its server.
    pub access: C,
    /// What is inserted into.
    pub tables: Tables,
}

/// A session with the buffer of its statement.
pub struct Connection<S: SqlSession> {
    session: S,
    query: Query,
    /// What stands between the number of the table and the first value that is picked.
    columns: String,
    ks: Picker,
    random: Pcg64Mcg,
}

impl<C: Access<Session: SqlSession>> Workload for Insert<C> {
    type Connection = Connection<C::Session>;

    const KINDS: &'static [&'static str] = ciphertax_model::Workload::OltpInsert.descriptor().kinds;

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Connection> {
        let dataset = &self.tables.dataset;
        Ok(Connection {
            session: self.access.open(reactor, slot.index).await?,
            query: Query::new(BEGINNING),
            columns: columns(C::Session::DIALECT.next_identity),
            ks: Picker::new(dataset.distribution, 1..=dataset.table_size),
            random: Pcg64Mcg::seed_from_u64(slot.seed),
        })
    }

    async fn operate(&self, connection: &mut Self::Connection, _: &Context) -> Result<Operation> {
        let before = connection.session.traffic();
        let mut restarts = 0;
        loop {
            connection.write(self.tables.dataset.tables);
            let inserted = connection.session.run(&mut connection.query).await;
            match inserted.map_err(Trouble::from) {
                Ok(answer) if answer.affected_rows == 1 => break,
                Ok(answer) => {
                    let rows = answer.affected_rows;
                    return Err(Failure::Error(format!("an insert of one row inserted {rows}")));
                }
                Err(Trouble::Restart) => restarts += 1,
                Err(Trouble::Failed(failure)) => return Err(failure),
            }
        }
        Ok(Operation {
            restarts,
            ..operation(&connection.session, before, 1)
        })
    }
}

fn columns(next_identity: Option<&str>) -> String {
    match next_identity {
        Some(next) => format!(" (id, k, c, pad) VALUES ({next}, "),
        None => " (k, c, pad) VALUES (".to_owned(),
    }
}

impl<S: SqlSession> Connection<S> {
    fn write(&mut self, tables: u32) {
        let Self { query, random, .. } = self;
        query.truncate(BEGINNING.len());
        let table = random.random_range(1..=tables);
        query.push(Digits::of(table.into(), 0).as_bytes());
        query.push(self.columns.as_bytes());
        query.push(Digits::of(self.ks.pick(random).into(), 0).as_bytes());
        query.push(b", '");
        fill_groups(query.push_blank(C_LENGTH), random);
        query.push(b"', '");
        fill_groups(query.push_blank(PAD_LENGTH), random);
        query.push(b"')");
    }
}

/// Length of sysbench's column `c`: ten groups of eleven digits, parted by dashes.
pub(crate) const C_LENGTH: usize = length(10);
/// Length of sysbench's column `pad`: five such groups.
pub(crate) const PAD_LENGTH: usize = length(5);

const GROUP: usize = 11;
const GROUP_VALUES: u64 = 100_000_000_000;

const fn length(groups: usize) -> usize {
    groups * (GROUP + 1) - 1
}

/// Fills text with groups of random digits parted by dashes.
pub(crate) fn fill_groups(text: &mut [u8], random: &mut Pcg64Mcg) {
    for group in text.chunks_mut(GROUP + 1) {
        if let Some(dash) = group.get_mut(GROUP) {
            *dash = b'-';
        }
        let mut value = random.random_range(0..GROUP_VALUES);
        for digit in group.iter_mut().take(GROUP).rev() {
            *digit = b'0' + (value % 10) as u8;
            value /= 10;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn groups_are_eleven_random_digits_each() {
        assert_eq!((C_LENGTH, PAD_LENGTH), (119, 59));
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut texts = [[0; PAD_LENGTH]; 2];
        for text in &mut texts {
            fill_groups(text, &mut random);
            let text = std::str::from_utf8(text).unwrap();
            assert!(text.split('-').all(|group| group.len() == 11), "{text}");
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
            assert!(is_plain, "{text}");
        }
        assert_ne!(texts[0], texts[1]);
    }
}
