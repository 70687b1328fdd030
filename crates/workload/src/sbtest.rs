//! Rows as sysbench makes them.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// Groups of eleven digits in `c` and in `pad` (sysbench, `oltp_common.lua`).
const C_GROUPS: usize = 10;
const PAD_GROUPS: usize = 5;

/// The table, as sysbench creates it.
pub(crate) const CREATE: &str = "CREATE TABLE sbtest1 (\
    id INTEGER NOT NULL AUTO_INCREMENT, \
    k INTEGER DEFAULT '0' NOT NULL, \
    c CHAR(120) DEFAULT '' NOT NULL, \
    pad CHAR(60) DEFAULT '' NOT NULL, \
    PRIMARY KEY (id))";

/// Added after the rows, as sysbench does.
pub(crate) const CREATE_INDEX: &str = "CREATE INDEX k_1 ON sbtest1(k)";

/// One statement that inserts rows `first..=last` of a table of `rows`.
pub(crate) fn insert(first: u32, last: u32, rows: u32, random: &mut Pcg64Mcg) -> String {
    let mut sql = String::with_capacity(200 * (last - first + 1) as usize + 64);
    sql.push_str("INSERT INTO sbtest1(id, k, c, pad) VALUES");
    for id in first..=last {
        let k = random.random_range(1..=rows);
        let separator = if id == first { "" } else { "," };
        sql.push_str(&format!(
            "{separator}({id},{k},'{}','{}')",
            digits(C_GROUPS, random),
            digits(PAD_GROUPS, random)
        ));
    }
    sql
}

fn digits(groups: usize, random: &mut Pcg64Mcg) -> String {
    let group = |_| format!("{:011}", random.random_range(0..100_000_000_000_u64));
    (0..groups).map(group).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn rows_have_the_widths_of_the_columns() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        assert_eq!(digits(C_GROUPS, &mut random).len(), 119);
        assert_eq!(digits(PAD_GROUPS, &mut random).len(), 59);
        assert_eq!(insert(5, 7, 10, &mut random).matches('(').count(), 4);
    }
}
