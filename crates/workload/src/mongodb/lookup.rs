//! What short connections ask of MongoDB.

use ciphertax_engine::Failure;
use ciphertax_model::YcsbTable;
use ciphertax_wire::mongodb::Session;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::access::MongodbAccess;
use super::records::MongodbReader;
use crate::connect::Task;
use crate::ycsb::Key;
use crate::ycsb::records::is_there;

/// One record of YCSB's table, by its key, picked uniformly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindRecord(pub YcsbTable);

impl Task<MongodbAccess> for FindRecord {
    type State = MongodbReader;

    fn state(&self, access: &MongodbAccess) -> MongodbReader {
        MongodbReader::new(&self.0, access.read_mode())
    }

    async fn run(
        &self,
        reader: &mut MongodbReader,
        random: &mut Pcg64Mcg,
        session: &mut Session,
    ) -> Result<u64, Failure> {
        let key = Key::of(random.random_range(0..self.0.record_count).into());
        is_there(&key, reader.read(session, &key).await?)?;
        Ok(1)
    }
}
