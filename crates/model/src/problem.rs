//! What is wrong with a study, and where.

use std::error::Error;
use std::fmt;

/// Everything that is wrong with a study, in the order of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyError {
    study: String,
    problems: Vec<StudyProblem>,
}

/// One thing that is wrong with a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyProblem {
    /// Where.
    pub position: Position,
    /// What is wrong, and what is expected instead.
    pub message: String,
}

/// Where something is wrong with a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// In its text.
    Text {
        /// The text's name, in general its file's.
        file: String,
        /// Line, the first is 1.
        line: usize,
        /// Column in characters, the first is 1.
        column: usize,
    },
    /// In a setting `key=value` that changes the text.
    Setting(String),
    /// In the study as a whole, by its name.
    Study(String),
}

impl StudyError {
    /// `problems` of the study `study`, of which there is at least one.
    pub(crate) fn new(study: impl Into<String>, problems: Vec<StudyProblem>) -> Self {
        debug_assert!(!problems.is_empty());
        Self {
            study: study.into(),
            problems,
        }
    }

    /// What is wrong.
    pub fn problems(&self) -> &[StudyProblem] {
        &self.problems
    }
}

impl Error for StudyError {}

/// A single problem as itself; more as a heading and a line for each.
impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [problem] = &self.problems[..] {
            return problem.fmt(f);
        }
        write!(f, "{} problems in {}", self.problems.len(), self.study)?;
        self.problems
            .iter()
            .try_for_each(|problem| write!(f, "\n{problem}"))
    }
}

/// `study.toml:12:13: what is wrong`, as compilers say it.
impl fmt::Display for StudyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.message)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Self::Setting(setting) => write!(f, "--set {setting}"),
            Self::Study(study) => f.write_str(study),
        }
    }
}
