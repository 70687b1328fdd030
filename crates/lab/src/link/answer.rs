//! What the process of a link answers while it runs.

use ciphertax_model::LinkKind;

use super::protocol::{Answer, Request};
use super::report::Tally;
use super::settings::WaySettings;

/// Answers a request to a link that runs; `set` changes its settings for what comes from now on.
pub(super) fn answer(
    request: Request,
    kind: LinkKind,
    tally: &Tally,
    set: impl FnOnce(WaySettings),
) -> Answer {
    match request {
        Request::Report => Answer::Report(tally.report(kind)),
        Request::Set(distances) => match WaySettings::try_from(&distances) {
            Ok(settings) => {
                set(settings);
                Answer::Set
            }
            Err(error) => Answer::Refused(error.to_string()),
        },
        Request::Start(_) | Request::StartRelay(..) => Answer::Refused("runs already".into()),
    }
}
