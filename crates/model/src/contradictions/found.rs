//! What is found, and where.

/// Something that is wrong, and where in the study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contradiction {
    pub(crate) path: Path,
    pub(crate) message: String,
}

/// The keys that lead to a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Path(Vec<Step>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Key(&'static str),
    /// The entry of a list, from 0.
    Entry(usize),
}

impl Path {
    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The value itself, named by `key` and in a list by its place there.
    pub(super) fn of(key: &'static str) -> Self {
        Self::default().key(key)
    }

    pub(super) fn key(&self, key: &'static str) -> Self {
        self.step(Step::Key(key))
    }

    pub(super) fn entry(&self, index: usize) -> Self {
        self.step(Step::Entry(index))
    }

    fn step(&self, step: Step) -> Self {
        Self(self.0.iter().copied().chain([step]).collect())
    }
}

/// The contradictions so far.
#[derive(Default)]
pub(super) struct Found(Vec<Contradiction>);

impl Found {
    pub(super) fn add(&mut self, path: Path, message: impl Into<String>) {
        let message = message.into();
        self.0.push(Contradiction { path, message });
    }

    pub(super) fn all(self) -> Vec<Contradiction> {
        self.0
    }
}
