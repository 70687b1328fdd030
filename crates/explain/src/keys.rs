//! Values by the keys of study files, and in what two of them differ.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// The keys in which the values of two runs differ, as study files write them, with both of their values in a sentence.
pub(crate) fn differing<T: Serialize>(one: (&str, &T), other: (&str, &T)) -> Vec<String> {
    let (here, there) = (keys(one.1), keys(other.1));
    let all = here
        .keys()
        .chain(there.keys().filter(|key| !here.contains_key(*key)));
    let said = |value: Option<&String>| value.cloned().unwrap_or("not set".into());
    let (one, other) = (one.0, other.0);
    all.filter(|key| here.get(*key) != there.get(*key))
        .map(|key| {
            let (here, there) = (said(here.get(key)), said(there.get(key)));
            format!("{key} is {there} in {other} and {here} in {one}")
        })
        .collect()
}

/// Every key with its value, those of tables by their whole path.
pub(crate) fn keys<T: Serialize>(value: &T) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if let Ok(value) = serde_json::to_value(value) {
        collect(&value, "", &mut found);
    }
    found
}

fn collect(value: &Value, path: &str, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(table) => {
            for (key, value) in table {
                let path = match path {
                    "" => key.clone(),
                    path => format!("{path}.{key}"),
                };
                collect(value, &path, found);
            }
        }
        Value::Null => {}
        Value::String(text) => {
            found.insert(path.to_owned(), text.clone());
        }
        other => {
            found.insert(path.to_owned(), other.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_named_by_its_key() {
        let one = json!({ "transport": "tls1.3", "tls": { "library": "openssl" }, "n": 8 });
        let other = json!({ "transport": "tls1.3", "n": 4 });
        assert_eq!(
            differing(("a", &one), ("b", &other)),
            [
                "n is 4 in b and 8 in a",
                "tls.library is not set in b and openssl in a"
            ]
        );
        assert!(differing(("a", &one), ("b", &one)).is_empty());
    }
}
