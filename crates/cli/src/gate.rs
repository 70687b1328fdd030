//! `ciphertax gate`.

use ciphertax_explain::compare::Named;
use ciphertax_explain::gate::gate;
use ciphertax_model::Budget;
use ciphertax_report::gate::junit;
use ciphertax_report::{json, terminal};
use ciphertax_stats::BoundVerdict;

use crate::arguments::compare::GateArguments;
use crate::compare::{each_once, read, warn_of_order};
use crate::exit::Exit;
use crate::export::{can_be_written, ending, write_text};
use crate::show;

pub(crate) fn run(arguments: &GateArguments) -> Result<Exit, String> {
    can_be_written(&arguments.export)?;
    each_once(std::iter::once(&arguments.run).chain(&arguments.baseline))?;
    let (name, run) = read(&arguments.run)?;
    let mut budgets = run.head.study.budgets.clone();
    for text in &arguments.budget {
        budgets.push(Budget::parse(text, &run.head.study)?);
    }
    let earlier = arguments.baseline.as_deref().map(read).transpose()?;
    let earlier = earlier.as_ref().map(|(name, run)| Named { name, run });
    let named = Named {
        name: &name,
        run: &run,
    };
    let held = gate(named, &budgets, earlier, arguments.margin)?;
    if let Some(earlier) = &earlier {
        warn_of_order(earlier, &named);
    }
    for path in &arguments.export {
        let text = match ending(path) == "xml" {
            true => junit(&held).map_err(|error| error.to_string())?,
            false => json::render(&held),
        };
        write_text(path, &text)?;
    }
    show::record(&held, arguments.json, |style| terminal::gate(&held, style))?;
    Ok(match held.verdict {
        // What was not measured any more may not have stayed within.
        BoundVerdict::Within if held.cut_off.is_some() || held.baseline_cut_off.is_some() => Exit::Partial,
        BoundVerdict::Within => Exit::Done,
        BoundVerdict::Over => Exit::OverBudget,
        BoundVerdict::CannotTell => Exit::CannotTell,
    })
}
