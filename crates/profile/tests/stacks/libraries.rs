//! Libraries that are loaded late, deleted, or have functions without names.

use std::collections::BTreeSet;
use std::ffi::{CString, c_void};
use std::fs;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::process;

use ciphertax_profile::Stacks;
use ciphertax_testkit::{not_tested, temporary_folder};

use crate::look::name;

#[test]
fn a_library_is_known_once_it_was_loaded_also_if_it_is_deleted() {
    let folder = temporary_folder();
    let copy = folder.path().join("libmathematics.so");
    fs::copy(beside_libc("libm.so.6"), &copy).unwrap();
    let mut stacks = Stacks::default();
    stacks.refresh(process::id()).unwrap();
    let library = Library::load(copy.to_str().unwrap()).unwrap();
    let function = library.address("nextafterl").unwrap();
    assert_eq!(name(&mut stacks, process::id(), function), "[unknown]");
    fs::remove_file(&copy).unwrap();
    // Another file has its name now.
    fs::copy(beside_libc("libc.so.6"), &copy).unwrap();
    stacks.refresh(process::id()).unwrap();
    let named = name(&mut stacks, process::id(), function);
    if ciphertax_testkit::is_root() {
        assert_eq!(named, "nextafterl");
    } else {
        assert_eq!(named, "libmathematics.so");
    }
}

#[test]
fn what_the_loader_chose_is_called_by_the_name_that_was_asked_for() {
    let mut stacks = Stacks::default();
    stacks.refresh(process::id()).unwrap();
    // Which variant `memcpy` is depends on the CPU; none of them is exported. This program calls it, so its slot leads there.
    let chosen = Library::load("libc.so.6").unwrap().address("memcpy").unwrap();
    let named = name(&mut stacks, process::id(), chosen + 1);
    assert!(["memcpy", "memmove"].contains(&&*named), "{named}");
}

#[test]
fn a_function_without_a_name_never_has_its_neighbours() {
    let Some(library) = Library::load("libcrypto.so.3") else {
        return not_tested("there is no libcrypto.so.3");
    };
    let mut stacks = Stacks::default();
    stacks.refresh(process::id()).unwrap();
    let start = library.address("AES_encrypt").unwrap();
    let base = exported(start).unwrap().base;
    let mut labels = BTreeSet::new();
    let mut named = 0;
    for address in (start - (512 << 10)..start + (512 << 10)).step_by(48) {
        let name = name(&mut stacks, process::id(), address);
        let inside = exported(address).filter(|symbol| address - symbol.address < symbol.size);
        if let Some(label) = name.strip_prefix("libcrypto.so.3+0x") {
            assert!(inside.is_none(), "{name} is {}", inside.unwrap().name);
            let begin = base + u64::from_str_radix(label, 16).unwrap();
            let is_inside = (begin..=begin + (64 << 10)).contains(&address);
            assert!(is_inside, "{name}: {address:x}");
            labels.insert(name);
        } else if let Some(symbol) = inside {
            assert_eq!(library.address(&name), Some(symbol.address), "{name}");
            named += 1;
        }
    }
    println!(
        "{named} addresses have names, {} functions have none",
        labels.len()
    );
    assert!(named > 100 && labels.len() > 100, "{named}, {}", labels.len());
}

/// A library, which stays loaded.
struct Library(*mut c_void);

impl Library {
    fn load(name: &str) -> Option<Self> {
        let name = CString::new(name).unwrap();
        // SAFETY: the name ends with a zero byte, and what the library does on loading is harmless.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        (!handle.is_null()).then_some(Self(handle))
    }

    fn address(&self, name: &str) -> Option<u64> {
        let name = CString::new(name).unwrap();
        // SAFETY: the library is loaded and the name ends with a zero byte.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!address.is_null()).then_some(address as u64)
    }
}

/// The exported symbol before an address, as the loader knows it.
struct Exported {
    base: u64,
    name: String,
    address: u64,
    size: u64,
}

fn exported(address: u64) -> Option<Exported> {
    unsafe extern "C" {
        fn dladdr1(
            address: *const c_void,
            info: *mut libc::Dl_info,
            extra: *mut *const c_void,
            flags: libc::c_int,
        ) -> libc::c_int;
    }
    const RTLD_DL_SYMENT: libc::c_int = 1;
    let mut info = MaybeUninit::zeroed();
    let mut symbol = std::ptr::null();
    // SAFETY: both places may be written, and are only read if it says that it has.
    let info: libc::Dl_info = unsafe {
        if dladdr1(
            address as *const c_void,
            info.as_mut_ptr(),
            &mut symbol,
            RTLD_DL_SYMENT,
        ) == 0
        {
            return None;
        }
        info.assume_init()
    };
    if symbol.is_null() || info.dli_sname.is_null() {
        return None;
    }
    // SAFETY: the loader's own symbol and its name, of a library that stays loaded.
    let (symbol, name) = unsafe {
        (
            symbol.cast::<libc::Elf64_Sym>().read(),
            std::ffi::CStr::from_ptr(info.dli_sname),
        )
    };
    Some(Exported {
        base: info.dli_fbase as u64,
        name: name.to_string_lossy().into_owned(),
        address: info.dli_saddr as u64,
        size: symbol.st_size,
    })
}

fn beside_libc(name: &str) -> PathBuf {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let libc = maps.lines().find(|line| line.ends_with("/libc.so.6")).unwrap();
    let path = Path::new(&libc[libc.find('/').unwrap()..]);
    path.parent().unwrap().join(name)
}
