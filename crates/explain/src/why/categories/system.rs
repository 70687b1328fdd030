//! What all programs share: the C and C++ libraries, allocators, threads, compression.
//!
//! glibc gives many functions several names, and names the variants of one for the instructions they use.

use super::names::*;
use super::phase::Cryptography::Around;
use super::rule::Table;
use super::rule::Work::{For, Of};

pub(super) const TABLE: Table = &[
    (
        Of(COPIES),
        "memcpy* __memcpy* memmove* __memmove* memset* __memset* mempcpy* __mempcpy*",
    ),
    (
        Of(ALLOCATION),
        "malloc* calloc* __libc_calloc realloc* __libc_realloc free cfree* __libc_free* __libc_malloc* posix_memalign
         aligned_alloc _int_malloc _int_free* _int_realloc tcache_* unlink_chunk* operator*new* operator*delete* tc_malloc*
         tc_calloc* tc_realloc* tc_free* tc_new* tc_delete* tcmalloc::* libtcmalloc*!* *do_free_pages my_malloc my_free
         my_realloc __rust_alloc* __rust_dealloc* __rust_realloc* alloc::raw_vec::* <alloc*raw_vec*",
    ),
    (
        Of(LOCKS),
        "pthread_mutex_* __pthread_mutex_* ___pthread_mutex_* __GI___pthread_mutex_* pthread_rwlock_* __pthread_rwlock_*
         ___pthread_rwlock_* pthread_cond_* __pthread_cond_* ___pthread_cond_* __lll_lock_* __GI___lll_lock_* sem_* __new_sem_*",
    ),
    (
        Of(KERNEL_NETWORK),
        "libc.so*!send __send __libc_send* libc.so*!recv __recv __libc_recv* libc.so*!sendto libc.so*!recvfrom libc.so*!sendmsg
         libc.so*!recvmsg libc.so*!shutdown libc.so*!accept* libc.so*!connect libc.so*!setsockopt libc.so*!getsockopt",
    ),
    (
        Of(KERNEL_POLLING),
        "libc.so*!poll __poll __GI___poll libc.so*!ppoll libc.so*!epoll_* libc.so*!select eventfd_*",
    ),
    (
        Of(KERNEL_FILES),
        "pread64 pwrite64 __pread64 __libc_pread* __libc_pwrite* fsync fdatasync io_submit io_getevents",
    ),
    (
        Of(CLOCKS),
        "[vdso]!* clock_gettime* __clock_gettime* libc.so*!gettimeofday* libc.so*!time libc.so*!getrusage my_timer_*
         my_interval_timer my_hrtime* my_micro_time*",
    ),
    (
        Of(COMPRESSION),
        "deflate* inflate* libz*!* zlib_rs::* snappy::*",
    ),
    (
        Of(CHECKSUMS),
        "crc32* *crc32c* ut_crc32* buf_calc_page_* __wt_checksum*",
    ),
    (
        Of(CONNECTION),
        "pthread_create* __pthread_create* ___pthread_create* __nptl_* __GI___nptl_* __free_stacks allocate_stack* getnameinfo
         getaddrinfo libc.so*!getpeername",
    ),
];

/// What counts where no function of a stack has a rule: a library of one purpose, and where a thread begins.
pub(super) const LAST: Table = &[
    (
        For(Around),
        "libcrypto*!* OPENSSL_* OSSL_* ERR_* BIO_* CRYPTO_* OBJ_*",
    ),
    (Of(COMMANDS), "mongo::*"),
    (
        Of(BACKGROUND),
        "start_thread clone3 std::thread::_State_impl* execute_native_thread_routine libc.so*!libc.so*+* libstdc++*!*",
    ),
];
