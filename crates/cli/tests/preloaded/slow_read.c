/* Loaded into a server: every read of a page at its place in a file takes SLOW_READ_NS nanoseconds more, in which the thread sleeps. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>

/* Smaller reads are of headers and logs. */
enum { SMALLEST_PAGE = 4096 };

static void sleep_first(size_t length)
{
    const char *ns = getenv("SLOW_READ_NS");
    if (ns == NULL || length < SMALLEST_PAGE)
        return;
    struct timespec more = {.tv_nsec = atol(ns)};
    while (nanosleep(&more, &more) != 0)
        ;
}

ssize_t pread(int file, void *bytes, size_t length, off_t at)
{
    static ssize_t (*real)(int, void *, size_t, off_t);
    if (real == NULL)
        real = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    sleep_first(length);
    return real(file, bytes, length, at);
}

ssize_t pread64(int file, void *bytes, size_t length, off64_t at)
{
    static ssize_t (*real)(int, void *, size_t, off64_t);
    if (real == NULL)
        real = (ssize_t(*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
    sleep_first(length);
    return real(file, bytes, length, at);
}
