//! What is refused: the one form of every message about what cannot be measured.

use std::fmt;

/// What cannot be measured as it is asked for, which is said before anything is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What it is about, for example `arm "tls"`; empty where the reason begins with a key of the study.
    pub subject: String,
    /// Why that cannot be measured.
    pub cannot: String,
    /// What to do instead.
    pub instead: String,
}

impl Refusal {
    /// Of a sentence `why; what instead`, about a subject that [`about`](Self::about) names.
    pub fn new(sentence: impl AsRef<str>) -> Self {
        let sentence = sentence.as_ref();
        let (cannot, instead) = sentence.rsplit_once("; ").unwrap_or((sentence, ""));
        Self {
            subject: String::new(),
            cannot: cannot.to_owned(),
            instead: instead.to_owned(),
        }
    }

    /// The same, about this subject.
    #[must_use]
    pub fn about(self, subject: impl Into<String>) -> Self {
        let subject = subject.into();
        Self { subject, ..self }
    }
}

/// Refuses by a sentence `why; what instead` if that is so.
pub fn refuse_if(is_so: bool, sentence: impl AsRef<str>) -> Option<Refusal> {
    is_so.then(|| Refusal::new(sentence))
}

/// The same reason once, about all that it was given for: `arm "fast", arm "full": why; what instead`.
pub fn by_reason(refusals: &[Refusal]) -> Vec<String> {
    let mut reasons: Vec<Refusal> = Vec::new();
    for refusal in refusals {
        let is_same = |other: &&mut Refusal| {
            (&other.cannot, &other.instead) == (&refusal.cannot, &refusal.instead)
                && !refusal.subject.is_empty()
        };
        match reasons.iter_mut().find(is_same) {
            Some(same) => same.subject = format!("{}, {}", same.subject, refusal.subject),
            None => reasons.push(refusal.clone()),
        }
    }
    reasons.iter().map(Refusal::to_string).collect()
}

/// `arm "tls": why; what instead`
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.subject.is_empty() {
            write!(f, "{}: ", self.subject)?;
        }
        f.write_str(&self.cannot)?;
        match self.instead.is_empty() {
            true => Ok(()),
            false => write!(f, "; {}", self.instead),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reason_is_given_once_about_all_arms_and_others_stay_apart() {
        let of = |arm: &str, sentence| Refusal::new(sentence).about(format!("arm \"{arm}\""));
        let both = [
            of("fast", "it is slow; wait"),
            Refusal::new("it is slow; wait"),
            of("fast", "it is old; leave it out"),
            of("full", "it is slow; wait"),
        ];
        let expected = [
            "arm \"fast\", arm \"full\": it is slow; wait",
            "it is slow; wait",
            "arm \"fast\": it is old; leave it out",
        ];
        assert_eq!(by_reason(&both), expected);
    }
}
