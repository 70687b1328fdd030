//! One way to look, and what came of it.

use ciphertax_bench::{Result, Slice};
use ciphertax_explain::why::categories::Rules;

use crate::looker::{Looker, Seen};

/// A way to look, or not to.
pub(crate) struct Way {
    pub(crate) name: String,
    looker: Option<Box<dyn Looker>>,
    /// Why nobody looks so on this machine.
    pub(crate) problem: Option<String>,
    pub(crate) seen: Seen,
    server_us: Vec<f64>,
    throughput: Vec<f64>,
}

impl Way {
    /// Nobody looks.
    pub(crate) fn without(name: &str) -> Self {
        Self::new(name.to_owned(), None, None)
    }

    /// Somebody looks, if that is possible here.
    pub(crate) fn by(name: String, looker: Result<Box<dyn Looker>>) -> Self {
        match looker {
            Ok(looker) => Self::new(name, Some(looker), None),
            Err(error) => Self::new(name, None, Some(error.to_string())),
        }
    }

    fn new(name: String, looker: Option<Box<dyn Looker>>, problem: Option<String>) -> Self {
        Self {
            name,
            looker,
            problem,
            seen: Seen::default(),
            server_us: Vec::new(),
            throughput: Vec::new(),
        }
    }

    /// CPU time of the server for an operation in microseconds, slice by slice.
    pub(crate) fn server_us(&self) -> &[f64] {
        &self.server_us
    }

    /// Operations a second, slice by slice.
    pub(crate) fn throughput(&self) -> &[f64] {
        &self.throughput
    }

    /// Begins to look. A way that fails once is not tried again: its slices would not be those of the others.
    pub(crate) fn begin(&mut self, server: u32) {
        self.attempt(|looker| looker.begin(server));
    }

    /// Ends that, after a slice that yielded this, or that counts for nothing.
    pub(crate) fn end(&mut self, rules: &Rules, slice: Option<&Slice>) {
        let mut seen = std::mem::take(&mut self.seen);
        let mut unused = Seen::default();
        let counted = if slice.is_some() { &mut seen } else { &mut unused };
        self.attempt(|looker| looker.end(rules, counted));
        self.seen = seen;
        if let Some(slice) = slice {
            self.server_us.push(slice.server_us);
            self.throughput.push(slice.throughput);
        }
    }

    fn attempt(&mut self, what: impl FnOnce(&mut dyn Looker) -> Result<()>) {
        let Some(looker) = &mut self.looker else { return };
        if let Err(error) = what(looker.as_mut()) {
            eprintln!("{}: {error}", self.name);
            self.problem = Some(error.to_string());
            self.looker = None;
        }
    }
}
