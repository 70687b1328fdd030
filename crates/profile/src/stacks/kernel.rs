//! The kernel's functions.

use std::fs;

const LIST: &str = "/proc/kallsyms";
/// What stands for all of them where their names are hidden.
pub(super) const KERNEL: &str = "[kernel]";

/// Where the kernel's functions begin, with their names; empty where `/proc/kallsyms` hides that.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// Address, and where in `names` the name begins; by address.
    functions: Vec<(u64, u32)>,
    /// Names, each with a line end behind it.
    names: String,
}

impl Kernel {
    /// The running kernel's.
    pub(super) fn read() -> Self {
        let list = fs::read(LIST).unwrap_or_default();
        Self::parse(&String::from_utf8_lossy(&list))
    }

    fn parse(list: &str) -> Self {
        let mut kernel = Self::default();
        for line in list.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let address = u64::from_str_radix(address, 16).unwrap_or(0);
            let is_code = matches!(kind, "t" | "T" | "w" | "W");
            if address != 0
                && is_code
                && let Ok(at) = u32::try_from(kernel.names.len())
            {
                kernel.functions.push((address, at));
                kernel.names.push_str(name);
                kernel.names.push('\n');
            }
        }
        let names = &kernel.names;
        kernel
            .functions
            .sort_unstable_by_key(|(address, at)| (*address, underscores(name_at(names, *at)), *at));
        kernel.functions.dedup_by_key(|(address, _)| *address);
        kernel.functions.shrink_to_fit();
        kernel
    }

    /// The name of the function that an address is in.
    pub(super) fn name(&self, address: u64) -> &str {
        let at = self.functions.partition_point(|(start, _)| *start <= address);
        match self.functions[..at].last() {
            Some((_, name)) => name_at(&self.names, *name),
            None => KERNEL,
        }
    }
}

fn name_at(names: &str, at: u32) -> &str {
    names[at as usize..].lines().next().unwrap_or(KERNEL)
}

fn underscores(name: &str) -> usize {
    name.len() - name.trim_start_matches('_').len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_the_function_that_begins_before_it() {
        let kernel = Kernel::parse(
            "ffffffff81000200 t tcp_sendmsg\n\
             ffffffff81000100 T __futex_wait\n\
             ffffffff81000100 T futex_wait\n\
             ffffffff81000180 d some_data\n\
             ffffffffc0000000 t nft_do_chain\t[nf_tables]\n\
             nonsense\n",
        );
        assert_eq!(kernel.name(0xffff_ffff_8100_0100), "futex_wait");
        assert_eq!(kernel.name(0xffff_ffff_8100_01ff), "futex_wait");
        assert_eq!(kernel.name(0xffff_ffff_8100_0200), "tcp_sendmsg");
        assert_eq!(kernel.name(0xffff_ffff_c000_0010), "nft_do_chain");
        assert_eq!(kernel.name(0xffff_ffff_8000_0000), KERNEL);
    }

    #[test]
    fn hidden_names_leave_one_for_all() {
        let kernel = Kernel::parse("0000000000000000 T futex_wait\n0000000000000000 T tcp_sendmsg\n");
        assert_eq!(kernel.name(0xffff_ffff_8100_0100), KERNEL);
        assert_eq!(Kernel::parse("").name(1), KERNEL);
    }
}
