//! The same numbers as sentences have them: no more digits than a reader keeps in mind.

use super::{BEYOND_REASON, TIMES, count, factor_from, fixed};
use crate::interval::Interval;

/// A change from which on sentences give it as a factor, since its percents have four digits: eleven times as much.
const MANIFOLD: f64 = 10.0;

/// `+16 % [15, 17]`, `×12.5 [11.4, 13.7]`
pub fn change(interval: Interval) -> String {
    let Interval { value, low, high } = interval;
    let factor = |bound| factor_from(MANIFOLD, bound, value);
    match (factor(value), factor(low), factor(high)) {
        (Some(middle), Some(low), Some(high)) => {
            let sign = if value > 0.0 { "×" } else { "" };
            format!("{sign}{middle} [{low}, {high}]")
        }
        _ => format!("{} [{}, {}]", percent(value), bound(low), bound(high)),
    }
}

/// A fraction as signed percent: `0.0123` is `+1.2 %`.
pub fn percent(fraction: f64) -> String {
    let sign = if fraction < 0.0 { "−" } else { "+" };
    format!("{sign}{}", share(fraction.abs()))
}

/// A fraction as percent without a sign, such as a margin: `0.0123` is `1.2 %`.
pub fn share(fraction: f64) -> String {
    format!("{} %", digits(fraction))
}

/// How much more something takes: as percent, or as a multiple where percents become hard to read.
pub fn more(fraction: f64) -> String {
    if fraction >= 2.0 {
        format!("{:.1} times as much", 1.0 + fraction)
    } else {
        format!("{} more", share(fraction))
    }
}

/// A time given in microseconds, in the unit that tables give it in: `5.46 ms`.
pub fn microseconds(us: f64) -> String {
    let (size, decimals, unit) = scale(us);
    format!("{} {unit}", fixed(us / size, decimals))
}

/// `5.5 µs [4.9, 6.1]`, all in the unit of the value.
pub fn microseconds_between(Interval { value, low, high }: Interval) -> String {
    let (size, decimals, _) = scale(value);
    let [low, high] = [low, high].map(|us| fixed(us / size, decimals));
    format!("{} [{low}, {high}]", microseconds(value))
}

/// A bound of a change, in percent.
fn bound(fraction: f64) -> String {
    if fraction > BEYOND_REASON {
        return format!("> {}", count(BEYOND_REASON * 100.0));
    }
    digits(fraction)
}

/// A fraction in percent: from ten on, whole ones.
fn digits(fraction: f64) -> String {
    let percent = fraction * 100.0;
    fixed(percent, usize::from(percent.abs() < 9.95))
}

/// The unit of a time in microseconds, the decimals in it, and its name.
fn scale(us: f64) -> (f64, usize, &'static str) {
    let [seconds, milliseconds, microseconds] = TIMES;
    let ((size, name), decimals) = match us.abs() {
        below if below < 9.95 => (microseconds, 1),
        below if below < 999.5 => (microseconds, 0),
        below if below < 9_995.0 => (milliseconds, 2),
        below if below < 999_500.0 => (milliseconds, 1),
        _ => (seconds, 2),
    };
    (size, decimals, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_carry_their_sign_and_no_more_digits_than_they_can_bear() {
        assert_eq!(percent(0.0123), "+1.2 %");
        assert_eq!(percent(-0.256), "−26 %");
        assert_eq!(percent(7.5), "+750 %");
        assert_eq!(percent(12.34), "+1,234 %");
    }

    #[test]
    fn bounds_are_percents_without_their_sign_where_they_say_nothing() {
        let between = |value, low, high| change(Interval { value, low, high });
        assert_eq!(between(0.16, 0.15, 0.17), "+16 % [15, 17]");
        assert_eq!(between(-0.02, -0.0301, -0.0001), "−2.0 % [−3.0, 0.0]");
        assert_eq!(between(0.5, -1.0, 1e9), "+50 % [−100, > 100,000]");
        assert_eq!(between(9.94, 9.0, 11.0), "+994 % [900, 1,100]");
        assert_eq!(between(11.5, 10.4, 12.7), "×12.5 [11.4, 13.7]");
    }

    #[test]
    fn large_increases_are_told_as_multiples() {
        assert_eq!(more(0.31), "31 % more");
        assert_eq!(more(10.8), "11.8 times as much");
    }

    #[test]
    fn durations_are_given_in_the_unit_a_reader_expects() {
        assert_eq!(microseconds(1.26), "1.3 µs");
        assert_eq!(microseconds(652.4), "652 µs");
        assert_eq!(microseconds(5_458.0), "5.46 ms");
        assert_eq!(microseconds(22_000.0), "22.0 ms");
    }

    #[test]
    fn an_interval_of_time_has_the_unit_and_the_decimals_of_its_value() {
        let between = |value, low, high| microseconds_between(Interval { value, low, high });
        assert_eq!(between(5.54, 4.26, 6.9), "5.5 µs [4.3, 6.9]");
        assert_eq!(between(620.4, -3.2, 700.0), "620 µs [−3, 700]");
        assert_eq!(between(40_263.0, 39_900.0, 40_600.0), "40.3 ms [39.9, 40.6]");
    }
}
