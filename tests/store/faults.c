/* A disk that fails: preloaded, it lets the n-th write, sync, cut or renaming below a folder
   fail, once or from then on. Calls elsewhere are left alone. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static long seen, failing_at;
static int for_ever, error;

/* Count from now on; fail the n-th call (0: none). */
void faults_arm(long n, int and_then_all, int with_error) {
    seen = 0, failing_at = n, for_ever = and_then_all, error = with_error;
}

long faults_seen(void) { return seen; }

static int fails(const char *path) {
    const char *folder = getenv("FAULTS_BELOW");
    if (!folder || strncmp(path, folder, strlen(folder))) return 0;
    long number = __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
    if (!failing_at || number < failing_at || (number > failing_at && !for_ever)) return 0;
    errno = error;
    return 1;
}

static int fails_at(int descriptor) {
    char name[64], path[PATH_MAX + 1];
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(name, path, PATH_MAX);
    if (length < 0) return 0;
    path[length] = 0;
    return fails(path);
}

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define ON_DESCRIPTOR(type, name, parameters, arguments) \
    type name parameters { REAL(name); return fails_at(fd) ? -1 : real arguments; }
#define ON_PATH(type, name, parameters, arguments) \
    type name parameters { REAL(name); return fails(to) ? -1 : real arguments; }

ON_DESCRIPTOR(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n))
ON_DESCRIPTOR(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
ON_DESCRIPTOR(ssize_t, pwrite, (int fd, const void *b, size_t n, off_t at), (fd, b, n, at))
ON_DESCRIPTOR(ssize_t, pwrite64, (int fd, const void *b, size_t n, off64_t at), (fd, b, n, at))
ON_DESCRIPTOR(ssize_t, copy_file_range,
              (int fd0, off64_t *a, int fd, off64_t *b, size_t n, unsigned f),
              (fd0, a, fd, b, n, f))
ON_DESCRIPTOR(ssize_t, sendfile64, (int fd, int fd0, off64_t *a, size_t n), (fd, fd0, a, n))
ON_DESCRIPTOR(ssize_t, sendfile, (int fd, int fd0, off_t *a, size_t n), (fd, fd0, a, n))
ON_DESCRIPTOR(int, fsync, (int fd), (fd))
ON_DESCRIPTOR(int, fdatasync, (int fd), (fd))
ON_DESCRIPTOR(int, ftruncate, (int fd, off_t n), (fd, n))
ON_DESCRIPTOR(int, ftruncate64, (int fd, off64_t n), (fd, n))
ON_DESCRIPTOR(int, posix_fallocate, (int fd, off_t at, off_t n), (fd, at, n))
ON_PATH(int, rename, (const char *from, const char *to), (from, to))
ON_PATH(int, mkdir, (const char *to, mode_t mode), (to, mode))
