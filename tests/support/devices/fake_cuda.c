/* A CUDA driver without a GPU: what `libcuda.so.1` must give flowc, over memory of the host.
 *
 * "Device" memory is mapped apart from all else, ends right before a page that nobody may touch, and
 * is unmapped when it is freed. Kernels are images "FLOWCSIM" with a function of the host, which runs
 * a grid under an executor. A stream that records keeps what it is asked, and graphs do it again; pinned
 * memory is written when somebody waits, and no sooner. Built with: cc -shared -fPIC -Wl,-soname,libcuda.so.1
 */
#include "driver_log.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCKS = 4096 };
static pthread_mutex_t running = PTHREAD_MUTEX_INITIALIZER;
static struct { char *base, *start; size_t mapped, bytes; } blocks[BLOCKS];
static size_t taken;
int fake_cuda_open(const char *path) { return path != 0; } /* there is no other driver */
size_t fake_cuda_taken(void) { return taken; }

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
        taken += bytes;
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

/* Pinned memory: a copy to it shows at the next wait only, as one by a GPU may; its pages hold 0x5a
 * until then. What is copied from it must be the same at the next wait. */
enum { PINS = 64, FLIGHTS = 512 };
static struct { char *start; size_t bytes; } pins[PINS];
static __thread struct { char *place, *copy; size_t bytes; int arrives; } flights[FLIGHTS];
static __thread int flying;
static size_t pinned;

int cuMemHostAlloc(void **place, size_t bytes, unsigned flags)
{
    CALL("pin %zu", bytes);
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < PINS && pins[i].start)
        i++;
    if (i < PINS) {
        *place = pins[i].start = malloc(bytes), pins[i].bytes = bytes;
        pinned += bytes;
    }
    pthread_mutex_unlock(&lock);
    return i < PINS ? 0 : 2;
    (void)flags;
}
int cuMemFreeHost(void *place)
{
    CALL("unpin");
    int result = 1;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < PINS && place; i++)
        if (pins[i].start == place)
            free(place), pinned -= pins[i].bytes, pins[i].start = 0, result = 0;
    pthread_mutex_unlock(&lock);
    return result;
}
size_t fake_cuda_pinned(void) { return pinned; }

static int is_pinned(const char *place, size_t bytes)
{
    int found = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < PINS; i++)
        found |= pins[i].start && place >= pins[i].start && place + bytes <= pins[i].start + pins[i].bytes;
    pthread_mutex_unlock(&lock);
    return found;
}
static void fly(char *place, const void *data, size_t bytes, int arrives)
{
    if (flying == FLIGHTS) abort();
    char *copy = memcpy(malloc(bytes), data, bytes);
    flights[flying].place = place, flights[flying].copy = copy;
    flights[flying].bytes = bytes, flights[flying++].arrives = arrives;
    if (arrives) memset(place, 0x5a, bytes);
}
static int land(void)
{
    int result = 0;
    for (int i = 0; i < flying; i++) {
        if (flights[i].arrives)
            memcpy(flights[i].place, flights[i].copy, flights[i].bytes);
        else if (memcmp(flights[i].place, flights[i].copy, flights[i].bytes))
            result = 715; /* what was to be uploaded has changed since */
        free(flights[i].copy);
    }
    flying = 0;
    return result;
}

/* Streams that record, and graphs: what was asked, with copies of all parameters. */
typedef void (*Entry)(void **, int64_t, int64_t, int64_t, int64_t, int64_t);
typedef struct { int kind; Address to, from; size_t bytes; unsigned value; Entry entry; unsigned grid[5]; size_t count; Address words[512]; } Asked;
typedef struct { size_t count, room; Asked *asked; } Graph;
typedef struct { Graph *graph; } Stream;
static long graphs, instances;
static int is_own(void *stream) { return (uintptr_t)stream > 4096; }
static Graph *recording(void *stream) { return is_own(stream) ? ((Stream *)stream)->graph : 0; }

static int do_now(const Asked *a)
{
    void *words[512];
    if (a->kind == 1) {
        if (within(a->from, a->bytes) || within(a->to, a->bytes)) return 700;
        memmove((void *)(uintptr_t)a->to, (void *)(uintptr_t)a->from, a->bytes);
    } else if (a->kind == 2) {
        if (within(a->to, a->bytes)) return 700;
        memset((void *)(uintptr_t)a->to, (int)a->value, a->bytes);
    } else if (a->kind == 3) {
        if (within(a->to, a->bytes) || a->to % 4) return 700;
        for (size_t i = 0; i < a->bytes / 4; i++)
            ((unsigned *)(uintptr_t)a->to)[i] = a->value;
    } else {
        for (size_t i = 0; i < a->count; i++) {
            Address word = a->words[i];
            if (word >> 40 && word >> 47 == 0 && within(word, 0)) /* an address of the host */
                return 700;
            words[i] = (void *)(a->words + i);
        }
        pthread_mutex_lock(&running); /* a kernel's threads and shared memory are static */
        a->entry(words, a->grid[0], a->grid[1], a->grid[2], a->grid[3], a->grid[4]);
        pthread_mutex_unlock(&running);
    }
    return 0;
}
static int ask(const Asked *a, void *stream)
{
    Graph *graph = recording(stream);
    if (!graph) return is_own(stream) ? 400 : do_now(a);
    if (graph->count == graph->room)
        graph->asked = realloc(graph->asked, (graph->room = 2 * graph->room + 8) * sizeof(Asked));
    graph->asked[graph->count++] = *a;
    return 0;
}
#define TO(stream) (recording(stream) ? "recorded " : "")

int cuStreamCreate(void **stream, unsigned flags) { CALL("stream %u", flags); *stream = calloc(1, sizeof(Stream)); return 0; }
int cuStreamDestroy_v2(void *stream) { CALL("end of stream"); free(stream); return 0; }
int cuStreamBeginCapture_v2(void *stream, unsigned mode)
{
    CALL("record");
    if (!is_own(stream) || mode != 2 || recording(stream)) return 1;
    ((Stream *)stream)->graph = calloc(1, sizeof(Graph));
    return 0;
}
static void end(Graph *graph) { free(graph->asked), free(graph); }
int cuStreamEndCapture(void *stream, void **graph)
{
    Graph *found = recording(stream);
    if (!found) return 401;
    ((Stream *)stream)->graph = 0; /* also where it is refused, as where something was not recorded */
    int code = call("recorded %zu", found->count);
    if (code) return end(found), *graph = 0, code;
    __atomic_add_fetch(&graphs, 1, __ATOMIC_SEQ_CST);
    *graph = found;
    return 0;
}
int cuGraphInstantiateWithFlags(void **instance, void *graph, unsigned long long flags)
{
    CALL("instantiate");
    Graph *from = graph, *made = calloc(1, sizeof(Graph));
    made->count = made->room = from->count;
    made->asked = memcpy(malloc(from->count * sizeof(Asked)), from->asked, from->count * sizeof(Asked));
    __atomic_add_fetch(&instances, 1, __ATOMIC_SEQ_CST);
    *instance = made;
    return 0; (void)flags;
}
int cuGraphLaunch(void *instance, void *stream)
{
    Graph *graph = instance;
    CALL("graph of %zu", graph->count);
    for (size_t i = 0; i < graph->count; i++) {
        int code = ask(graph->asked + i, stream);
        if (code) return code;
    }
    return 0;
}
int cuGraphDestroy(void *graph) { __atomic_sub_fetch(&graphs, 1, __ATOMIC_SEQ_CST); CALL("end of graph"); end(graph); return 0; }
int cuGraphExecDestroy(void *instance) { __atomic_sub_fetch(&instances, 1, __ATOMIC_SEQ_CST); CALL("end of instance"); end(instance); return 0; }
long fake_cuda_graphs(void) { return graphs + instances; }

int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, void *stream)
{
    CALL("upload %zu", bytes);
    if (within(to, bytes) || is_own(stream)) return 700;
    if (is_pinned(from, bytes)) fly((char *)from, from, bytes, 0);
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, void *stream)
{
    CALL("download %zu", bytes);
    if (within(from, bytes) || is_own(stream)) return 700;
    if (is_pinned(to, bytes)) fly(to, (void *)(uintptr_t)from, bytes, 1);
    else memcpy(to, (void *)(uintptr_t)from, bytes);
    return 0;
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void *stream)
{
    CALL("%scopy %zu", TO(stream), bytes);
    Asked asked = {.kind = 1, .to = to, .from = from, .bytes = bytes};
    return ask(&asked, stream);
}
int cuMemsetD8Async(Address to, unsigned char value, size_t bytes, void *stream)
{
    CALL("%szero %zu", TO(stream), bytes);
    Asked asked = {.kind = 2, .to = to, .bytes = bytes, .value = value};
    return ask(&asked, stream);
}
int cuMemsetD32Async(Address to, unsigned value, size_t count, void *stream)
{
    CALL("%sset %u", TO(stream), value);
    Asked asked = {.kind = 3, .to = to, .bytes = 4 * count, .value = value};
    return ask(&asked, stream);
}
int cuStreamSynchronize(void *stream) { int late = land(); CALL("wait"); return is_own(stream) ? 900 : late; }
int cuCtxSynchronize(void) { CALL("wait for all"); return land(); }

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
    Asked asked = {.entry = (Entry)function, .grid = {gx, gy, gz, bx, shared}};
    CALL("%slaunch %ux%ux%u of %u", TO(stream), gx, gy, gz, bx);
    if (parameters || !extra || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4]) return 1;
    if (!gx || !gy || !gz || by != 1 || bz != 1 || !bx || bx > 1024) return 1;
    asked.count = *(size_t *)extra[3] / 8;
    if (asked.count > 512) return 1;
    memcpy(asked.words, extra[1], 8 * asked.count);
    return ask(&asked, stream);
}
