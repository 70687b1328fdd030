/* Loaded into a server before its TLS library: every SSL_write computes for some SLOW_WRITE_NS nanoseconds more. For how many
 * nanoseconds of CPU time is read of one call of a thread in 32, and how often that was and how many they were is counted in the
 * file SLOW_WRITE_TRUTH. Reading the clock takes a microsecond, which is none of that: what it takes is seen by reading it twice.
 * It is not read of every call, so that most calls are what is measured and nothing else. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct truth {
    _Atomic uint64_t calls;
    _Atomic uint64_t ns;
};

static struct truth elsewhere;
static struct truth *truth = &elsewhere;
static uint64_t rounds_a_call;
static _Thread_local unsigned calls;

__attribute__((noinline)) void slowed_by_the_test(uint64_t rounds)
{
    for (uint64_t round = 0; round < rounds; round++)
        __asm__ volatile("" ::"r"(round));
}

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

__attribute__((constructor)) static void begin(void)
{
    const uint64_t rounds = 4000000;
    const char *ns = getenv("SLOW_WRITE_NS"), *path = getenv("SLOW_WRITE_TRUTH");
    uint64_t best = UINT64_MAX;
    if (ns == NULL || path == NULL)
        return;
    for (int attempt = 0; attempt < 7; attempt++) {
        uint64_t before = cpu_ns();
        slowed_by_the_test(rounds);
        uint64_t took = cpu_ns() - before;
        if (took < best)
            best = took;
    }
    rounds_a_call = rounds * strtoull(ns, NULL, 10) / best;
    int file = open(path, O_RDWR | O_CLOEXEC);
    void *shared = mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared != MAP_FAILED)
        truth = shared;
    if (file >= 0)
        close(file);
}

int SSL_write(void *session, const void *bytes, int length)
{
    static int (*real)(void *, const void *, int);
    if (real == NULL)
        real = (int (*)(void *, const void *, int))dlsym(RTLD_NEXT, "SSL_write");
    if (calls++ % 32 != 0) {
        slowed_by_the_test(rounds_a_call);
        return real(session, bytes, length);
    }
    /* The first of all is slow: what it needs is in no cache. */
    cpu_ns();
    uint64_t first = cpu_ns(), before = cpu_ns();
    slowed_by_the_test(rounds_a_call);
    uint64_t after = cpu_ns();
    atomic_fetch_add(&truth->ns, (after - before) - (before - first));
    atomic_fetch_add(&truth->calls, 1);
    return real(session, bytes, length);
}
