//! The sliders of the capacity tables: moved, they show the cores of the rate beside them.

use ciphertax_records::{Rated, Run, Side};
use serde::Deserialize;

use crate::browser::{Broken, Browser};

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
      values: [...cores.querySelectorAll("data")].map((number) => Number(number.value)),
      texts: [...cores.querySelectorAll("data")].map((number) => number.textContent),
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
    values: Vec<f64>,
    texts: Vec<String>,
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
            let is_right = run
                .results
                .capacity
                .iter()
                .filter(|row| row.arm == cores.arm && row.side == cores.side && row.of == self.of)
                .any(|row| {
                    let moved = self.rate > 2.0 * row.rate;
                    let expected = [row.extra_cores.value, row.extra_cores.low, row.extra_cores.high]
                        .map(|cores| cores / row.rate * self.rate);
                    moved && cores.shows(expected)
                });
            if !is_right {
                faults.push(format!(
                    "at {} {} per second the cores of {}, {}, read {:?}",
                    self.rate, self.of, cores.arm, cores.side, cores.texts
                ));
            }
        }
        faults
    }
}

impl Cores {
    fn shows(&self, expected: [f64; 3]) -> bool {
        let close = |one: f64, other: f64, within: f64| (one - other).abs() <= within;
        self.values.len() == 3
            && self.texts.len() == 3
            && (0..3).all(|i| {
                let text = self.texts[i].replace('−', "-").replace(',', "");
                let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
                let last_place = 10_f64.powi(-i32::try_from(decimals).unwrap_or(i32::MAX));
                close(self.values[i], expected[i], 1e-9 + 1e-9 * expected[i].abs())
                    && text
                        .parse()
                        .is_ok_and(|shown| close(shown, expected[i], 0.5 * last_place * (1.0 + 1e-6)))
            })
    }
}
