//! A counter that tells the CPU time of a server on another machine.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::counter_command::CounterCommand;

/// A counter of a server's CPU time that somebody else keeps, for servers on whose machine nobody can log in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuCounter {
    /// A program and its arguments that prints one number: the CPU time that the server has used so far, in seconds.
    /// The record of a run has `…` in the place of the arguments, which may hold a key.
    #[serde(default, skip_serializing_if = "CounterCommand::is_empty")]
    pub command: CounterCommand,
    /// The address of metrics as Prometheus reads them: of a node exporter, or of a process exporter; after a `#` the name of the
    /// group of processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exporter: Option<String>,
    /// How far the counter lags behind, in seconds: how often it moves, and how long after the work. `None` to find out before
    /// measuring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_s: Option<f64>,
}

impl CpuCounter {
    /// How far a counter may lag behind, in seconds.
    pub const RESOLUTION_S: RangeInclusive<f64> = 0.001..=300.0;

    /// What an exporter's address may not be; `None` if it is fine.
    pub fn wrong_exporter(&self) -> Option<&'static str> {
        let exporter = self.exporter.as_ref()?;
        let Ok(url) = Url::parse(exporter) else {
            return Some("it is no URL; give http://host:9100/metrics");
        };
        match url.scheme() {
            "http" | "https" if url.password().is_some() || !url.username().is_empty() => {
                Some("it has a login, which would be in the record of the run; put it into ~/.netrc")
            }
            "http" | "https" if url.query().is_some() => Some(
                "what follows ? may be a key, and would be in the record of the run; leave it out, or have a command ask",
            ),
            "http" | "https" => None,
            _ => Some("it must begin with http:// or https://"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exporter_has_no_login_in_its_address() {
        let wrong = |exporter: &str| {
            let counter = CpuCounter {
                exporter: Some(exporter.into()),
                ..CpuCounter::default()
            };
            counter.wrong_exporter()
        };
        assert_eq!(wrong("http://db:9100/metrics"), None);
        assert_eq!(wrong("https://db/metrics#mysqld"), None);
        assert!(wrong("https://me:secret@db/metrics").unwrap().contains("netrc"));
        assert!(wrong("https://db/metrics?token=1234").unwrap().contains("record"));
        assert!(wrong("file:///etc/passwd").is_some() && wrong("db").is_some());
    }
}
