/* Calls of the system that write files, of which one can be made to fail.

   Preloaded into a process. fail_call(k, error) makes the k-th call from now on fail with an error,
   and with error 0 a write write only half; calls_made() tells how many there were since. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

static long made = 0, failing = -1;
static int error_of_it = 0;

void fail_call(long k, int error) {
  made = 0;
  failing = k;
  error_of_it = error;
}

long calls_made(void) { return made; }

static int fails(void) {
  if (made++ != failing || !error_of_it) return 0;
  errno = error_of_it;
  return 1;
}

#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))

ssize_t write(int fd, const void *data, size_t size) {
  ssize_t (*real)(int, const void *, size_t) = REAL(ssize_t(*)(int, const void *, size_t), "write");
  if (fd <= 2) return real(fd, data, size);
  if (fails()) return -1;
  return real(fd, data, made - 1 == failing && size > 1 ? size / 2 : size);
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if ((flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) && fails()) return -1;
  return REAL(int (*)(const char *, int, ...), "open64")(path, flags, mode);
}

int fsync(int fd) { return fails() ? -1 : REAL(int (*)(int), "fsync")(fd); }

int fchmod(int fd, mode_t mode) {
  return fails() ? -1 : REAL(int (*)(int, mode_t), "fchmod")(fd, mode);
}

int rename(const char *from, const char *to) {
  return fails() ? -1 : REAL(int (*)(const char *, const char *), "rename")(from, to);
}

int mkdir(const char *path, mode_t mode) {
  return fails() ? -1 : REAL(int (*)(const char *, mode_t), "mkdir")(path, mode);
}
