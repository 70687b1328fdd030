//! The sliders of the capacity tables: moved, they show the cores of the rate beside them.

use ciphertax_records::{CapacityRow, Rated, Run, Side};
use serde::Deserialize;

use crate::browser::{Broken, Browser};
use crate::figures::Number;

/// Moves every slider to three quarters of its way and reads the table.
const MOVE: &str = r#"
JSON.stringify([...document.querySelectorAll(".capacity")].map((table) => {
  const slider = table.querySelector("input");
  const hidden = slider.getClientRects().length === 0;
  slider.value = "750";
  slider.dispatchEvent(new Event("input"));
  return {
    of: table.dataset.of,
    hidden,
    rate: Number(table.querySelector(".rate data").value),
    rate_text: table.querySelector(".rate data").textContent,
    cores: [...table.querySelectorAll(".cores")].map((cores) => ({
      arm: cores.closest("tr").dataset.arm,
      side: cores.dataset.side,
      numbers: [...cores.querySelectorAll("data")].map(({ value, textContent: text }) => ({ value, scale: "", text, visible: true })),
    })),
  };
}));
"#;

#[derive(Deserialize)]
struct Table {
    of: Rated,
    hidden: bool,
    rate: f64,
    rate_text: String,
    cores: Vec<Cores>,
}

#[derive(Deserialize)]
struct Cores {
    arm: String,
    side: Side,
    numbers: Vec<Number>,
}

/// What is wrong with the sliders of a page.
pub(crate) fn faults(browser: &mut Browser, run: &Run) -> Result<Vec<String>, Broken> {
    let tables: Vec<Table> = browser.read(MOVE)?;
    Ok(tables.iter().flat_map(|table| table.faults(run)).collect())
}

impl Table {
    fn faults(&self, run: &Run) -> Vec<String> {
        let mut faults = Vec::new();
        if self.hidden {
            faults.push(format!("the slider of {} is hidden", self.of));
        }
        if self.rate_text.replace(',', "").parse() != Ok(self.rate) {
            faults.push(format!(
                "the rate of {} reads {:?}, not {}",
                self.of, self.rate_text, self.rate
            ));
        }
        for cores in &self.cores {
            let mut rows = run.results.capacity.iter();
            let is_it = |row: &&CapacityRow| {
                (&row.arm, row.side, row.of) == (&cores.arm, cores.side, self.of)
                    && self.rate > 2.0 * row.rate
            };
            let expected = rows.find(is_it).map_or([f64::NAN; 3], |row| {
                let extra = row.extra_cores;
                [extra.value, extra.low, extra.high].map(|cores| cores / row.rate * self.rate)
            });
            let shown: Vec<f64> = cores.numbers.iter().map(Number::value).collect();
            let close =
                |(shown, expected): (&f64, &f64)| (shown - expected).abs() <= 1e-9 * (1.0 + expected.abs());
            if shown.len() != 3 || !shown.iter().zip(&expected).all(close) {
                faults.push(format!(
                    "at {} {} per second the cores of {}, {}, read {shown:?}",
                    self.rate, self.of, cores.arm, cores.side
                ));
            }
            faults.extend(cores.numbers.iter().filter_map(Number::fault));
        }
        faults
    }
}
