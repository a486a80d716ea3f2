/* A CUDA driver without a GPU: what `libcuda.so.1` must give flowc, over memory of the host.
 *
 * "Device" memory is mapped apart from all else, ends right before a page that nobody may touch, and
 * is unmapped when it is freed. Kernels are images "FLOWCSIM" with a function of the host, which runs
 * a grid under an executor. Every call is a line of a log; `fake_cuda_fail(k, result)` makes the k-th
 * call from now on fail. Built with: cc -shared -fPIC -Wl,-soname,libcuda.so.1
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef unsigned long long Address;
enum { LOG = 1 << 20, BLOCKS = 4096 };
static char text[LOG];
static size_t used;
static long fail_at = -1, calls;
static int fail_with, devices = 1, lost;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { char *base, *start; size_t mapped, bytes; } blocks[BLOCKS];
static size_t taken, peak;

static int call(const char *format, ...)
{
    va_list rest;
    int result = 0;
    pthread_mutex_lock(&lock);
    if (used + 256 < LOG) {
        va_start(rest, format);
        used += vsnprintf(text + used, 255, format, rest);
        va_end(rest);
        text[used++] = '\n', text[used] = 0;
    }
    if (lost)
        result = lost;
    else if (fail_at >= 0 && calls++ == fail_at)
        result = fail_with;
    pthread_mutex_unlock(&lock);
    return result;
}
#define CALL(...) do { int r_ = call(__VA_ARGS__); if (r_) return r_; } while (0)

const char *fake_cuda_log(void) { return text; }
void fake_cuda_reset(void) { used = 0, text[0] = 0, fail_at = -1, calls = 0, lost = 0, devices = 1; }
void fake_cuda_fail(long k, int result) { calls = 0, fail_at = k, fail_with = result; }
void fake_cuda_lose(int result) { lost = result; }
void fake_cuda_devices(int count) { devices = count; }
size_t fake_cuda_taken(void) { return taken; }
size_t fake_cuda_peak(void) { return peak; }

int cuInit(unsigned flags) { CALL("init"); return devices ? 0 : 100; (void)flags; }
int cuDeviceGetCount(int *count) { CALL("count"); *count = devices; return 0; }
int cuDeviceGet(int *device, int i) { CALL("device %d", i); *device = i; return 0; }
int cuDeviceGetAttribute(int *value, int which, int device) { CALL("attribute %d", which); *value = 0; return 0; (void)device; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { CALL("total memory"); *bytes = (size_t)1 << 34; return 0; (void)device; }
int cuDevicePrimaryCtxRetain(void **context, int device) { CALL("retain %d", device); *context = (void *)0x77; return 0; }
int cuCtxSetCurrent(void *context) { CALL("current"); return context == (void *)0x77 ? 0 : 201; }
int cuDeviceGetDefaultMemPool(void **pool, int device) { CALL("pool"); *pool = (void *)0x88; return 0; (void)device; }
int cuMemPoolSetAttribute(void *pool, int which, void *value) { CALL("pool attribute %d", which); return pool == (void *)0x88 && value ? 0 : 1; }

int cuMemAllocAsync(Address *place, size_t bytes, void *stream)
{
    CALL("allocate %zu", bytes);
    if (!bytes)
        return 1;
    if (bytes > (size_t)1 << 34)
        return 2;
    size_t page = 4096, need = (bytes + page - 1) / page * page, skip = need - (bytes + 63) / 64 * 64;
    char *base = mmap(0, need + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return 2;
    mprotect(base + need, page, PROT_NONE);
    memset(base, 0xa5, need);
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < BLOCKS && blocks[i].base)
        i++;
    if (i < BLOCKS) {
        blocks[i].base = base, blocks[i].start = base + skip, blocks[i].mapped = need + page, blocks[i].bytes = bytes;
        taken += bytes, peak = taken > peak ? taken : peak;
    }
    pthread_mutex_unlock(&lock);
    *place = (Address)(uintptr_t)(base + skip);
    return i < BLOCKS ? 0 : 2;
    (void)stream;
}

int cuMemFreeAsync(Address address, void *stream)
{
    CALL("free");
    int found = 1;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].base && blocks[i].start == (char *)(uintptr_t)address) {
            munmap(blocks[i].base, blocks[i].mapped);
            taken -= blocks[i].bytes, blocks[i].base = 0, found = 0;
            break;
        }
    pthread_mutex_unlock(&lock);
    return found;
    (void)stream;
}

/* Whether [address, address + bytes) is within one block: 0, or an illegal address. */
static int within(Address address, size_t bytes)
{
    char *p = (char *)(uintptr_t)address;
    int result = 700;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < BLOCKS && result; i++)
        if (blocks[i].base && p >= blocks[i].start && p + bytes <= blocks[i].start + blocks[i].bytes)
            result = 0;
    pthread_mutex_unlock(&lock);
    return result;
}

int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, void *stream)
{
    CALL("upload %zu", bytes);
    if (within(to, bytes)) return 700;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0; (void)stream;
}
int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, void *stream)
{
    CALL("download %zu", bytes);
    if (within(from, bytes)) return 700;
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return 0; (void)stream;
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void *stream)
{
    CALL("copy %zu", bytes);
    if (within(from, bytes) || within(to, bytes)) return 700;
    memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return 0; (void)stream;
}
int cuMemsetD8Async(Address to, unsigned char value, size_t bytes, void *stream)
{
    CALL("zero %zu", bytes);
    if (within(to, bytes)) return 700;
    memset((void *)(uintptr_t)to, value, bytes);
    return 0; (void)stream;
}
int cuStreamSynchronize(void *stream) { CALL("wait"); return 0; (void)stream; }

typedef void (*Entry)(void **, int64_t, int64_t, int64_t, int64_t, int64_t);
int cuModuleLoadData(void **module, const void *image)
{
    CALL("load");
    if (memcmp(image, "FLOWCSIM", 8)) return 200;
    *module = *(void **)((char *)image + 8);
    return 0;
}
int cuModuleUnload(void *module) { CALL("unload"); return 0; (void)module; }
int cuModuleGetFunction(void **function, void *module, const char *name) { CALL("find"); *function = module; return 0; (void)name; }
int cuFuncSetAttribute(void *function, int which, int value) { CALL("attribute %d of a kernel: %d", which, value); return 0; (void)function; }

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra)
{
    void *words[512];
    CALL("launch %ux%ux%u of %u", gx, gy, gz, bx);
    if (parameters || !extra || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4]) return 1;
    if (!gx || !gy || !gz || by != 1 || bz != 1 || !bx || bx > 1024) return 1;
    size_t count = *(size_t *)extra[3] / 8;
    if (count > 512) return 1;
    for (size_t i = 0; i < count; i++) {
        words[i] = (char *)extra[1] + 8 * i;
        Address word = *(Address *)words[i];
        if (word >> 40 && word >> 47 == 0 && within(word, 0)) /* an address of the host */
            return 700;
    }
    ((Entry)function)(words, gx, gy, gz, bx, shared);
    return 0; (void)stream;
}
