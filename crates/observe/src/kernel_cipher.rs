//! By which code the kernel computes a cipher.

use procfs::{CryptoTable, Current};

/// The driver that the kernel takes for a cipher, as `xts(aes)`: of those in `/proc/crypto` the one with the highest priority.
/// `None` where the kernel has not used the cipher yet, or does not say.
pub fn kernel_cipher(cipher: &str) -> Option<String> {
    driver_of(cipher, &CryptoTable::current().ok()?)
}

fn driver_of(cipher: &str, table: &CryptoTable) -> Option<String> {
    // Internal ones are parts of others.
    let drivers = table.get(cipher)?.iter().filter(|block| !block.internal);
    let taken = drivers.max_by_key(|block| block.priority)?;
    Some(taken.driver.clone())
}

#[cfg(test)]
mod tests {
    use procfs::FromBufRead;

    use super::*;

    fn block(driver: &str, priority: u32, internal: &str) -> String {
        format!(
            "name         : xts(aes)\ndriver       : {driver}\nmodule       : kernel\npriority     : {priority}\n\
             refcnt       : 1\nselftest     : passed\ninternal     : {internal}\ntype         : skcipher\n\
             async        : no\nblocksize    : 16\nmin keysize  : 32\nmax keysize  : 64\nivsize       : 16\n\
             chunksize    : 16\nwalksize     : 16\n\n"
        )
    }

    #[test]
    fn the_driver_that_comes_first_for_the_kernel_is_told() {
        let text = [
            block("xts(ecb(aes-generic))", 100, "no"),
            block("xts-aes-aesni", 401, "no"),
            block("__xts-aes-aesni", 500, "yes"),
        ];
        let table = CryptoTable::from_buf_read(text.concat().as_bytes()).unwrap();
        assert_eq!(driver_of("xts(aes)", &table).as_deref(), Some("xts-aes-aesni"));
        assert_eq!(driver_of("xts(camellia)", &table), None);
    }
}
