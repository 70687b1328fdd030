//! Integers, decimals and dates as they are read from results and written into statements, without formatting and without floats.

use std::time::{SystemTime, UNIX_EPOCH};

/// Digits after the point of an amount of money.
pub(super) const CENTS: u32 = 2;
/// Digits after the point of a rate, such as a tax.
pub(super) const RATE: u32 = 4;

/// A decimal number, counted in its unit of so many digits after the point: hundredths of `12.5` are 1250. `None` if it is no
/// number, not a whole number of them, or too large.
pub(super) fn parse_decimal(text: &[u8], digits: u32) -> Option<i64> {
    let (is_negative, number) = match text {
        [b'-', number @ ..] => (true, number),
        number => (false, number),
    };
    let mut value: i64 = 0;
    let mut has_digits = false;
    let mut after_point = None;
    for byte in number {
        match (byte, after_point) {
            (b'.', None) => {
                after_point = Some(0);
                continue;
            }
            (b'0'..=b'9', None) => {}
            // Zeros that no unit is left for change nothing.
            (b'0', Some(count)) if count == digits => continue,
            (b'0'..=b'9', Some(count)) if count < digits => after_point = Some(count + 1),
            _ => return None,
        }
        has_digits = true;
        value = value.checked_mul(10)?.checked_add((byte - b'0').into())?;
    }
    if !has_digits {
        return None;
    }
    let missing = digits - after_point.unwrap_or(0);
    let value = value.checked_mul(10_i64.checked_pow(missing)?)?;
    Some(if is_negative { -value } else { value })
}

/// The date and time in UTC, to the second, as `2026-11-23 06:20:51`.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    /// Seconds since 1970.
    second: u64,
    text: [u8; 19],
}

impl Clock {
    pub(super) fn new() -> Self {
        Self {
            second: 0,
            text: date_text(0),
        }
    }

    /// What it is now.
    pub(super) fn now(&mut self) -> [u8; 19] {
        // A clock before 1970 shows 1970.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let second = since.as_secs();
        if second != self.second {
            self.second = second;
            self.text = date_text(second);
        }
        self.text
    }
}

/// Seconds since 1970 as a date of the Gregorian calendar.
fn date_text(seconds: u64) -> [u8; 19] {
    const DAY: u64 = 24 * 60 * 60;
    let mut year = 1970;
    let mut days = seconds / DAY;
    while days >= days_of_year(year) {
        days -= days_of_year(year);
        year += 1;
    }
    let february = days_of_year(year) - 337;
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let time = seconds % DAY;
    let mut text = *b"0000-00-00 00:00:00";
    let mut put = |value: u64, last: usize| {
        text[last - 1] = b'0' + (value / 10 % 10) as u8;
        text[last] = b'0' + (value % 10) as u8;
    };
    put(year / 100, 1);
    put(year, 3);
    put(month, 6);
    put(days + 1, 9);
    put(time / 3600, 12);
    put(time / 60 % 60, 15);
    put(time % 60, 18);
    text
}

fn days_of_year(year: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    if is_leap { 366 } else { 365 }
}

/// True if a text about an item or its stock has the word that tells the brand.
pub(super) fn is_original(data: &[u8]) -> bool {
    const WORD: &[u8] = b"ORIGINAL";
    data.windows(WORD.len()).any(|part| part == WORD)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::digits::Digits;

    #[test]
    fn decimals_are_whole_numbers_of_their_unit_or_none() {
        for (text, digits, value) in [
            ("0", 2, Some(0)),
            ("-10", 2, Some(-1000)),
            ("-10.00", 2, Some(-1000)),
            ("12.5", 2, Some(1250)),
            (".5", 2, Some(50)),
            ("0.2000", 4, Some(2000)),
            ("300000.00", 2, Some(30_000_000)),
            ("1.2300", 2, Some(123)),
            ("1.234", 2, None),
            ("", 2, None),
            ("-", 2, None),
            (".", 2, None),
            ("1.2.3", 2, None),
            ("+1", 0, None),
            ("1 ", 0, None),
            ("9223372036854775807", 0, Some(i64::MAX)),
            ("9223372036854775808", 0, None),
            ("9223372036854775807", 2, None),
        ] {
            assert_eq!(parse_decimal(text.as_bytes(), digits), value, "{text}");
        }
    }

    #[test]
    fn the_clock_shows_the_gregorian_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (951_868_800, "2000-03-01 00:00:00"),
            (1_795_415_451, "2026-11-23 06:30:51"),
            (4_107_542_399, "2100-02-28 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
            (1_798_761_599, "2026-12-31 23:59:59"),
        ] {
            assert_eq!(std::str::from_utf8(&date_text(seconds)).unwrap(), text);
        }
    }

    #[test]
    fn a_brand_is_told_by_one_word() {
        assert!(is_original(b"ORIGINAL"));
        assert!(is_original(b"abcORIGINALdef"));
        assert!(!is_original(b"ORIGINA") && !is_original(b"abcoriginal") && !is_original(b""));
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_again(value: i64) {
            let digits = Digits::signed(value, 0);
            // The smallest of all is the only one whose amount is none.
            let read = Some(value).filter(|_| value != i64::MIN);
            prop_assert_eq!(parse_decimal(digits.as_bytes(), 0), read);
            let text = value.to_string();
            prop_assert_eq!(digits.as_bytes(), text.as_bytes());
            let cents = value / 1000;
            prop_assert_eq!(parse_decimal(Digits::signed(cents, CENTS).as_bytes(), CENTS), Some(cents));
        }

        #[test]
        fn no_text_stops_the_reader(text: Vec<u8>, digits in 0_u32..6) {
            parse_decimal(&text, digits);
        }
    }
}
