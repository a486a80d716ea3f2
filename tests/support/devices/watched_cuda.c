/* The CUDA driver of a GPU, watched: every call goes on to the `libcuda.so.1` that `fake_cuda_open` is
 * given, behind the log and the failures of `driver_log.h`, in the words of `fake_cuda.c`.
 *
 * A call that is made to fail is not made, but for what ends something: a wait and a recording. Of
 * memory, graphs and streams only sizes and numbers are kept here.
 * Built with: cc -shared -fPIC -Wl,-soname,libcuda.so.1
 */
#include "driver_log.h"

#include <dlfcn.h>
#include <stdint.h>

static void *driver;
int fake_cuda_open(const char *path) { return !(driver = dlopen(path, RTLD_NOW | RTLD_LOCAL)); }

/* FORWARD(name, types)(arguments): the function of the GPU's driver. */
#define FORWARD(name, ...) ((int (*)(__VA_ARGS__))dlsym(driver, #name))

/* What is known of addresses and handles: bytes of the device and of the host, operations of graphs. */
enum { DEVICE = 1, HOST, STREAM, GRAPH, INSTANCE, KINDS, KNOWN = 1 << 14 };
static struct { int kind; uintptr_t key; size_t count; } known[KNOWN];
static size_t totals[KINDS];

static void keep(int kind, uintptr_t key, size_t count)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < KNOWN; i++)
        if (!known[i].kind) {
            known[i].kind = kind, known[i].key = key, known[i].count = count;
            totals[kind] += kind < STREAM ? count : 1;
            break;
        }
    pthread_mutex_unlock(&lock);
}
static size_t *found(int kind, uintptr_t key)
{
    for (int i = 0; i < KNOWN; i++)
        if (known[i].kind == kind && known[i].key == key)
            return &known[i].count;
    return 0;
}
static size_t count_of(int kind, uintptr_t key, size_t more)
{
    pthread_mutex_lock(&lock);
    size_t *place = found(kind, key), count = place ? *place += more : 0;
    pthread_mutex_unlock(&lock);
    return count;
}
static void forget(int kind, uintptr_t key)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < KNOWN; i++)
        if (known[i].kind == kind && known[i].key == key) {
            totals[kind] -= kind < STREAM ? known[i].count : 1;
            known[i].kind = 0;
            break;
        }
    pthread_mutex_unlock(&lock);
}
size_t fake_cuda_taken(void) { return totals[DEVICE]; }
size_t fake_cuda_pinned(void) { return totals[HOST]; }
long fake_cuda_graphs(void) { return (long)(totals[GRAPH] + totals[INSTANCE]); }

int cuInit(unsigned flags) { CALL("init"); return devices ? FORWARD(cuInit, unsigned)(flags) : 100; }
int cuDeviceGetCount(int *count) { CALL("count"); int code = FORWARD(cuDeviceGetCount, int *)(count); return devices ? code : (*count = 0); }
int cuDeviceGet(int *device, int i) { CALL("device %d", i); return FORWARD(cuDeviceGet, int *, int)(device, i); }
int cuDeviceGetAttribute(int *value, int which, int device) { CALL("attribute %d", which); return FORWARD(cuDeviceGetAttribute, int *, int, int)(value, which, device); }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { CALL("total memory"); return FORWARD(cuDeviceTotalMem_v2, size_t *, int)(bytes, device); }
int cuDevicePrimaryCtxRetain(void **context, int device) { CALL("retain %d", device); return FORWARD(cuDevicePrimaryCtxRetain, void **, int)(context, device); }
int cuCtxSetCurrent(void *context) { CALL("current"); return FORWARD(cuCtxSetCurrent, void *)(context); }
int cuDeviceGetDefaultMemPool(void **pool, int device) { CALL("pool"); return FORWARD(cuDeviceGetDefaultMemPool, void **, int)(pool, device); }
int cuMemPoolSetAttribute(void *pool, int which, void *value) { CALL("pool attribute %d", which); return FORWARD(cuMemPoolSetAttribute, void *, int, void *)(pool, which, value); }

int cuMemAllocAsync(Address *place, size_t bytes, void *stream)
{
    CALL("allocate %zu", bytes);
    int code = FORWARD(cuMemAllocAsync, Address *, size_t, void *)(place, bytes, stream);
    if (!code) keep(DEVICE, (uintptr_t)*place, bytes);
    return code;
}
int cuMemFreeAsync(Address address, void *stream)
{
    CALL("free");
    forget(DEVICE, (uintptr_t)address);
    return FORWARD(cuMemFreeAsync, Address, void *)(address, stream);
}
int cuMemHostAlloc(void **place, size_t bytes, unsigned flags)
{
    CALL("pin %zu", bytes);
    int code = FORWARD(cuMemHostAlloc, void **, size_t, unsigned)(place, bytes, flags);
    if (!code) keep(HOST, (uintptr_t)*place, bytes);
    return code;
}
int cuMemFreeHost(void *place)
{
    CALL("unpin");
    forget(HOST, (uintptr_t)place);
    return FORWARD(cuMemFreeHost, void *)(place);
}

int cuStreamCreate(void **stream, unsigned flags) { CALL("stream %u", flags); return FORWARD(cuStreamCreate, void **, unsigned)(stream, flags); }
int cuStreamDestroy_v2(void *stream) { CALL("end of stream"); return FORWARD(cuStreamDestroy_v2, void *)(stream); }
int cuStreamBeginCapture_v2(void *stream, unsigned mode)
{
    CALL("record");
    int code = FORWARD(cuStreamBeginCapture_v2, void *, unsigned)(stream, mode);
    if (!code) keep(STREAM, (uintptr_t)stream, 0);
    return code;
}
int cuStreamEndCapture(void *stream, void **graph)
{
    size_t count = count_of(STREAM, (uintptr_t)stream, 0);
    int code = FORWARD(cuStreamEndCapture, void *, void **)(stream, graph);
    int failed = call("recorded %zu", count);
    forget(STREAM, (uintptr_t)stream);
    if (code) return code;
    if (failed) {
        FORWARD(cuGraphDestroy, void *)(*graph);
        return *graph = 0, failed;
    }
    keep(GRAPH, (uintptr_t)*graph, count);
    return 0;
}
int cuGraphInstantiateWithFlags(void **instance, void *graph, unsigned long long flags)
{
    CALL("instantiate");
    int code = FORWARD(cuGraphInstantiateWithFlags, void **, void *, unsigned long long)(instance, graph, flags);
    if (!code) keep(INSTANCE, (uintptr_t)*instance, count_of(GRAPH, (uintptr_t)graph, 0));
    return code;
}
int cuGraphLaunch(void *instance, void *stream)
{
    CALL("graph of %zu", count_of(INSTANCE, (uintptr_t)instance, 0));
    return FORWARD(cuGraphLaunch, void *, void *)(instance, stream);
}
int cuGraphDestroy(void *graph) { forget(GRAPH, (uintptr_t)graph); CALL("end of graph"); return FORWARD(cuGraphDestroy, void *)(graph); }
int cuGraphExecDestroy(void *instance) { forget(INSTANCE, (uintptr_t)instance); CALL("end of instance"); return FORWARD(cuGraphExecDestroy, void *)(instance); }

int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, void *stream) { CALL("upload %zu", bytes); return FORWARD(cuMemcpyHtoDAsync_v2, Address, const void *, size_t, void *)(to, from, bytes, stream); }
int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, void *stream) { CALL("download %zu", bytes); return FORWARD(cuMemcpyDtoHAsync_v2, void *, Address, size_t, void *)(to, from, bytes, stream); }

/* What a stream that records is asked is counted with it. */
static const char *to(void *stream)
{
    pthread_mutex_lock(&lock);
    size_t *count = found(STREAM, (uintptr_t)stream);
    if (count) ++*count;
    pthread_mutex_unlock(&lock);
    return count ? "recorded " : "";
}
int cuMemcpyDtoDAsync_v2(Address target, Address from, size_t bytes, void *stream) { CALL("%scopy %zu", to(stream), bytes); return FORWARD(cuMemcpyDtoDAsync_v2, Address, Address, size_t, void *)(target, from, bytes, stream); }
int cuMemsetD8Async(Address target, unsigned char value, size_t bytes, void *stream) { CALL("%szero %zu", to(stream), bytes); return FORWARD(cuMemsetD8Async, Address, unsigned char, size_t, void *)(target, value, bytes, stream); }
int cuMemsetD32Async(Address target, unsigned value, size_t count, void *stream) { CALL("%sset %u", to(stream), value); return FORWARD(cuMemsetD32Async, Address, unsigned, size_t, void *)(target, value, count, stream); }
int cuStreamSynchronize(void *stream) { int code = FORWARD(cuStreamSynchronize, void *)(stream); CALL("wait"); return code; }
int cuCtxSynchronize(void) { int code = FORWARD(cuCtxSynchronize, void)(); CALL("wait for all"); return code; }

int cuModuleLoadData(void **module, const void *image) { CALL("load"); return FORWARD(cuModuleLoadData, void **, const void *)(module, image); }
int cuModuleUnload(void *module) { CALL("unload"); return FORWARD(cuModuleUnload, void *)(module); }
int cuModuleGetFunction(void **function, void *module, const char *name) { CALL("find"); return FORWARD(cuModuleGetFunction, void **, void *, const char *)(function, module, name); }
int cuFuncSetAttribute(void *function, int which, int value) { CALL("attribute %d of a kernel: %d", which, value); return FORWARD(cuFuncSetAttribute, void *, int, int)(function, which, value); }
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra)
{
    CALL("%slaunch %ux%ux%u of %u", to(stream), gx, gy, gz, bx);
    return FORWARD(cuLaunchKernel, void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}
