/* What tests ask of a CUDA driver of theirs: every call is a line of a log, and may be made to fail.
 *
 * `fake_cuda_fail(k, result)` makes the k-th call from now on fail, `fake_cuda_fail_next(text, result)`
 * the next whose line begins so, `fake_cuda_lose(result)` every one.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long Address;
enum { LOG = 1 << 20 };
static char text[LOG];
static size_t used;
static long fail_at = -1, calls;
static char fail_text[64];
static int fail_with, devices = 1, lost;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int call(const char *format, ...)
{
    va_list rest;
    int result = 0;
    char line[256];
    va_start(rest, format);
    vsnprintf(line, sizeof line, format, rest);
    va_end(rest);
    pthread_mutex_lock(&lock);
    if (used + 256 < LOG)
        used += sprintf(text + used, "%s\n", line);
    if (lost)
        result = lost;
    else if (fail_at >= 0 && calls++ == fail_at)
        result = fail_with;
    else if (fail_text[0] && !strncmp(line, fail_text, strlen(fail_text)))
        result = fail_with, fail_text[0] = 0;
    pthread_mutex_unlock(&lock);
    return result;
}
#define CALL(...) do { int r_ = call(__VA_ARGS__); if (r_) return r_; } while (0)

const char *fake_cuda_log(void) { return text; }
void fake_cuda_reset(void) { used = 0, text[0] = 0, fail_at = -1, calls = 0, lost = 0, devices = 1, fail_text[0] = 0; }
void fake_cuda_fail(long k, int result) { calls = 0, fail_at = k, fail_with = result; }
void fake_cuda_fail_next(const char *start, int result) { strncpy(fail_text, start, 63), fail_with = result; }
void fake_cuda_lose(int result) { lost = result; }
void fake_cuda_devices(int count) { devices = count; }
