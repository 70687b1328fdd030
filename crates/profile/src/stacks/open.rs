//! Opening what a process has mapped, which may be in another root, or have no name any more.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::maps::Mapping;
use super::source::Source;

/// What the kernel gives every program is a few pages.
const MAXIMUM_VDSO: u64 = 1 << 20;
/// So much of the begin of a file is compared with the process's memory.
const COMPARED: usize = 1024;

/// The bytes of what is mapped; nothing if they cannot be read, or are not those of the file that the process has.
pub(super) fn source_of(pid: u32, mapping: &Mapping) -> Option<Source> {
    if &*mapping.path == "[vdso]" {
        return vdso(pid, mapping).map(Source::Memory);
    }
    if mapping.inode == 0 {
        return None;
    }
    // The kernel's own link leads to the very file, also if it was deleted or is in a root of its own, but not for every user.
    let link = format!(
        "/proc/{pid}/map_files/{:x}-{:x}",
        mapping.addresses.start, mapping.addresses.end
    );
    if let Ok(file) = File::open(link) {
        return Some(Source::File(file));
    }
    let program = format!("/proc/{pid}/exe");
    let is_program = fs::metadata(&program).is_ok_and(|metadata| metadata.ino() == mapping.inode);
    let file = match is_program {
        true => File::open(program).ok()?,
        false => in_root_of(pid, &mapping.path).ok()?,
    };
    is_mapped(pid, mapping, &file).then_some(Source::File(file))
}

/// Opens a path as the process sees it. Links lead to nowhere outside of its root.
fn in_root_of(pid: u32, path: &str) -> io::Result<File> {
    let root = File::open(format!("/proc/{pid}/root"))?;
    // A pipe of that name must not keep anybody waiting.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = rustix::fs::openat2(
        &root,
        Path::new(path),
        flags,
        Mode::empty(),
        ResolveFlags::IN_ROOT,
    );
    let file = match opened {
        Ok(file) => File::from(file),
        Err(_) => return Err(io::ErrorKind::NotFound.into()),
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// True unless the process shows that it has mapped another file of that name: a program can be replaced while it runs.
fn is_mapped(pid: u32, mapping: &Mapping, file: &File) -> bool {
    if file
        .metadata()
        .is_ok_and(|metadata| metadata.ino() == mapping.inode)
    {
        return true;
    }
    // File systems in layers number files differently; the header, which has the build ID behind it, is mapped first.
    let mut own = [0; COMPARED];
    let mut mapped = [0; COMPARED];
    let start = mapping.addresses.start.checked_sub(mapping.offset);
    start.is_some_and(|start| memory(pid, start, &mut mapped))
        && file.read_exact_at(&mut own, 0).is_ok()
        && own == mapped
}

fn vdso(pid: u32, mapping: &Mapping) -> Option<Vec<u8>> {
    let length = mapping.addresses.end.checked_sub(mapping.addresses.start)?;
    let mut bytes = vec![0; usize::try_from(length.min(MAXIMUM_VDSO)).ok()?];
    memory(pid, mapping.addresses.start, &mut bytes).then_some(bytes)
}

/// Reads memory of a process; false if not all of it can be read.
pub(super) fn memory(pid: u32, address: u64, buffer: &mut [u8]) -> bool {
    File::open(format!("/proc/{pid}/mem")).is_ok_and(|memory| memory.read_exact_at(buffer, address).is_ok())
}
