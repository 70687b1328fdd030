//! Numbers as a reader wants them: three significant digits, units that fit, a real minus sign. Sentences have fewer digits:
//! [`rounded`].

pub mod rounded;

use std::fmt::Write;

use crate::interval::Interval;

/// A number that was not measured.
pub const ABSENT: &str = "–";

/// A fraction as a signed percentage: `0.1234` is `+12.3 %`; what percents say little of as a factor: `×2,302`, `1/250`.
pub fn change(fraction: f64) -> String {
    if !fraction.is_finite() {
        return ABSENT.into();
    }
    match as_factor(fraction, fraction) {
        Some(factor) if fraction > 0.0 => format!("×{factor}"),
        Some(factor) => factor,
        None => signed_percent(fraction),
    }
}

/// `+12.3 %`
fn signed_percent(fraction: f64) -> String {
    let digits = fixed(fraction * 100.0, percent_decimals(fraction));
    let sign = if fraction > 0.0 && digits.chars().any(|c| ('1'..='9').contains(&c)) {
        "+"
    } else {
        ""
    };
    format!("{sign}{digits} %")
}

/// A change from which on it is a factor in tables: a hundred times as much.
const A_HUNDREDFOLD: f64 = 99.0;
/// A change down to which it is a fraction: a two-hundredth.
const A_TWO_HUNDREDTH: f64 = -0.995;

/// A factor beyond this says only that nothing is known.
const A_MILLION: f64 = 1e6;

/// A bound of a change, or the change itself, as a factor; `None` where percents are easier to read.
fn as_factor(bound: f64, change: f64) -> Option<String> {
    factor_from(A_HUNDREDFOLD, bound, change)
}

/// The same with the change from which on it is a factor.
fn factor_from(least: f64, bound: f64, change: f64) -> Option<String> {
    let factor = (1.0 + bound).max(0.0);
    match change {
        change if change >= least => Some(match factor > A_MILLION {
            true => format!("{} and more", significant(A_MILLION)),
            false => significant(factor),
        }),
        change if change > -1.0 && change <= A_TWO_HUNDREDTH => Some(match factor {
            0.0 => "0".into(),
            factor if factor >= 1.0 => format!("×{}", significant(factor)),
            factor => format!("1/{}", significant(1.0 / factor)),
        }),
        _ => None,
    }
}

/// A bound beyond this, as a fraction, says only that nothing is known: a thousand times the baseline.
const BEYOND_REASON: f64 = 1_000.0;

/// One bound of the interval of a change, with the decimals of the change itself and no percent sign.
pub fn change_bound(bound: f64, change: f64) -> String {
    if let Some(factor) = as_factor(bound, change) {
        return factor;
    }
    if bound > BEYOND_REASON {
        return format!("> {}", fixed(BEYOND_REASON * 100.0, 0));
    }
    fixed(bound * 100.0, percent_decimals(change))
}

/// The interval of a change: `[11.1, 13.5]`, in percent.
pub fn change_interval(Interval { value, low, high }: Interval) -> String {
    format!("[{}, {}]", change_bound(low, value), change_bound(high, value))
}

/// A change with its interval: `+12.3 % [11.1, 13.5]`.
pub fn change_with_interval(fraction: Interval) -> String {
    format!("{} {}", change(fraction.value), change_interval(fraction))
}

/// A fraction as an unsigned percentage, for budgets, margins and shares: `0.05` is `5 %`.
pub fn share(fraction: f64) -> String {
    let percent = fraction * 100.0;
    let decimals = usize::from((percent - percent.round()).abs() > 1e-9);
    format!("{} %", fixed(percent, decimals))
}

/// A measured fraction as an unsigned percentage with the decimals of a change: `0.0283` is `2.8 %`.
pub fn share_of(fraction: f64) -> String {
    signed_percent(fraction).trim_start_matches('+').to_owned()
}

/// A value in the unit its record states.
pub fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "us" | "us/op" => microseconds(value),
        "op/s" => scaled(value, &RATES),
        "bytes/op" => bytes(value),
        "instructions/op" | "cycles/op" => scaled(value, &COUNTS).trim_end().to_owned(),
        other => format!("{} {other}", significant(value)),
    }
}

/// A difference in the unit its record states, with its bounds in the unit that the difference takes: `+1.08 µs`,
/// `0.97`, `1.19`.
pub fn difference(Interval { value, low, high }: Interval, unit: &str) -> Difference {
    let units: &[(f64, &'static str)] = match unit {
        "us" | "us/op" => &TIMES,
        "op/s" => &RATES,
        "bytes/op" => &BYTES,
        "instructions/op" | "cycles/op" => &COUNTS,
        _ => &[(1.0, "")],
    };
    let (size, name) = filled(value, units);
    let decimals = decimals(value / size);
    let [low, high] = [low, high].map(|bound| fixed(bound / size, decimals));
    let text = format!("{} {name}", fixed(value / size, decimals));
    let sign = if value > 0.0 && text.chars().any(|c| ('1'..='9').contains(&c)) {
        "+"
    } else {
        ""
    };
    Difference {
        value: format!("{sign}{}", text.trim_end()),
        low,
        high,
        unit: name,
    }
}

/// A difference of which no interval is known: `+1.08 µs`.
pub fn more(value: f64, unit: &str) -> String {
    difference(Interval::around(value, 0.0), unit).value
}

/// A difference and the bounds of its interval as text, all in the same unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The difference, signed, with its unit.
    pub value: String,
    /// Lower bound of its interval, without the unit.
    pub low: String,
    /// Upper bound, likewise.
    pub high: String,
    /// The unit of all three.
    pub unit: &'static str,
}

/// A time given in microseconds.
pub fn microseconds(value: f64) -> String {
    scaled(value, &TIMES)
}

/// A number of bytes, in decimal multiples.
pub fn bytes(value: f64) -> String {
    if value.abs() < 999.5 {
        return format!("{} B", plain(value));
    }
    scaled(value, &BYTES)
}

/// A span of time given in seconds, for people who wait.
pub fn span(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..90 => format!("{whole} s"),
        90..600 if !whole.is_multiple_of(60) => format!("{} min {} s", whole / 60, whole % 60),
        90..5_400 => format!("{:.0} min", seconds / 60.0),
        5_400..172_800 => format!("{:.1} h", seconds / 3_600.0),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}

/// A number rounded to a whole one, with thousands separated.
pub fn count(value: f64) -> String {
    fixed(value, 0)
}

/// Three significant digits, but no decimals that are zero.
pub fn plain(value: f64) -> String {
    without_zeros(significant(value))
}

/// Three significant digits also of a small number, at most five decimals, but none that are zero.
pub fn fine(value: f64) -> String {
    let magnitude = value.abs().max(1e-9).log10().floor() as i32;
    without_zeros(fixed(value, usize::try_from(2 - magnitude).unwrap_or(0).min(5)))
}

/// A fraction as a percentage, which near to all and to nothing has three decimals: `0.99987` is `99.987 %`.
pub fn fine_share(fraction: f64) -> String {
    let decimals = if (0.01..0.99).contains(&fraction) { 1 } else { 3 };
    format!("{} %", without_zeros(fixed(fraction * 100.0, decimals)))
}

/// A number of CPU cores and its interval, all with the decimals that give the larger of the number and its
/// uncertainty two significant digits.
pub fn cores(Interval { value, low, high }: Interval) -> [String; 3] {
    let magnitude = value.abs().max((high - low) / 2.0).max(1e-6).log10().floor() as i32;
    let decimals = usize::try_from(1 - magnitude).unwrap_or(0).max(1);
    [value, low, high].map(|number| fixed(number, decimals))
}

/// The same text without decimals that are zero.
fn without_zeros(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

/// Changes of a hundred percent and more need no decimals.
fn percent_decimals(fraction: f64) -> usize {
    usize::from((fraction * 100.0).abs() < 99.95)
}

/// Units of times in microseconds, of rates in operations per second, of bytes, and of what is counted; the largest first.
const TIMES: [(f64, &str); 3] = [(1e6, "s"), (1e3, "ms"), (1.0, "µs")];
const RATES: [(f64, &str); 3] = [(1e6, "M op/s"), (1e3, "k op/s"), (1.0, "op/s")];
const BYTES: [(f64, &str); 4] = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
const COUNTS: [(f64, &str); 4] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];

/// The largest unit that a value fills.
fn filled(value: f64, units: &[(f64, &'static str)]) -> (f64, &'static str) {
    *units
        .iter()
        .find(|(size, _)| value.abs() >= size * 0.9995)
        .or(units.last())
        .expect("every list of units has one")
}

/// The value in the largest unit it fills.
fn scaled(value: f64, units: &[(f64, &'static str)]) -> String {
    let (size, name) = filled(value, units);
    if value.is_finite() {
        format!("{} {name}", significant(value / size))
    } else {
        ABSENT.into()
    }
}

/// Three significant digits, at most two decimals.
pub fn significant(value: f64) -> String {
    fixed(value, decimals(value))
}

/// The decimals of three significant digits, at most two.
fn decimals(value: f64) -> usize {
    match value.abs() {
        small if small < 9.995 => 2,
        middle if middle < 99.95 => 1,
        _ => 0,
    }
}

/// A fixed number of decimals, thousands separated by commas, U+2212 for minus and no minus before a zero.
fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return ABSENT.into();
    }
    let digits = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut text = String::new();
    if value < 0.0 && digits.chars().any(|c| ('1'..='9').contains(&c)) {
        text.push('−');
    }
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    let _ = write!(text, "{fraction}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(value: f64, low: f64, high: f64) -> Interval {
        Interval { value, low, high }
    }

    #[test]
    fn what_percents_say_little_of_is_a_factor_whose_bounds_are_too() {
        let found = change_with_interval(interval(2_300.96, 2_100.0, 2_500.4));
        assert_eq!(found, "×2,302 [2,101, 2,501]");
        let found = change_with_interval(interval(-0.9960, -0.9964, -0.9955));
        assert_eq!(found, "1/250 [1/278, 1/222]");
        let found = change_with_interval(interval(-0.999, -1.0, -0.99));
        assert_eq!(found, "1/1,000 [0, 1/100]");
        let found = change_with_interval(interval(-0.999, -1.0, 0.5));
        assert_eq!(found, "1/1,000 [0, ×1.50]");
        let found = (change(5e6), share_of(150.0));
        assert_eq!(found, ("×1,000,000 and more".into(), "15,000 %".into()));
        let found = rounded::change(interval(2_300.96, 2_100.0, 2_500.4));
        assert_eq!(found, "×2,302 [2,101, 2,501]");
    }

    #[test]
    fn changes_are_signed_and_keep_one_decimal_below_a_hundred_percent() {
        assert_eq!(change(0.1234), "+12.3 %");
        assert_eq!(change(-0.1416), "−14.2 %");
        assert_eq!(change(0.0), "0.0 %");
        assert_eq!(change(-0.0004), "0.0 %");
        assert_eq!(change(0.0004), "0.0 %");
        assert_eq!(change(6.321), "+632 %");
        assert_eq!(change(12.5), "+1,250 %");
        assert_eq!(change(0.9996), "+100 %");
        assert_eq!(change(f64::NAN), "–");
    }

    #[test]
    fn an_interval_has_the_decimals_of_its_change() {
        assert_eq!(change_interval(interval(0.123, 0.111, 0.135)), "[11.1, 13.5]");
        assert_eq!(change_interval(interval(-0.012, -0.034, 0.01)), "[−3.4, 1.0]");
        assert_eq!(change_interval(interval(6.32, 0.995, 6.40)), "[100, 640]");
        let found = change_interval(interval(119.0, -1.0, 1.4e13));
        assert_eq!(found, "[0.00, 1,000,000 and more]");
    }

    #[test]
    fn quantities_take_the_unit_they_fill() {
        assert_eq!(quantity(9.996, "us/op"), "10.0 µs");
        assert_eq!(quantity(162.4, "us"), "162 µs");
        assert_eq!(quantity(999.7, "us"), "1.00 ms");
        assert_eq!(quantity(2_340_000.0, "us"), "2.34 s");
        assert_eq!(quantity(78_123.0, "op/s"), "78.1 k op/s");
        assert_eq!(quantity(312.0, "op/s"), "312 op/s");
        assert_eq!(quantity(287.0, "bytes/op"), "287 B");
        assert_eq!(quantity(22.5, "bytes/op"), "22.5 B");
        assert_eq!(quantity(999.7, "bytes/op"), "1.00 kB");
        assert_eq!(quantity(1_048_999.0, "bytes/op"), "1.05 MB");
        assert_eq!(quantity(128_340.0, "instructions/op"), "128 k");
        assert_eq!(quantity(912.0, "cycles/op"), "912");
        assert_eq!(quantity(f64::INFINITY, "us"), "–");
    }

    #[test]
    fn a_difference_and_its_bounds_share_unit_and_decimals() {
        let text = |value, [low, high]: [f64; 2], unit| {
            let difference = difference(interval(value, low, high), unit);
            format!("{} [{}, {}]", difference.value, difference.low, difference.high)
        };
        assert_eq!(text(1.0841, [0.971, 1.1], "us/op"), "+1.08 µs [0.97, 1.10]");
        assert_eq!(text(1_553.0, [998.0, 2_100.0], "us"), "+1.55 ms [1.00, 2.10]");
        let expected = "−10.2 k op/s [−11.0, −9.0]";
        assert_eq!(text(-10_212.0, [-11_000.0, -9_000.0], "op/s"), expected);
        assert_eq!(text(0.0, [-0.1, 0.1], "us/op"), "0.00 µs [−0.10, 0.10]");
    }

    #[test]
    fn shares_show_a_decimal_only_where_there_is_one() {
        assert_eq!(share(0.05), "5 %");
        assert_eq!(share(0.004), "0.4 %");
    }

    #[test]
    fn plain_numbers_have_no_decimals_that_are_zero() {
        assert_eq!(plain(2.0), "2");
        assert_eq!(plain(1.5), "1.5");
        assert_eq!(plain(1.254), "1.25");
        assert_eq!(plain(330.91), "331");
        assert_eq!(plain(-0.001), "0");
    }

    #[test]
    fn small_numbers_and_shares_near_to_all_keep_their_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.004_12, "0.00412"),
            (0.35, "0.35"),
            (4.061, "4.06"),
            (1234.0, "1,234"),
        ] {
            assert_eq!(fine(value), text);
        }
        for (value, text) in [
            (1.0, "100 %"),
            (0.999_87, "99.987 %"),
            (0.914, "91.4 %"),
            (0.0, "0 %"),
        ] {
            assert_eq!(fine_share(value), text);
        }
    }

    #[test]
    fn cores_and_their_interval_share_their_decimals() {
        let found = cores(interval(0.0156, 0.0151, 0.0162));
        assert_eq!(found, ["0.016", "0.015", "0.016"]);
        assert_eq!(cores(interval(1.25, -0.2, 2.7)), ["1.2", "−0.2", "2.7"]);
        assert_eq!(cores(interval(0.0, -0.1, 0.1)), ["0.00", "−0.10", "0.10"]);
    }

    #[test]
    fn spans_are_given_as_people_say_them() {
        assert_eq!(span(41.4), "41 s");
        assert_eq!(span(123.0), "2 min 3 s");
        assert_eq!(span(2_400.0), "40 min");
        assert_eq!(span(7_200.0), "2.0 h");
    }
}
