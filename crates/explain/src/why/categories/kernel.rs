//! The kernel, and what all programs share.

use super::names::*;
use super::rule::Cryptography::Around;
use super::rule::Table;
use super::rule::Work::{For, Of};

/// The functions of Linux, as /proc/kallsyms names them (seen in 6.1 and 6.18). What is not here belongs to what
/// calls it: slabs, reference counts, spin locks and copies serve everything.
pub(super) const KERNEL: Table = &[
    // Of what the kernel computes by itself only the encryption of files is seen in a server's threads.
    (
        Of(AT_REST_CIPHER),
        "aes_* aesni_* crypto_* xts_* fscrypt_*crypt_*",
    ),
    (
        Of(KERNEL_INTERRUPTS),
        "asm_sysvec_* asm_common_interrupt common_interrupt sysvec_* __irq_exit_rcu irqentry_* exit_to_user_mode_loop
         handle_softirqs __do_softirq rcu_* run_timer_softirq hrtimer_interrupt __x86_indirect_*",
    ),
    (
        Of(KERNEL_SCHEDULER),
        "finish_task_switch* __schedule schedule* try_to_wake_up ttwu_* wake_up_q wake_up_var __wake_up* default_wake_function
         autoremove_wake_function woken_wake_function wait_woken select_task_rq* select_idle_* select_estimate_accuracy
         enqueue_task* dequeue_task* enqueue_entity dequeue_entit* pick_* put_prev_* set_next_* update_curr update_load_avg
         __x64_sys_sched_yield do_sched_yield __rseq_handle_notify_resume hrtimer_nanosleep",
    ),
    (
        Of(KERNEL_FUTEX),
        "futex_* __futex_* do_futex __x64_sys_futex",
    ),
    (
        Of(KERNEL_POLLING),
        "do_sys_poll do_pollfd __x64_sys_poll __x64_sys_ppoll poll_* __pollwait do_epoll_* ep_* __x64_sys_epoll_*
         eventpoll_release_file eventfd_* do_select core_sys_select set_user_sigmask io_poll_* __io_poll_* io_arm_apoll
         io_arm_poll* __io_arm_poll_handler",
    ),
    (
        Of(KERNEL_NETWORK),
        "tcp_* __tcp_* bbr_* cubictcp_* ip_* __ip_* ipv4_* inet_* __inet_* inet6_* fib_* sock_* __sock_* sk_* __sk_* skb_*
         __skb_* __alloc_skb __kfree_skb kfree_skb* napi_* __napi_* net_rx_action process_backlog enqueue_to_backlog netif_*
         __netif_* dev_* __dev_* loopback_xmit validate_xmit_skb* eth_type_trans release_sock __release_sock lock_sock_nested
         unix_* raw_local_deliver security_sock* __local_bh_enable_ip do_softirq* ____sys_*msg ___sys_*msg __sys_sendto
         __sys_recvfrom __sys_sendmsg __sys_recvmsg __x64_sys_sendto __x64_sys_recvfrom __x64_sys_sendmsg __x64_sys_recvmsg
         __sys_socket __sys_connect __sys_accept4* do_accept __sys_shutdown __sys_getpeername __sys_getsockname
         __sys_getsockopt do_sock_* __sys_setsockopt __x64_sys_accept* __x64_sys_connect __x64_sys_socket __x64_sys_setsockopt
         __x64_sys_shutdown io_recv* io_send*",
    ),
    (
        Of(KERNEL_THREADS),
        "copy_process kernel_clone __do_sys_clone* __x64_sys_clone* wake_up_new_task dup_mm* copy_page_range ret_from_fork*
         do_exit do_group_exit exit_mm* mmput release_task wait_consider_task do_wait* __x64_sys_exit*
         __x64_sys_set_robust_list begin_new_exec load_elf_binary",
    ),
    (
        Of(KERNEL_MEMORY),
        "handle_mm_fault __handle_mm_fault filemap_map_pages filemap_fault next_uptodate_folio do_anonymous_page
         do_user_addr_fault exc_page_fault asm_exc_page_fault do_fault* do_wp_page wp_page_copy clear_page* do_mmap mmap_region
         vm_mmap_pgoff ksys_mmap_pgoff __x64_sys_mmap __vm_munmap do_munmap do_vmi_*munmap unmap_* __x64_sys_munmap do_madvise*
         madvise_* __x64_sys_madvise do_mprotect_pkey mprotect_fixup __x64_sys_mprotect __x64_sys_brk zap_* tlb_* flush_tlb_*",
    ),
    (
        Of(KERNEL_FILES),
        "vfs_* ksys_* __x64_sys_read __x64_sys_write __x64_sys_p*64 ext4_* __ext4_* jbd2_* iomap_* xfs_* btrfs_* ovl_* fuse_*
         filemap_get_pages filemap_read filemap_write_and_wait_range filemap_fdatawrite* __filemap_* generic_*
         balance_dirty_pages* write_cache_pages __writeback_single_inode do_writepages file_write_and_wait_range do_fsync
         __x64_sys_f*sync blk_* __blk_* bio_* __bio_* submit_bio* virtblk_* virtqueue_* vring_* loop_* aio_* io_submit_one
         __x64_sys_io_* do_io_getevents read_events io_uring_* __io_* __do_sys_io_uring_* io_* do_filp_open path_*
         link_path_walk walk_component filename_lookup do_sys_openat2 __x64_sys_openat user_path_at* do_faccessat __fput dput
         __dentry_kill evict alloc_empty_file do_iter_* seq_* proc_* __x64_sys_close __x64_sys_getdents64 __x64_sys_fcntl
         __x64_sys_access __x64_sys_*stat*",
    ),
];

/// What all programs share: the C and C++ libraries, allocators, threads, compression. glibc gives many functions
/// several names, and names the variants of one for the instructions they use.
pub(super) const SYSTEM: Table = &[
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
