//! What a server answers: Base64 of `{"status": …, "body": "…"}`, of which the body of the first answer is JSON again.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::error::ExchangeError;

/// Bytes of an answer at most. A certificate chain or a quote of a trusted environment beside the key is a few kilobytes.
const MOST: usize = 256 << 10;

/// Characters of a server's words that are shown.
const MOST_SHOWN: usize = 200;

/// What a server says of itself.
pub(super) struct Body(Value);

/// One object in it.
pub(super) struct Object<'a>(&'a Map<String, Value>);

impl Body {
    /// That of an answer.
    pub(super) fn of(answer: &str) -> Result<Self, ExchangeError> {
        match check_status(answer)? {
            Some(body) => Ok(Self(json(body.as_bytes())?)),
            None => Err(ExchangeError::Lacks("body")),
        }
    }

    pub(super) fn object(&self, name: &'static str) -> Result<Object<'_>, ExchangeError> {
        let object = self.0.get(name).and_then(Value::as_object);
        object.map(Object).ok_or(ExchangeError::Lacks(name))
    }
}

impl<'a> Object<'a> {
    pub(super) fn text(&self, name: &'static str) -> Result<&'a str, ExchangeError> {
        let text = self.0.get(name).and_then(Value::as_str);
        text.ok_or(ExchangeError::Lacks(name))
    }

    /// What is only shown, and may be missing.
    pub(super) fn for_people(&self, name: &str) -> String {
        match self.0.get(name) {
            Some(Value::String(text)) if !text.is_empty() => shown(text),
            Some(Value::Number(number)) => number.to_string(),
            _ => "not said".to_owned(),
        }
    }
}

/// The body of an answer whose status is 0, if it has one.
pub(super) fn check_status(answer: &str) -> Result<Option<String>, ExchangeError> {
    if answer.len() > MOST {
        return Err(ExchangeError::TooLong(answer.len()));
    }
    // Servers may break lines of Base64.
    let digits: String = answer
        .chars()
        .filter(|digit| !digit.is_ascii_whitespace())
        .collect();
    if digits.is_empty() {
        return Err(ExchangeError::Empty);
    }
    let message = STANDARD.decode(digits).map_err(|_| ExchangeError::NotBase64)?;
    let mut message = json(&message)?;
    let status = message.get("status").and_then(Value::as_i64);
    let body = match message.get_mut("body").map(Value::take) {
        Some(Value::String(body)) => Some(body),
        _ => None,
    };
    match status {
        Some(0) => Ok(body),
        Some(status) => Err(ExchangeError::Refused {
            status,
            word: shown(body.as_deref().unwrap_or("nothing")),
        }),
        None => Err(ExchangeError::Lacks("status")),
    }
}

fn json(text: &[u8]) -> Result<Value, ExchangeError> {
    serde_json::from_slice(text).map_err(|error| ExchangeError::NotJson {
        line: error.line(),
        column: error.column(),
    })
}

/// The beginning of a server's words, on one line.
pub(super) fn shown(words: &str) -> String {
    let on_a_line = |letter: char| match letter.is_control() {
        true => ' ',
        false => letter,
    };
    words.chars().take(MOST_SHOWN).map(on_a_line).collect()
}
