/* Makes one call of the C library fail, or ends the process at it: for tests, loaded with LD_PRELOAD (Linux, glibc).
 *
 * Calls come in groups (below). fault_shim_set chooses groups, the number of the call that is hit, what happens to it,
 * and the folder whose files count. Counters lie in memory that a parent shares with the children it forks.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READ = 1, WRITE = 2, OPEN = 4, STAT = 8, FSYNC = 16, RENAME = 32, TRUNCATE = 64, COPY = 128, LINK = 256,
       MKDIR = 512, REMOVE = 1024, CHMOD = 2048, MAP = 4096, MEMORY = 8192 };

enum { COUNT, ONCE, FROM_THEN_ON, KILL, SHORT, SHRINK, CHANGE };

struct shared { atomic_long hits, calls[16]; };
static struct shared none, *shared = &none;

static int groups, action, number;
static long nth;
static atomic_long all;
static size_t least;
static char prefix[PATH_MAX];
static size_t prefix_length;

__attribute__((constructor)) static void start(void) {
    void *place = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place != MAP_FAILED) shared = place;
}

void fault_shim_set(int which, int what, long call, int error, const char *folder, size_t smallest) {
    groups = 0;
    prefix_length = strlen(folder) < PATH_MAX ? strlen(folder) : 0;
    memcpy(prefix, folder, prefix_length);
    action = what, nth = call, number = error, least = smallest;
    for (int bit = 0; bit < 16; bit++) atomic_store(&shared->calls[bit], 0);
    atomic_store(&shared->hits, 0);
    atomic_store(&all, 0);
    groups = which;
}

long fault_shim_calls(int group) { return atomic_load(&shared->calls[__builtin_ctz(group)]); }
long fault_shim_hits(void) { return atomic_load(&shared->hits); }

/* Write the path of a descriptor, or of a name from a folder's descriptor on, to a buffer; return whether it counts. */
static int counts(int fd, const char *name, char *path) {
    char link[32];
    ssize_t n = 0;
    if (name && (name[0] == '/' || fd == AT_FDCWD)) {
        snprintf(path, PATH_MAX, "%s", name);
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        n = readlink(link, path, PATH_MAX - 1);
        if (n < 0) return 0;
        path[n] = 0;
    }
    return strncmp(path, prefix, prefix_length) == 0;
}

/* Return 0 to go on, -1 to fail with errno set, 1 to do half of it; a process that is killed does not return. */
static int hit(int group, int fd, const char *name) {
    char path[PATH_MAX];
    struct stat status;
    int before = errno;
    if (!(groups & group)) return 0;
    if (group != MEMORY && !counts(fd, name, path)) { errno = before; return 0; }
    errno = before;
    atomic_fetch_add(&shared->calls[__builtin_ctz(group)], 1);
    long at = atomic_fetch_add(&all, 1) + 1;
    if (action == COUNT || at < nth || (at > nth && action != FROM_THEN_ON)) return 0;
    atomic_fetch_add(&shared->hits, 1);
    switch (action) {
    case SHORT: return 1;
    case KILL:
        if (group == WRITE) return 1;
        kill(getpid(), SIGKILL);
        pause();
        return 0;
    case SHRINK: case CHANGE: {
        int which = groups;
        groups = 0;
        if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
            if (action == SHRINK) {
                if (truncate(path, status.st_size / 2)) perror("truncate");
            } else {
                int handle = open(path, O_RDWR);
                if (pwrite(handle, "\x7f\xff\x00\xfe", 4, status.st_size / 2) != 4) perror("pwrite");
                close(handle);
            }
        }
        groups = which;
        errno = before;
        return 0;
    }
    default:
        errno = number;
        return -1;
    }
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* What a call returns, parameters and arguments; the group; whose file it is. */
#define CALL(type, name, parameters, arguments, group, fd, path) \
    type name parameters { \
        REAL(name); \
        return hit(group, fd, path) < 0 ? -1 : real arguments; \
    }

/* The same, of calls that take a count of bytes, half of which may be done. */
#define COUNTED(name, parameters, arguments, group, fd, n) \
    ssize_t name parameters { \
        REAL(name); \
        int what = hit(group, fd, NULL); \
        if (what < 0) return -1; \
        if (what > 0 && n > 1) n /= 2; \
        ssize_t done = real arguments; \
        if (what > 0 && action == KILL) { kill(getpid(), SIGKILL); pause(); } \
        return done; \
    }

COUNTED(read, (int fd, void *to, size_t n), (fd, to, n), READ, fd, n)
COUNTED(pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at), READ, fd, n)
COUNTED(pread64, (int fd, void *to, size_t n, off64_t at), (fd, to, n, at), READ, fd, n)
COUNTED(write, (int fd, const void *from, size_t n), (fd, from, n), WRITE, fd, n)
COUNTED(pwrite, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at), WRITE, fd, n)
COUNTED(pwrite64, (int fd, const void *from, size_t n, off64_t at), (fd, from, n, at), WRITE, fd, n)
COUNTED(sendfile, (int to, int from, off_t *at, size_t n), (to, from, at, n), COPY, to, n)
COUNTED(sendfile64, (int to, int from, off64_t *at, size_t n), (to, from, at, n), COPY, to, n)
COUNTED(copy_file_range, (int from, off64_t *at, int to, off64_t *there, size_t n, unsigned flags),
        (from, at, to, there, n, flags), COPY, to, n)

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        return hit(OPEN, AT_FDCWD, path) < 0 ? -1 : real(path, flags, mode); \
    }
#define OPENS_AT(name) \
    int name(int fd, const char *path, int flags, ...) { \
        REAL(name); \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        return hit(OPEN, fd, path) < 0 ? -1 : real(fd, path, flags, mode); \
    }
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)

CALL(int, stat, (const char *p, struct stat *s), (p, s), STAT, AT_FDCWD, p)
CALL(int, stat64, (const char *p, struct stat64 *s), (p, s), STAT, AT_FDCWD, p)
CALL(int, lstat, (const char *p, struct stat *s), (p, s), STAT, AT_FDCWD, p)
CALL(int, lstat64, (const char *p, struct stat64 *s), (p, s), STAT, AT_FDCWD, p)
CALL(int, fstat, (int fd, struct stat *s), (fd, s), STAT, fd, NULL)
CALL(int, fstat64, (int fd, struct stat64 *s), (fd, s), STAT, fd, NULL)
CALL(int, fstatat, (int fd, const char *p, struct stat *s, int f), (fd, p, s, f), STAT, fd, p)
CALL(int, fstatat64, (int fd, const char *p, struct stat64 *s, int f), (fd, p, s, f), STAT, fd, p)
CALL(int, fsync, (int fd), (fd), FSYNC, fd, NULL)
CALL(int, fdatasync, (int fd), (fd), FSYNC, fd, NULL)
CALL(int, rename, (const char *a, const char *b), (a, b), RENAME, AT_FDCWD, b)
CALL(int, renameat, (int d, const char *a, int e, const char *b), (d, a, e, b), RENAME, e, b)
CALL(int, renameat2, (int d, const char *a, int e, const char *b, unsigned f), (d, a, e, b, f), RENAME, e, b)
CALL(int, ftruncate, (int fd, off_t n), (fd, n), TRUNCATE, fd, NULL)
CALL(int, ftruncate64, (int fd, off64_t n), (fd, n), TRUNCATE, fd, NULL)
CALL(int, link, (const char *a, const char *b), (a, b), LINK, AT_FDCWD, b)
CALL(int, linkat, (int d, const char *a, int e, const char *b, int f), (d, a, e, b, f), LINK, e, b)
CALL(int, mkdir, (const char *p, mode_t m), (p, m), MKDIR, AT_FDCWD, p)
CALL(int, mkdirat, (int fd, const char *p, mode_t m), (fd, p, m), MKDIR, fd, p)
CALL(int, unlink, (const char *p), (p), REMOVE, AT_FDCWD, p)
CALL(int, unlinkat, (int fd, const char *p, int f), (fd, p, f), REMOVE, fd, p)
CALL(int, rmdir, (const char *p), (p), REMOVE, AT_FDCWD, p)
CALL(int, chmod, (const char *p, mode_t m), (p, m), CHMOD, AT_FDCWD, p)
CALL(int, fchmod, (int fd, mode_t m), (fd, m), CHMOD, fd, NULL)
CALL(int, fchmodat, (int fd, const char *p, mode_t m, int f), (fd, p, m, f), CHMOD, fd, p)

/* glibc's own names for the allocator: dlsym would allocate before there is an allocator. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

#define REFUSED(n) ((groups & MEMORY) && (n) >= least && hit(MEMORY, -1, NULL) < 0)

void *malloc(size_t n) { return REFUSED(n) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return REFUSED(n * size) ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t n) { return REFUSED(n) ? NULL : __libc_realloc(old, n); }
void *aligned_alloc(size_t to, size_t n) { return REFUSED(n) ? NULL : __libc_memalign(to, n); }
int posix_memalign(void **place, size_t to, size_t n) {
    void *got = REFUSED(n) ? NULL : __libc_memalign(to, n);
    if (got) *place = got;
    return got ? 0 : ENOMEM;
}

#define MAPS(name, offset) \
    void *name(void *at, size_t n, int how, int flags, int fd, offset where) { \
        REAL(name); \
        if (fd < 0 ? REFUSED(n) : hit(MAP, fd, NULL) < 0) return MAP_FAILED; \
        return real(at, n, how, flags, fd, where); \
    }
MAPS(mmap, off_t)
MAPS(mmap64, off64_t)
