//! `ciphertax gate`.

use ciphertax_explain::compare::Named;
use ciphertax_explain::gate::gate;
use ciphertax_model::Budget;
use ciphertax_report::gate::junit;
use ciphertax_report::{json, terminal};
use ciphertax_stats::BoundVerdict;

use crate::arguments::reading::GateArguments;
use crate::compare::{each_once, read, warn_of_order};
use crate::exit::Exit;
use crate::export::{can_be_written, ending, write_text};
use crate::show;

pub(crate) fn run(arguments: &GateArguments) -> Result<Exit, String> {
    can_be_written(&arguments.export)?;
    let paths: Vec<_> = std::iter::once(&arguments.run)
        .chain(&arguments.baseline)
        .collect();
    each_once(paths.iter().copied())?;
    let runs = read(&paths)?;
    let mut named = runs.iter().map(|(name, run)| Named { name, run });
    let (named, earlier) = (named.next().ok_or("no run was given")?, named.next());
    let mut budgets = named.run.head.study.budgets.clone();
    for text in &arguments.budget {
        budgets.push(Budget::parse(text, &named.run.head.study)?);
    }
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
