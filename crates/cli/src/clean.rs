//! `ciphertax clean`.

use ciphertax_runner::{clean, made_on};
use ciphertax_supervise::say;

use crate::arguments::CleanArguments;
use crate::exit::{Exit, Stop};
use crate::{measuring, show};

pub(crate) fn run(arguments: &CleanArguments) -> Result<Exit, String> {
    let target = measuring::parse_target(&arguments.target)?;
    measuring::warn_if_unverified(&target);
    let stop = Stop::watch()?;
    stop.leaves(|left| left.made_on = Some(target.clone()));
    let what = made_on(&target);
    let text = match clean(&target, stop.flag()) {
        Ok(true) => format!("Removed {what} from {target}\n"),
        Ok(false) => format!("Nothing to remove: {target} does not have {what}\n"),
        Err(error) => {
            let Some(exit) = stop.caught() else {
                return Err(error.to_string());
            };
            say(format_args!(
                "ciphertax: stopped; {what} may still be on {target}"
            ));
            return Ok(exit);
        }
    };
    show::print(&text).map(|()| Exit::Done)
}
