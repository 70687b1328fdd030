/* Loaded into a server: every flush of a file to the disk takes SLOW_FLUSH_NS nanoseconds more, in which the thread sleeps. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void sleep_first(void)
{
    const char *ns = getenv("SLOW_FLUSH_NS");
    if (ns == NULL)
        return;
    struct timespec more = {.tv_nsec = atol(ns)};
    while (nanosleep(&more, &more) != 0)
        ;
}

int fsync(int file)
{
    static int (*real)(int);
    if (real == NULL)
        real = dlsym(RTLD_NEXT, "fsync");
    sleep_first();
    return real(file);
}

int fdatasync(int file)
{
    static int (*real)(int);
    if (real == NULL)
        real = dlsym(RTLD_NEXT, "fdatasync");
    sleep_first();
    return real(file);
}
