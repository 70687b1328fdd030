//! A command that runs, watched line by line and bounded in time.

use std::io::{BufRead, BufReader};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::JoinHandle;

use crate::common::*;

/// A command that runs. It is killed when this is dropped, so that no test leaves it behind.
pub(crate) struct Running {
    child: Child,
    stdout: Option<JoinHandle<Vec<u8>>>,
    lines: Receiver<String>,
    stderr: Vec<String>,
}

/// What a command has said and how it ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Makes sure that it measured to its end. In the seconds that a test may take there need not be blocks enough for an
    /// interval, and then the exit code says that nothing can be told. Returns what it printed.
    pub(crate) fn measured(&self) -> &str {
        let is_one = matches!(self.code, Some(0 | 3));
        assert!(is_one, "{}\n{}", self.stdout, self.stderr);
        &self.stdout
    }
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let stdout = thread::spawn(move || {
            let mut text = Vec::new();
            stdout.read_to_end(&mut text).unwrap();
            text
        });
        Self {
            child,
            stdout: Some(stdout),
            lines,
            stderr: Vec::new(),
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Ends it as Ctrl-C does.
    pub(crate) fn interrupt(self) -> Finished {
        self.signal(Signal::INT);
        let finished = self.finish();
        assert_eq!(finished.code, Some(130), "{finished:?}");
        finished
    }

    /// Kills it.
    pub(crate) fn kill(self) {
        self.signal(Signal::KILL);
        assert_eq!(self.finish().code, None);
    }

    /// Waits until a line of standard error begins so.
    pub(crate) fn says(&mut self, beginning: &str) {
        self.says_within(beginning, PATIENCE);
    }

    pub(crate) fn says_within(&mut self, beginning: &str, patience: Duration) {
        let deadline = Instant::now() + patience;
        while !self.stderr.iter().any(|line| line.starts_with(beginning)) {
            match self.lines.recv_timeout(deadline - Instant::now()) {
                Ok(line) => self.stderr.push(line),
                Err(_) => panic!("it did not say {beginning:?} but {:?}", self.stderr),
            }
        }
    }

    /// Waits until blocks are measured.
    pub(crate) fn measures(&mut self) {
        self.says("measured ");
    }

    /// Waits for its end.
    pub(crate) fn finish(self) -> Finished {
        self.finish_within(PATIENCE)
    }

    /// Waits for its end, which must come soon.
    pub(crate) fn finish_within(mut self, time: Duration) -> Finished {
        let deadline = Instant::now() + time;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                Instant::now() < deadline,
                "it still runs after {time:?} and has said {:?}",
                self.all_lines(Duration::ZERO)
            );
            thread::sleep(Duration::from_millis(10));
        };
        let stdout = self.stdout.take().unwrap().join().unwrap();
        Finished {
            code: status.code(),
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: self.all_lines(PATIENCE).join("\n"),
        }
    }

    /// What it has said, waiting until it cannot say more.
    fn all_lines(&mut self, patience: Duration) -> &[String] {
        loop {
            match self.lines.recv_timeout(patience) {
                Ok(line) => self.stderr.push(line),
                Err(RecvTimeoutError::Disconnected) => return &self.stderr,
                Err(RecvTimeoutError::Timeout) if patience.is_zero() => return &self.stderr,
                Err(RecvTimeoutError::Timeout) => panic!("somebody else keeps its standard error open"),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Finished {
    /// It ends with this code, and standard error holds all of `words`, which ` … ` parts.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, words: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        self.says(words);
    }

    /// Standard error holds all of `words`, which ` … ` parts.
    #[track_caller]
    pub(crate) fn says(&self, words: &str) {
        says(&self.stderr, words);
    }

    /// Standard output holds all of `words`, which ` … ` parts, wherever its lines are broken.
    #[track_caller]
    pub(crate) fn shows(&self, words: &str) {
        let in_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        says(in_one_line(&self.stdout), &in_one_line(words));
    }

    /// It measured nothing and says why in one sentence that holds all of `words`, which ` … ` parts.
    pub(crate) fn refuses(&self, words: &str) {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert_eq!(self.stdout, "");
        let sentences: Vec<&str> = self.stderr.lines().filter(|line| !is_progress(line)).collect();
        let [sentence] = sentences[..] else {
            panic!("not one sentence: {sentences:?}")
        };
        assert!(sentence.starts_with("ciphertax: "), "{sentence}");
        says(sentence, words);
    }
}

fn is_progress(line: &str) -> bool {
    const STAGES: [&str; 14] = [
        "Finding out how far ",
        "Checking ",
        "Loading the tables anew",
        "Starting a private",
        "Connecting to ",
        "Leaving out ",
        "Proving that ",
        "Loading the data set",
        "Opening connections",
        "measured ",
        "Removing what was made",
        "Evaluating",
        "Waiting until",
        "Warning: ",
    ];
    STAGES.iter().any(|stage| line.starts_with(stage))
}
