//! `ciphertax report`.

use ciphertax_model::record::RunStatus;
use ciphertax_runner::RunFolder;

use crate::arguments::ReportArguments;
use crate::exit::Exit;
use crate::show;

pub(crate) fn run(arguments: &ReportArguments) -> Result<Exit, String> {
    let mut run = RunFolder::load(&arguments.run).map_err(|error| error.to_string())?;
    if run.status == RunStatus::Running {
        run.status = RunStatus::Partial {
            reason: "ciphertax was ended before the run was complete".into(),
        };
    }
    RunFolder::update(&arguments.run, &run).map_err(|error| error.to_string())?;
    show::everything(&run, &arguments.run, arguments.json)?;
    Ok(Exit::Done)
}
