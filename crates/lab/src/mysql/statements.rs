//! Statements that a server runs before it lets anybody in, through a pipe: they are never in a file.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::error::{Error, Result};

/// Longest text that a pipe takes at once whoever reads it.
const PIPE_BUF: usize = 4096;

/// A named pipe that a server reads as its init file, and what it will read there.
pub(super) struct Statements {
    path: PathBuf,
    text: String,
    is_delivered: AtomicBool,
}

impl Statements {
    /// A new pipe in `folder`, for its owner alone.
    pub(super) fn pipe_in(folder: &Path, statements: Vec<String>) -> Result<Self> {
        let path = folder.join("statements");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .map_err(io::Error::from)
            .map_err(Error::write(&path))?;
        let text = statements.join("\n") + "\n";
        debug_assert!(text.len() <= PIPE_BUF);
        Ok(Self {
            path,
            text,
            is_delivered: AtomicBool::new(false),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes them if the server waits for them, and then closes the pipe. True if it did; false as long as nobody
    /// reads. Never waits: they fit into the pipe.
    pub(super) fn deliver(&self) -> Result<bool> {
        if !self.is_delivered.load(Ordering::Relaxed) {
            self.is_delivered.store(self.try_to_deliver()?, Ordering::Relaxed);
        }
        Ok(self.is_delivered.load(Ordering::Relaxed))
    }

    fn try_to_deliver(&self) -> Result<bool> {
        let pipe = File::options()
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&self.path);
        match pipe {
            Ok(mut pipe) => match pipe.write_all(self.text.as_bytes()) {
                // The server has ended; its log says why.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
                written => written.map(|()| true).map_err(Error::write(&self.path)),
            },
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(false),
            Err(error) => Err(Error::write(&self.path)(error)),
        }
    }
}

impl Drop for Statements {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_reader_gets_all_and_then_the_end_and_without_one_nothing_waits() {
        let folder = tempfile::tempdir().unwrap();
        let statements =
            Statements::pipe_in(folder.path(), vec!["SELECT 1;".into(), "SELECT 2;".into()]).unwrap();
        assert!(!statements.deliver().unwrap());
        let path = statements.path().to_owned();
        let reader = thread::spawn(move || fs::read_to_string(path).unwrap());
        while !statements.deliver().unwrap() {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(reader.join().unwrap(), "SELECT 1;\nSELECT 2;\n");
        let path = statements.path().to_owned();
        drop(statements);
        assert!(!path.exists());
    }
}
