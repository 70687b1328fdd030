//! No message says a password: not even one about an argument that was taken for something else.

/// The text with the passwords of URLs taken out that are among the command's `arguments`.
pub(crate) fn without_passwords(text: &str, arguments: impl Iterator<Item = String>) -> String {
    let mut text = text.to_owned();
    for argument in arguments {
        if let Some(hidden) = hidden(&argument) {
            text = text.replace(&argument, &hidden);
            text = text.replace(&argument.escape_debug().to_string(), &hidden);
        }
    }
    text
}

/// A URL with its password left out; `None` for what has none.
fn hidden(argument: &str) -> Option<String> {
    let (scheme, rest) = argument.split_once("://")?;
    let (credentials, host) = rest.rsplit_once('@')?;
    let (user, _) = credentials.split_once(':')?;
    Some(format!("{scheme}://{user}:…@{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_hidden_however_its_url_is_quoted() {
        let url = "mysql://app:tr0ub\\4\"dor@x/y@h/?a=b";
        let arguments = || ["run", url, "mysql://h:3306/"].map(str::to_owned).into_iter();
        for text in [format!("no {url}"), format!("no {url:?}"), url.to_owned()] {
            let said = without_passwords(&text, arguments());
            let hides_password = said.contains("mysql://app:…@h/?a=b") && !said.contains("tr0ub");
            assert!(hides_password, "{said}");
        }
        let expected = "mysql://h:3306/ x";
        assert_eq!(without_passwords("mysql://h:3306/ x", arguments()), expected);
    }
}
