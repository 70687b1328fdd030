//! Rows per second that are loaded into pgbench's tables.

use std::time::Duration;

use ciphertax_bench::pgbench::Pgbench;
use ciphertax_bench::{PostgresqlGround, Repeats, Result, Table};
use ciphertax_model::Transport;
use ciphertax_stats::BalancedOrder;
use ciphertax_workload::dataset::SCHEMA;

use crate::{METHOD, TABLES};

/// The least rows per second, over those of pgbench.
const BAR: f64 = 1.0;

/// Has both load in turns.
pub(crate) fn table(ground: &mut PostgresqlGround, pgbench: &Pgbench, repeats: u32) -> Result<Table> {
    let login = ground.login(METHOD, Transport::Plain)?;
    let (mut ours, mut theirs) = (Repeats::default(), Repeats::default());
    for (repeat, order) in BalancedOrder::new(2, 1).take(repeats as usize).enumerate() {
        for index in order {
            // Each begins without tables, and without what the other left to be written.
            ground.ask(&format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE"))?;
            ground.ask("CHECKPOINT")?;
            if index == 0 {
                ours.push(rows_per_second(ground.load(METHOD, TABLES)?));
            } else {
                let user = &login.user;
                ground.ask(&format!("CREATE SCHEMA {SCHEMA} AUTHORIZATION {user}"))?;
                theirs.push(rows_per_second(pgbench.initialize(&login, TABLES.scale)?));
            }
        }
        eprintln!(
            "load: repeat {} of {repeats}: rows per second ciphertax/pgbench {:.2}",
            repeat + 1,
            ours.over(&theirs)
        );
    }
    ground.ask(&format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE"))?;
    let ratio = ours.over(&theirs);
    let mut table = Table::new(&[
        "tables",
        "rows per second, ciphertax / pgbench -i",
        "bar",
        "met",
        "ciphertax rows/s",
        "pgbench rows/s",
    ]);
    table.row([
        TABLES.to_string(),
        format!("{ratio:.2}"),
        format!("≥ {BAR:.1}"),
        if ratio.median() >= BAR { "yes" } else { "**no**" }.to_owned(),
        format!("{ours:.0}"),
        format!("{theirs:.0}"),
    ]);
    Ok(table)
}

fn rows_per_second(duration: Duration) -> f64 {
    TABLES.rows() as f64 / duration.as_secs_f64()
}
