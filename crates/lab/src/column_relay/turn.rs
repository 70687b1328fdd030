//! What client and server know of each other's last words.

use std::collections::VecDeque;

use super::trouble::Trouble;

/// Questions that a client may have asked without waiting for an answer.
const MOST_QUESTIONS: usize = 256;

/// What a client's packets say about the server's.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// `None` until the client has answered the greeting.
    pub(super) client: Option<Client>,
    /// True once the server has let the client in.
    pub(super) is_logged_in: bool,
    /// True while the client sends a file that the server asked for.
    pub(super) sends_file: bool,
    questions: VecDeque<Question>,
}

/// What a client says of itself when it logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Client {
    /// Definitions and rows end without a packet of their own.
    pub(super) is_without_eof: bool,
    /// Definitions say more about types (MariaDB).
    pub(super) is_extended: bool,
}

/// What an answer looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// One packet, whatever is in it.
    One,
    /// What preparing a statement gives.
    Prepare,
    /// Results whose rows are text.
    Text,
    /// Results whose rows are binary.
    Binary,
}

impl Turn {
    pub(super) fn ask(&mut self, question: Question) -> Result<(), Trouble> {
        if self.questions.len() == MOST_QUESTIONS {
            return Err(Trouble::Client("commands without waiting for their answers"));
        }
        self.questions.push_back(question);
        Ok(())
    }

    /// The question that is answered now.
    pub(super) fn answered(&mut self) -> Option<Question> {
        self.questions.pop_front()
    }
}
