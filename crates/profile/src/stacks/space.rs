//! The address space of a process: the files that it has loaded, and where.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};

use super::elf_file::ElfFile;
use super::layout::{Layout, Mapping, Source, source_of};

/// The number of a file among all that were read.
pub(super) type FileId = usize;

/// Which file it is, where, and as of when.
type Key = (Box<str>, u64, u64, i64, Option<String>);

/// All files that were read, of whichever processes.
#[derive(Debug, Default)]
pub(super) struct Files {
    files: Vec<ElfFile>,
    ids: HashMap<Key, FileId>,
}

impl Files {
    /// The file of a mapping, read unless it is known.
    fn of(&mut self, pid: u32, mapping: &Mapping) -> FileId {
        let source = source_of(pid, mapping);
        let read = source.and_then(|source| Some((Layout::read(&source)?, source)));
        let (device, inode) = (mapping.device.clone(), mapping.inode);
        let Some((layout, source)) = read else {
            let key = (device, inode, 0, 0, Some(mapping.name().to_owned()));
            return self.add(key, || ElfFile::unreadable(mapping.name()));
        };
        // A number is given to another file once its own is deleted.
        let (size, changed) = match &source {
            Source::File(file) => file.metadata().map_or((0, 0), |metadata| {
                (
                    metadata.len(),
                    metadata.mtime().wrapping_mul(1_000_000_000) + metadata.mtime_nsec(),
                )
            }),
            Source::Memory(bytes) => (bytes.len() as u64, 0),
        };
        let key = (device, inode, size, changed, layout.build_id.clone());
        self.add(key, || ElfFile::read(mapping.name(), source, layout))
    }

    fn add(&mut self, key: Key, read: impl FnOnce() -> ElfFile) -> FileId {
        *self.ids.entry(key).or_insert_with(|| {
            self.files.push(read());
            self.files.len() - 1
        })
    }

    pub(super) fn get(&self, id: FileId) -> &ElfFile {
        &self.files[id]
    }

    pub(super) fn get_mut(&mut self, id: FileId) -> &mut ElfFile {
        &mut self.files[id]
    }
}

/// A file, or a part of it, where it is loaded.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub(super) addresses: Range<u64>,
    /// What is added to the file's own addresses.
    pub(super) bias: u64,
    pub(super) file: FileId,
}

/// The address space of a process, as far as it is code, and what belongs to it.
#[derive(Debug, Clone, Default)]
pub(super) struct Space {
    /// Code, by address.
    code: Vec<Image>,
    /// Files with their data, by address.
    whole: Vec<Image>,
    /// Code of no file, by address.
    anonymous: Vec<Range<u64>>,
    /// Which mappings the files of `code` are of.
    known: HashMap<(Box<str>, u64, Box<str>), FileId>,
}

impl Space {
    /// Of a process with these mappings. `before` is what it was.
    pub(super) fn new(pid: u32, mappings: &[Mapping], before: Option<&Self>, files: &mut Files) -> Self {
        let mut space = Self::default();
        for mapping in mappings {
            let is_file = mapping.inode != 0 || &*mapping.path == "[vdso]";
            if !is_file {
                space.anonymous.push(mapping.addresses.clone());
                continue;
            }
            let key = (mapping.device.clone(), mapping.inode, mapping.path.clone());
            let known = space.known.get(&key).or_else(|| before?.known.get(&key));
            let file = match known {
                Some(file) => *file,
                None => files.of(pid, mapping),
            };
            space.known.insert(key, file);
            space.add(mapping, file, &files.get(file).layout);
        }
        space.whole.sort_unstable_by_key(|image| image.addresses.start);
        space.whole.dedup_by_key(|image| (image.file, image.bias));
        space
    }

    fn add(&mut self, mapping: &Mapping, file: FileId, layout: &Layout) {
        let address = layout.address_of(mapping.offset).unwrap_or(mapping.offset);
        let bias = mapping.addresses.start.wrapping_sub(address);
        self.code.push(Image {
            addresses: mapping.addresses.clone(),
            bias,
            file,
        });
        let extent = layout.extent();
        let (start, end) = (extent.start.wrapping_add(bias), extent.end.wrapping_add(bias));
        if start < end {
            self.whole.push(Image {
                addresses: start..end,
                bias,
                file,
            });
        }
    }

    pub(super) fn code_at(&self, address: u64) -> Option<&Image> {
        image_at(&self.code, address).or_else(|| {
            // Some programs move their code to larger pages, which belong to no file.
            let is_anonymous = self.is_anonymous(address);
            image_at(&self.whole, address).filter(|_| is_anonymous)
        })
    }

    pub(super) fn whole_at(&self, address: u64) -> Option<&Image> {
        image_at(&self.whole, address)
    }

    pub(super) fn is_code(&self, address: u64) -> bool {
        image_at(&self.code, address).is_some() || self.is_anonymous(address)
    }

    fn is_anonymous(&self, address: u64) -> bool {
        let at = self.anonymous.partition_point(|range| range.start <= address);
        self.anonymous[..at]
            .last()
            .is_some_and(|range| range.contains(&address))
    }

    /// Gives functions without names those by which other files call them: which of several functions for the same the loader
    /// has chosen stands in the process's memory alone.
    pub(super) fn name_targets(&self, pid: u32, files: &mut Files) {
        let Ok(memory) = File::open(format!("/proc/{pid}/mem")) else {
            return;
        };
        for image in &self.whole {
            let read = |address, bytes: &mut [u8]| memory.read_exact_at(bytes, address).is_ok();
            for (slot, target) in files.get(image.file).imports.targets(image.bias, read) {
                let Some(to) = self.code_at(target) else { continue };
                let address = target.wrapping_sub(to.bias);
                if files.get(to.file).is_nameless(address)
                    && let Some(name) = files.get(image.file).import(slot)
                {
                    files.get_mut(to.file).add_alias(address, name);
                }
            }
        }
    }
}

fn image_at(images: &[Image], address: u64) -> Option<&Image> {
    let at = images.partition_point(|image| image.addresses.start <= address);
    images[..at]
        .last()
        .filter(|image| image.addresses.contains(&address))
}
