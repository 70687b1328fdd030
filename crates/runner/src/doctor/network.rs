//! Whether links can be made, which put a distance between client and server.

use ciphertax_lab::link::{LinkError, WITHOUT_ROOT, check_rights};
use ciphertax_records::{Check, CheckStatus};

pub(super) fn look() -> Vec<Check> {
    vec![links(&check_rights())]
}

fn links(rights: &Result<(), LinkError>) -> Check {
    let check = |found: &str| {
        Check::good(
            "links",
            "links",
            found,
            "studies at a distance (45 ms, 170 ms) need TUN devices and a network namespace",
        )
    };
    match rights {
        Ok(()) => check("TUN devices and namespaces can be made"),
        Err(LinkError::NotPermitted) => check("this user may make no TUN devices and namespaces").but(
            CheckStatus::Limited,
            format!("run such studies as root, or in namespaces of your own: {WITHOUT_ROOT}"),
        ),
        Err(LinkError::NoTun { cause }) => check(&format!("/dev/net/tun cannot be opened ({cause})")).but(
            CheckStatus::Limited,
            "modprobe tun, let the container use it (`--device /dev/net/tun`), or `chmod 666 /dev/net/tun`",
        ),
        Err(other) => check("they cannot be made").but(CheckStatus::Limited, other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn what_is_missing_for_a_link_is_named() {
        assert_eq!(links(&Ok(())).status, CheckStatus::Good);
        assert!(
            links(&Err(LinkError::NotPermitted))
                .remedy
                .unwrap()
                .contains("root")
        );
        assert!(
            links(&Err(LinkError::NoTun {
                cause: ErrorKind::NotFound.into()
            }))
            .remedy
            .unwrap()
            .contains("modprobe tun")
        );
    }
}
