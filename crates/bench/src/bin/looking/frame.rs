//! Functions as other programs print them, named as the product names its own, so that the same rules fit both.

use cpp_demangle::{DemangleOptions, Symbol};

/// The module that the rules know the kernel's functions by.
const KERNEL: &str = "[kernel]";
/// Modules in brackets that are not the kernel's.
const NOT_THE_KERNEL: [&str; 4] = ["[vdso]", "[vsyscall]", "[unknown]", "[heap]"];
/// A function of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Its name without the types of its arguments; `[unknown]` where it has none.
    pub(crate) function: String,
    /// The file that it is in, without folders.
    pub(crate) module: String,
}

impl Frame {
    /// Reads `NAME (FILE)`, as `perf script` prints it.
    pub(crate) fn of_perf(text: &str) -> Self {
        let (name, file) = text.rsplit_once(" (").unwrap_or((text, "[unknown])"));
        let file = file.trim_end_matches(')');
        let file = file.rsplit('/').next().unwrap_or(file);
        let is_kernel = file.starts_with('[') && !NOT_THE_KERNEL.contains(&file);
        Self {
            function: readable(name.trim()),
            module: if is_kernel { KERNEL } else { file }.to_owned(),
        }
    }

    pub(crate) fn is_kernel(&self) -> bool {
        self.module == KERNEL
    }

    /// True if nothing called it: it is where a thread, or the program, begins.
    pub(crate) fn is_begin(&self) -> bool {
        is_begin(&self.function)
    }
}

/// True of a function that a thread, or the program, begins in: of the system's library, of the program, or of the kernel.
pub(crate) fn is_begin(function: &str) -> bool {
    let is_named = matches!(
        function,
        "clone" | "clone3" | "__clone" | "__clone3" | "start_thread" | "_start" | "main"
    );
    is_named || function.starts_with("__libc_start_") || function.starts_with("ret_from_fork")
}

/// A name without version and without what compilers add to parts of a function; demangled, since not every `perf` can do that.
fn readable(name: &str) -> String {
    let name = name.split('@').next().unwrap_or(name);
    let end = [".cold", ".isra.", ".part.", ".constprop.", ".lto_priv."]
        .iter()
        .filter_map(|suffix| name.find(suffix))
        .min();
    let name = end.map_or(name, |end| &name[..end]);
    if !name.starts_with("_Z") {
        return name.to_owned();
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    let symbol = Symbol::new(name).ok();
    let demangled = symbol.and_then(|symbol| symbol.demangle_with_options(&options).ok());
    demangled.unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &str) -> (String, String) {
        let frame = Frame::of_perf(text);
        (frame.function, frame.module)
    }

    #[test]
    fn functions_of_perf_have_the_names_that_the_rules_know() {
        let is = |text, function: &str, module: &str| {
            assert_eq!(frame(text), (function.to_owned(), module.to_owned()));
        };
        is("schedule ([kernel.kallsyms])", "schedule", "[kernel]");
        is("ext4_sync_file ([ext4])", "ext4_sync_file", "[kernel]");
        is(
            "[unknown] (/usr/lib/libcrypto.so.3)",
            "[unknown]",
            "libcrypto.so.3",
        );
        is("[unknown] ([unknown])", "[unknown]", "[unknown]");
        is(
            "clock_nanosleep@GLIBC_2.2.5 (/lib/libc.so.6)",
            "clock_nanosleep",
            "libc.so.6",
        );
        is(
            "_ZN7handler17ha_index_read_mapEPhPKhm16ha_rkey_function (/usr/sbin/mariadbd)",
            "handler::ha_index_read_map",
            "mariadbd",
        );
    }

    #[test]
    fn a_stack_is_complete_where_a_thread_begins() {
        for name in [
            "clone3",
            "start_thread",
            "_start",
            "main",
            "__libc_start_call_main",
            "ret_from_fork_asm",
        ] {
            assert!(is_begin(name), "{name}");
        }
        for name in ["mysqld_main", "main_arena", "[unknown]", "clone_root"] {
            assert!(!is_begin(name), "{name}");
        }
    }
}
