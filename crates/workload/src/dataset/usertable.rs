//! YCSB's table, on any server: loaded in batches by several connections, taken up again, checked.

use std::cell::RefCell;
use std::ops::Range;

use ciphertax_engine::{Failure, Part};
use ciphertax_model::YcsbTable;

use super::mark::{DatasetError, Result};
use super::parallel;
use crate::ycsb::{KeySpace, Records};

/// Records beyond those of the table that are looked for at a time: more than one load generator has connections, of each of which one
/// number may have been left out.
const FOREIGN_AT_A_TIME: u64 = 10_000;
/// Records that are read back and compared byte for byte.
const SAMPLE: u32 = 200;

/// Makes of the table what is not there; what is there stays if it is right. `progress` hears the records that are
/// there, each time that it is more.
pub(crate) async fn load<L: Records>(
    loaders: &mut [L],
    table: &YcsbTable,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    loaders[0].create().await?;
    if loaders[0].count().await? > 0 {
        delete_foreign(&mut loaders[0], table).await?;
        let missing = missing(loaders, table).await?;
        let there = u64::from(table.record_count) - missing.iter().map(records).sum::<u64>();
        write(loaders, missing, there, progress).await?;
        if check(&mut loaders[0], table).await.is_ok() {
            return Ok(());
        }
        loaders[0].empty().await?;
    }
    write(loaders, batches(table), 0, progress).await?;
    check(&mut loaders[0], table).await
}

/// Writes a part of a table that is there. `progress` hears how many records it has written, each time that it is more.
pub(crate) async fn write_part<L: Records>(
    loaders: &mut [L],
    table: &YcsbTable,
    part: Part,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    write(loaders, part.own(batches(table)), 0, progress).await
}

/// Makes sure that the table holds what was written: has the server look at all of it, so that it is in memory, and
/// compares a sample byte for byte.
pub(crate) async fn check(loader: &mut impl Records, table: &YcsbTable) -> Result<()> {
    let wrong = |failure| match failure {
        Failure::Error(problem) => DatasetError::Wrong(problem),
        other => DatasetError::Failed(other),
    };
    let records = loader.look_at_all().await.map_err(wrong)?;
    let expected = table.record_count;
    if records != u64::from(expected) {
        return Err(DatasetError::Wrong(format!(
            "usertable has {records} records, expected {expected}"
        )));
    }
    for number in (0..expected).step_by(expected.div_ceil(SAMPLE) as usize) {
        loader.verify(number.into()).await.map_err(wrong)?;
    }
    Ok(())
}

/// Deletes what a run that was killed inserted, each of its load generators from another number on.
async fn delete_foreign(loader: &mut impl Records, table: &YcsbTable) -> Result<(), Failure> {
    let mut part = 0;
    while delete_from(loader, KeySpace::first_inserted(table, part)).await? {
        part += 1;
    }
    Ok(())
}

/// Deletes the records from this number on, as far as they are close together, and tells whether there were any.
async fn delete_from(loader: &mut impl Records, begin: u64) -> Result<bool, Failure> {
    let mut first = begin;
    while loader.delete_many(first..first + FOREIGN_AT_A_TIME).await? > 0 {
        first += FOREIGN_AT_A_TIME;
    }
    Ok(first > begin)
}

/// The batches that are not there as a whole.
async fn missing<L: Records>(loaders: &mut [L], table: &YcsbTable) -> Result<Vec<Range<u64>>> {
    if loaders[0].count().await? == u64::from(table.record_count) {
        return Ok(Vec::new());
    }
    let missing = RefCell::default();
    parallel::each(loaders, batches(table), async |loader, batch| {
        let there = loader.count_of(batch.clone()).await?;
        if there < records(&batch) {
            Vec::push(&mut missing.borrow_mut(), batch);
        }
        Ok(())
    })
    .await?;
    Ok(missing.into_inner())
}

/// Writes batches into a table of which so many records are `there`.
async fn write<L: Records>(
    loaders: &mut [L],
    batches: impl IntoIterator<Item = Range<u64>>,
    mut there: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    if there > 0 {
        progress(there);
    }
    let write = async |loader: &mut L, batch: Range<u64>| {
        insert(loader, batch.clone()).await?;
        Ok(records(&batch))
    };
    parallel::each_counted(loaders, batches, write, &mut |records| {
        there += records;
        progress(there);
    })
    .await
}

/// Inserts a batch in the place of whatever is there of it: what is left of it, or what a connection that was cut off a
/// moment ago has still written.
async fn insert(loader: &mut impl Records, batch: Range<u64>) -> Result<(), Failure> {
    match loader.insert_many(batch.clone()).await {
        Err(Failure::Error(_)) => {
            loader.delete_many(batch.clone()).await?;
            loader.insert_many(batch).await.map(drop)
        }
        inserted => inserted.map(drop),
    }
}

fn records(batch: &Range<u64>) -> u64 {
    batch.end - batch.start
}

fn batches(table: &YcsbTable) -> impl Iterator<Item = Range<u64>> + use<> {
    let records = u64::from(table.record_count);
    let batch = u64::from(table.batch_size);
    (0..records)
        .step_by(table.batch_size as usize)
        .map(move |first| first..records.min(first + batch))
}
