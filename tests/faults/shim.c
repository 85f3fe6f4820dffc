/* Makes the n-th operation on files of one folder fail; loaded before the C library by LD_PRELOAD.

   At this level a fault reaches everything that reads or writes: Python, polars, libsndfile, PyTorch, ONNX Runtime.
   Counted are opening, reading, writing, renaming, syncing, making and listing folders; nothing before arm(). */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ONCE, LASTING, KILL };                  /* one operation, all that need space from then on, or SIGKILL there */
enum { READING, WRITING };
enum { FILES = 4096, LONGEST = 1024 };

static char folder[LONGEST], names[FILES][LONGEST], failed[64 * LONGEST];     /* a line for each operation that failed */
static long target, only_writes;
static int error_number, mode, armed;
static atomic_long count, writes;

void arm(const char *path, long n, int error, int how, int among_writes) {
    snprintf(folder, sizeof folder, "%s", path);
    target = n, error_number = error, mode = how, only_writes = among_writes;
    failed[0] = 0;
    count = writes = 0;
    armed = 1;
}
void disarm(void) { armed = 0; }
long counted(void) { return count; }
long counted_writes(void) { return writes; }
const char *what_failed(void) { return failed; }

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* The absolute path of a name; 0 if it is not in the folder. */
static int inside(int at, const char *path, char *absolute) {
    if (!armed || !path) return 0;
    char base[LONGEST] = "";
    if (path[0] != '/') {
        if (at == AT_FDCWD) { if (!getcwd(base, sizeof base)) return 0; }
        else if (at >= 0 && at < FILES) memcpy(base, names[at], sizeof base);
        if (!base[0]) return 0;
    }
    if (strlen(base) + strlen(path) + 2 > LONGEST) return 0;
    strcat(strcat(strcpy(absolute, base), base[0] ? "/" : ""), path);
    size_t length = strlen(folder);
    return !strncmp(absolute, folder, length) && (absolute[length] == '/' || !absolute[length]);
}

/* No system reports these for such an operation. */
static int possible(int error, const char *operation, int direction) {
    int transfers = !strcmp(operation, "read") || !strcmp(operation, "write") || !strcmp(operation, "sync");
    if (error == ENOSPC && direction == READING) return 0;
    if (error == EACCES && transfers) return 0;
    return error != EINTR || !strcmp(operation, "open") || transfers;
}

/* Whether this operation is to fail; sets errno. */
static int fails(const char *operation, const char *path, int direction) {
    if (direction == WRITING) writes++;
    else if (only_writes) return 0;
    long n = ++count;
    int lasting = mode == LASTING && n > target && direction == WRITING;
    if (n != target && !lasting) return 0;
    int error = possible(error_number, operation, direction) ? error_number : EIO;
    size_t length = strlen(failed);
    snprintf(failed + length, sizeof failed - length, "%s%s %d %s", length ? "\n" : "", operation, error, path);
    errno = error;
    return 1;
}
static void die(void) { if (mode == KILL) kill(getpid(), SIGKILL); }

static int opened(int fd, const char *path, int tracked) {
    if (fd >= 0 && fd < FILES) snprintf(names[fd], LONGEST, "%s", tracked ? path : "");
    return fd;
}
#define TRACKED(fd) (armed && (fd) >= 0 && (fd) < FILES && names[fd][0])

#define OPEN(at, path, flags, call) \
    char absolute[LONGEST] = ""; \
    int tracked = inside(at, path, absolute); \
    int direction = (flags) & (O_WRONLY | O_RDWR | O_CREAT) ? WRITING : READING; \
    if (tracked && fails((flags) & O_DIRECTORY ? "list" : "open", absolute, direction)) { die(); return -1; } \
    return opened(call, absolute, tracked);
#define MODE mode_t permissions = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); permissions = va_arg(rest, mode_t); va_end(rest); }

int open(const char *path, int flags, ...) { REAL(open); MODE OPEN(AT_FDCWD, path, flags, real(path, flags, permissions)) }
int open64(const char *path, int flags, ...) { REAL(open64); MODE OPEN(AT_FDCWD, path, flags, real(path, flags, permissions)) }
int openat(int at, const char *path, int flags, ...) { REAL(openat); MODE OPEN(at, path, flags, real(at, path, flags, permissions)) }
int openat64(int at, const char *path, int flags, ...) { REAL(openat64); MODE OPEN(at, path, flags, real(at, path, flags, permissions)) }

#define STREAM(path, how, call) \
    char absolute[LONGEST] = ""; \
    int tracked = inside(AT_FDCWD, path, absolute); \
    if (tracked && fails("open", absolute, strpbrk(how, "wa+") ? WRITING : READING)) { die(); return NULL; } \
    FILE *file = call; \
    if (file) opened(fileno(file), absolute, tracked); \
    return file;
FILE *fopen(const char *path, const char *how) { REAL(fopen); STREAM(path, how, real(path, how)) }
FILE *fopen64(const char *path, const char *how) { REAL(fopen64); STREAM(path, how, real(path, how)) }
int fclose(FILE *file) { REAL(fclose); opened(fileno(file), "", 0); return real(file); }
int close(int fd) { REAL(close); opened(fd, "", 0); return real(fd); }

static int copied(int from, int to) {
    if (to >= 0 && to < FILES && from >= 0 && from < FILES) memmove(names[to], names[from], LONGEST);
    return to;
}
int dup(int fd) { REAL(dup); return copied(fd, real(fd)); }
int dup2(int fd, int to) { REAL(dup2); return copied(fd, real(fd, to)); }
int dup3(int fd, int to, int flags) { REAL(dup3); return copied(fd, real(fd, to, flags)); }
#define CONTROL \
    va_list rest; va_start(rest, command); void *value = va_arg(rest, void *); va_end(rest); \
    int result = real(fd, command, value); \
    return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? copied(fd, result) : result;
int fcntl(int fd, int command, ...) { REAL(fcntl); CONTROL }
int fcntl64(int fd, int command, ...) { REAL(fcntl64); CONTROL }

DIR *opendir(const char *path) {
    REAL(opendir);
    char absolute[LONGEST];
    if (inside(AT_FDCWD, path, absolute) && fails("list", absolute, READING)) { die(); return NULL; }
    return real(path);
}

#define READ(fd, call) \
    if (TRACKED(fd) && fails("read", names[fd], READING)) { die(); return -1; } \
    return call;
ssize_t read(int fd, void *to, size_t size) { REAL(read); READ(fd, real(fd, to, size)) }
ssize_t pread(int fd, void *to, size_t size, off_t at) { REAL(pread); READ(fd, real(fd, to, size, at)) }
ssize_t pread64(int fd, void *to, size_t size, off64_t at) { REAL(pread64); READ(fd, real(fd, to, size, at)) }
ssize_t readv(int fd, const struct iovec *to, int parts) { REAL(readv); READ(fd, real(fd, to, parts)) }

/* Half of what was to be written is, as on a disk that becomes full; an interrupted call has written nothing. */
#define WRITE(fd, half, call) \
    if (TRACKED(fd) && fails("write", names[fd], WRITING)) { \
        int error = errno; \
        if (error != EINTR) { ssize_t ignored = half; (void)ignored; } \
        die(); errno = error; return -1; \
    } \
    return call;
ssize_t write(int fd, const void *from, size_t size) { REAL(write); WRITE(fd, real(fd, from, size / 2), real(fd, from, size)) }
ssize_t pwrite(int fd, const void *from, size_t size, off_t at) { REAL(pwrite); WRITE(fd, real(fd, from, size / 2, at), real(fd, from, size, at)) }
ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at) { REAL(pwrite64); WRITE(fd, real(fd, from, size / 2, at), real(fd, from, size, at)) }
ssize_t writev(int fd, const struct iovec *from, int parts) { REAL(writev); WRITE(fd, real(fd, from, parts / 2), real(fd, from, parts)) }
ssize_t sendfile(int fd, int source, off_t *at, size_t size) {
    REAL(sendfile);
    WRITE(fd, real(fd, source, at, size / 2), real(fd, source, at, size))
}
ssize_t sendfile64(int fd, int source, off64_t *at, size_t size) {
    REAL(sendfile64);
    WRITE(fd, real(fd, source, at, size / 2), real(fd, source, at, size))
}
int fsync(int fd) {
    REAL(fsync);
    if (TRACKED(fd) && fails("sync", names[fd], WRITING)) { die(); return -1; }
    return real(fd);
}

#define PLACE(operation, at, path, call) \
    char absolute[LONGEST]; \
    if (inside(at, path, absolute) && fails(operation, absolute, WRITING)) { die(); return -1; } \
    return call;
int rename(const char *from, const char *to) { REAL(rename); PLACE("rename", AT_FDCWD, to, real(from, to)) }
int renameat(int old, const char *from, int new, const char *to) { REAL(renameat); PLACE("rename", new, to, real(old, from, new, to)) }
int mkdir(const char *path, mode_t permissions) { REAL(mkdir); PLACE("mkdir", AT_FDCWD, path, real(path, permissions)) }
