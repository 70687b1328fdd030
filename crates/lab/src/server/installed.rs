//! Which servers are installed, with all that their families need.

use crate::catalogue::Entry;
use crate::error::Result;
use crate::locate::Installation;

use super::families::family;

impl Installation {
    /// The server of a catalogue entry: in the user's cache, where `ciphertax servers install` puts it; the
    /// distribution's own also in the system.
    ///
    /// # Errors
    /// Names what is missing, where it was looked for, and the remedy.
    pub fn of(entry: &'static Entry) -> Result<Self> {
        let installation = Self::locate(entry)?;
        family(entry).check_files(&installation)?;
        Ok(installation)
    }

    /// True if it has every library that the catalogue promises of it.
    pub fn is_complete(&self) -> bool {
        family(self.entry()).is_complete(self)
    }
}
