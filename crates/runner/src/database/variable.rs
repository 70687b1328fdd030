//! The value of a server's variable.

use std::fmt;

use ciphertax_model::ProbeValue;

use super::clients::Clients;
use super::control::Control;
use crate::error::Result;

/// How global variables of a server are changed while it runs.
pub(crate) struct Variables<D: Clients> {
    /// What one is. An error for one that does not exist, or whose value could not be put back.
    pub(crate) read: fn(&mut Control<D>, &str) -> Result<Variable>,
    /// Sets one, and waits until it has its value. An error for one that cannot be set while the server runs or does not take the
    /// value.
    pub(crate) set: fn(&mut Control<D>, &str, &Variable) -> Result<()>,
    /// True if every session has a value of its own of one.
    pub(crate) is_per_session: fn(&mut Control<D>, &str) -> Result<bool>,
}

/// The value of a server's variable, which can stand in a statement as it is, text between quotes.
#[derive(Debug, Clone)]
pub(crate) enum Variable {
    /// A number by its digits.
    Number(String),
    /// Text without quotes and backslashes.
    Text(String),
}

impl Variable {
    /// The value that a server gave; `None` for one that would have to be escaped.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+=.,:/ @%()[]*".contains(c);
        match is_number(text) {
            true => Some(Self::Number(text.to_owned())),
            false => text.chars().all(is_plain).then(|| Self::Text(text.to_owned())),
        }
    }

    /// One word for each pair that servers take for the same.
    fn canonical(&self) -> String {
        match self {
            Self::Number(digits) => match digits.parse::<f64>() {
                Ok(number) => number.to_string(),
                Err(_) => digits.clone(),
            },
            Self::Text(text) => match text.to_ascii_lowercase().as_str() {
                "on" | "true" | "yes" => "1".to_owned(),
                "off" | "false" | "no" => "0".to_owned(),
                text => text.to_owned(),
            },
        }
    }
}

/// What a study asks for.
impl From<&ProbeValue> for Variable {
    fn from(value: &ProbeValue) -> Self {
        match value {
            ProbeValue::Whole(number) => Self::Number(number.to_string()),
            ProbeValue::Text(text) => Self::Text(text.clone()),
        }
    }
}

/// A server says `1` of what was set to `ON`.
impl PartialEq for Variable {
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(text) | Self::Text(text) => f.write_str(text),
        }
    }
}

/// True for digits with a sign and a point at most.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits(whole) && is_digits(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_of_a_value_is_the_same_in_other_words() {
        let text = |text: &str| Variable::from(&ProbeValue::Text(text.into()));
        let whole = |number| Variable::from(&ProbeValue::Whole(number));
        for (asked, said) in [
            (text("OFF"), "0"),
            (text("on"), "1"),
            (text("ALL"), "all"),
            (whole(0), "0"),
            (whole(90), "90.000000"),
            (whole(-1), "-1"),
        ] {
            assert_eq!(asked, Variable::read(said).unwrap(), "{said}");
        }
        assert_ne!(whole(0), Variable::read("1").unwrap());
        assert_ne!(text("none"), Variable::read("all").unwrap());
    }

    #[test]
    fn a_value_that_would_need_an_escape_cannot_be_put_back() {
        for text in ["it's", "a\\b", "\"", "a\nb", "ä", "x; y"] {
            assert!(Variable::read(text).is_none(), "{text:?}");
        }
        assert!(matches!(Variable::read("1.5"), Some(Variable::Number(_))));
        for text in ["", "1.", ".5", "1e5", "-", "1.2.3", "NULL"] {
            let is_one = matches!(Variable::read(text), Some(Variable::Text(_)));
            assert!(is_one, "{text:?}");
        }
    }
}
