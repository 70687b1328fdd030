//! Numbers in decimal and bytes in hexadecimal digits, without formatting and without memory of their own.

/// A number as text, in place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Digits {
    text: [u8; Self::MOST],
    first: usize,
}

impl Digits {
    /// The digits of a `u64` and a point, or a sign, those of an `i64` and a point.
    const MOST: usize = 21;

    /// Of a number of units of the last of so many places behind the point: `12.50`.
    pub(crate) fn of(units: u64, places: u32) -> Self {
        let mut digits = Self {
            text: [0; Self::MOST],
            first: Self::MOST,
        };
        let mut rest = units;
        let mut written = 0;
        while rest > 0 || written <= places {
            if places > 0 && written == places {
                digits.put(b'.');
            }
            digits.put(b'0' + (rest % 10) as u8);
            rest /= 10;
            written += 1;
        }
        digits
    }

    /// The same of one that may be negative.
    pub(crate) fn signed(units: i64, places: u32) -> Self {
        let mut digits = Self::of(units.unsigned_abs(), places);
        if units < 0 {
            digits.put(b'-');
        }
        digits
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.text[self.first..]
    }

    fn put(&mut self, byte: u8) {
        self.first -= 1;
        self.text[self.first] = byte;
    }
}

/// The two digits of a byte.
pub(crate) fn hexadecimal(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    [byte >> 4, byte & 0xF].map(|digit| DIGITS[usize::from(digit)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_all_their_places() {
        for (units, places, expected) in [
            (0_u32, 0, "0"),
            (100_000, 0, "100000"),
            (u32::MAX, 0, "4294967295"),
            (0, 2, "0.00"),
            (1, 2, "0.01"),
            (999_999, 2, "9999.99"),
            (2000, 4, "0.2000"),
            (u32::MAX, 4, "429496.7295"),
        ] {
            assert_eq!(Digits::of(units.into(), places).as_bytes(), expected.as_bytes());
        }
    }
}
