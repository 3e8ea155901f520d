// A driver of CUDA for tests, behind kernels.h, the kernels' text, launch.h, the table KERNELS and streams.h: as a library it
// stands in for libcuda.so.1, and runs the kernels on this processor. It is as strict as the documentation of the driver API
// lets a driver be:
//
// - Nothing that is asked of a stream is done before somebody waits for it, so that who reads, writes or frees too early is
//   found out; copies from memory that is not pinned are made at once, as by NVIDIA's.
// - Who asks whether work has ended hears once that it has not.
// - A call without a current context in its thread is refused.
// - Copies and kernels that reach out of their allocations end the process, with a line that says so.
//
// CUDA_TEST_FAIL="call:nth:code,…" has the nth call of this name fail with this code; codes from 700 on are sticky, as those
// of a lost context. The call `work` is a copy to the device of bytes with the word MARK in them, `kernel` one that is launched;
// with the code -1 these two never end, nor what the stream is asked after them, and who waits for it without a limit, or takes
// away what it reaches into, ends the process. CUDA_TEST_WRONG=1 has kernels compute wrongly. CUDA_TEST_VERSION=11040 is the
// driver's version, CUDA_TEST_SHARED=65536 how much shared memory a block may ask for.
#include <pthread.h>

typedef int Result;
typedef uint64_t Address;
enum { HANGS = -1, SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_CONTEXT = 201, NOT_FOUND = 500, NOT_READY = 600 };

#define EXPORT __attribute__((visibility("default")))
#define ENTER(name)                                                                                                           \
    Guard guard __attribute__((cleanup(leave))) = enter();                                                                    \
    Result refused = verdict(name);                                                                                           \
    if (refused) return refused
#define ENTER_CONTEXT(name)                                                                                                   \
    ENTER(name);                                                                                                              \
    if (!current) return NO_CONTEXT

typedef int Guard;
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static Guard enter(void) { return pthread_mutex_lock(&lock); }
static void leave(Guard *guard) { pthread_mutex_unlock(&lock), (void)guard; }

static _Thread_local void *current;
static int context;
static Result sticky;

// Which calls are to fail.
static Result verdict(const char *name) {
    static struct { char name[40]; int nth, code; } plan[8];
    static int count = -1;
    if (count < 0) {
        count = 0;
        const char *text = getenv("CUDA_TEST_FAIL");
        while (text && *text && count < 8 &&
               sscanf(text, "%39[^:]:%d:%d", plan[count].name, &plan[count].nth, &plan[count].code) == 3) {
            count++;
            text = strchr(text, ',');
            text = text ? text + 1 : NULL;
        }
    }
    if (sticky) return sticky;
    for (int i = 0; i < count; i++)
        if (!strcmp(plan[i].name, name) && --plan[i].nth == 0) {
            if (plan[i].code >= 700) sticky = plan[i].code;
            return plan[i].code;
        }
    return SUCCESS;
}

EXPORT Result cuInit(unsigned flags) { ENTER("cuInit"); return flags ? INVALID_VALUE : SUCCESS; }
EXPORT Result cuDriverGetVersion(int *version) {
    const char *wanted = getenv("CUDA_TEST_VERSION");
    *version = wanted ? atoi(wanted) : 12080;
    return SUCCESS;
}
EXPORT Result cuGetErrorName(Result code, const char **text) {
    *text = code == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_OTHER";
    return SUCCESS;
}
EXPORT Result cuGetErrorString(Result code, const char **text) {
    *text = code == OUT_OF_MEMORY ? "out of memory" : "the test driver was told to fail";
    return SUCCESS;
}

EXPORT Result cuDeviceGetCount(int *count) { ENTER("cuDeviceGetCount"); *count = 1; return SUCCESS; }
EXPORT Result cuDeviceGet(int *device, int ordinal) {
    ENTER("cuDeviceGet");
    if (ordinal) return 101;
    *device = 7;
    return SUCCESS;
}
EXPORT Result cuDeviceGetName(char *name, int length, int device) {
    ENTER("cuDeviceGetName");
    snprintf(name, length, "processor as CUDA device (test)");
    return device == 7 ? SUCCESS : 101;
}
EXPORT Result cuDeviceTotalMem_v2(size_t *bytes, int device) { ENTER("cuDeviceTotalMem"); *bytes = 1 << 30; return SUCCESS; }
static int most_shared_bytes(void) {
    const char *wanted = getenv("CUDA_TEST_SHARED");
    return wanted ? atoi(wanted) : 232448;
}
EXPORT Result cuDeviceGetAttribute(int *value, int attribute, int device) {
    ENTER("cuDeviceGetAttribute");
    switch (attribute) {
    case 13: *value = 1500000; break;       // CLOCK_RATE, kHz
    case 16: *value = 2; break;             // MULTIPROCESSOR_COUNT
    case 75: *value = 9; break;             // COMPUTE_CAPABILITY_MAJOR
    case 76: *value = 0; break;             // COMPUTE_CAPABILITY_MINOR
    case 97: *value = most_shared_bytes(); break; // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    case 115: *value = 1; break;            // MEMORY_POOLS_SUPPORTED
    default: return INVALID_VALUE;
    }
    return SUCCESS;
}
static int retained;
EXPORT Result cuDevicePrimaryCtxRetain(void **made, int device) {
    ENTER("cuDevicePrimaryCtxRetain");
    retained++;
    *made = &context;
    return SUCCESS;
}
EXPORT Result cuDevicePrimaryCtxRelease_v2(int device) {
    ENTER("cuDevicePrimaryCtxRelease");
    if (!--retained) must_be_idle();
    return SUCCESS;
}
EXPORT Result cuCtxGetCurrent(void **now) { ENTER("cuCtxGetCurrent"); *now = current; return SUCCESS; }
EXPORT Result cuCtxSetCurrent(void *wanted) { ENTER("cuCtxSetCurrent"); current = wanted; return SUCCESS; }
EXPORT Result cuCtxSynchronize(void) { ENTER_CONTEXT("cuCtxSynchronize"); await_all(); return SUCCESS; }

EXPORT Result cuModuleLoadData(void **module, const char *ptx) {
    ENTER_CONTEXT("cuModuleLoadData");
    if (!strstr(ptx, ".target sm_90")) return 218;
    *module = strdup(ptx);
    return SUCCESS;
}
EXPORT Result cuModuleUnload(void *module) { ENTER_CONTEXT("cuModuleUnload"); must_be_idle(); free(module); return SUCCESS; }
EXPORT Result cuModuleGetFunction(void **function, void *module, const char *name) {
    ENTER_CONTEXT("cuModuleGetFunction");
    char entry[80];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    if (!strstr(module, entry)) return NOT_FOUND;
    for (size_t i = 0; i < sizeof KERNELS / sizeof *KERNELS; i++)
        if (!strcmp(KERNELS[i].name, name)) {
            *function = (void *)&KERNELS[i];
            return SUCCESS;
        }
    return NOT_FOUND;
}
static size_t number_of(void *function) { return (size_t)((const char *)function - (const char *)KERNELS) / sizeof *KERNELS; }
// Shared memory beyond the usual that kernels were given.
static int granted_bytes[sizeof KERNELS / sizeof *KERNELS];
EXPORT Result cuFuncSetAttribute(void *function, int attribute, int value) {
    ENTER_CONTEXT("cuFuncSetAttribute");
    if (attribute != 8 || value > most_shared_bytes()) return INVALID_VALUE;
    granted_bytes[number_of(function)] = value;
    return SUCCESS;
}

EXPORT Result cuStreamCreate(Stream **made, unsigned flags) {
    ENTER_CONTEXT("cuStreamCreate");
    Stream *stream = calloc(1, sizeof *stream);
    stream->last = &stream->first;
    stream->next = streams;
    streams = stream;
    *made = stream;
    return SUCCESS;
}
// Work that was asked for is done all the same; the stream stays, since events may name it.
EXPORT Result cuStreamDestroy_v2(Stream *stream) { ENTER_CONTEXT("cuStreamDestroy"); drain(stream, stream->asked); return SUCCESS; }
EXPORT Result cuStreamSynchronize(Stream *stream) {
    ENTER_CONTEXT("cuStreamSynchronize");
    if (stream) await(stream, stream->asked); else await_all();
    return SUCCESS;
}
EXPORT Result cuStreamIsCapturing(Stream *stream, int *status) { ENTER_CONTEXT("cuStreamIsCapturing"); *status = 0; return SUCCESS; }
EXPORT Result cuStreamWaitEvent(Stream *stream, Event *event, unsigned flags) {
    ENTER_CONTEXT("cuStreamWaitEvent");
    if (event->was_recorded && event->stream != stream)
        give(stream, (Order){.kind = WAIT, .other = event->stream, .bytes = event->number});
    return SUCCESS;
}

EXPORT Result cuEventCreate(Event **made, unsigned flags) { ENTER_CONTEXT("cuEventCreate"); *made = calloc(1, sizeof **made); return SUCCESS; }
EXPORT Result cuEventDestroy_v2(Event *event) {
    ENTER_CONTEXT("cuEventDestroy");
    if (event->was_recorded) drain(event->stream, event->number);
    free(event);
    return SUCCESS;
}
EXPORT Result cuEventRecord(Event *event, Stream *stream) {
    ENTER_CONTEXT("cuEventRecord");
    // What an earlier record would set is overwritten by this one; the order must not outlive it.
    if (event->was_recorded && !event->is_done) drain(event->stream, event->number);
    give(stream, (Order){.kind = RECORD, .event = event});
    *event = (Event){.stream = stream, .number = stream->asked, .was_recorded = 1};
    return SUCCESS;
}
EXPORT Result cuEventSynchronize(Event *event) {
    ENTER_CONTEXT("cuEventSynchronize");
    if (event->was_recorded) await(event->stream, event->number);
    return SUCCESS;
}
EXPORT Result cuEventQuery(Event *event) {
    ENTER_CONTEXT("cuEventQuery");
    if (!event->was_recorded) return SUCCESS;
    if (event->was_asked++) drain(event->stream, event->number);
    return event->is_done ? SUCCESS : NOT_READY;
}
static Result elapsed(float *milliseconds, Event *begin, Event *end) {
    if (!begin->is_done || !end->is_done) return NOT_READY;
    *milliseconds = 1e3 * (end->time.tv_sec - begin->time.tv_sec) + 1e-6 * (end->time.tv_nsec - begin->time.tv_nsec);
    return SUCCESS;
}
EXPORT Result cuEventElapsedTime(float *ms, Event *begin, Event *end) { ENTER_CONTEXT("cuEventElapsedTime"); return elapsed(ms, begin, end); }
EXPORT Result cuEventElapsedTime_v2(float *ms, Event *begin, Event *end) { ENTER_CONTEXT("cuEventElapsedTime"); return elapsed(ms, begin, end); }

EXPORT Result cuMemAllocAsync(Address *made, size_t bytes, Stream *stream) {
    ENTER_CONTEXT("cuMemAlloc");
    *made = (Address)(uintptr_t)allocate(bytes, 0);
    return SUCCESS;
}
EXPORT Result cuMemFreeAsync(Address start, Stream *stream) {
    ENTER_CONTEXT("cuMemFree");
    give(stream, (Order){.kind = FREE, .to = (void *)(uintptr_t)start});
    return SUCCESS;
}
EXPORT Result cuMemHostAlloc(void **made, size_t bytes, unsigned flags) {
    ENTER_CONTEXT("cuMemHostAlloc");
    *made = allocate(bytes, 1);
    return SUCCESS;
}
EXPORT Result cuMemFreeHost(void *start) {
    ENTER_CONTEXT("cuMemFreeHost");
    for (Stream *s = streams; s; s = s->next)
        for (Order *o = s->first; o; o = o->next)
            if (o->kind == COPY && (holder(o->to, 1, 1) == holder(start, 1, 1) || holder(o->from, 1, 1) == holder(start, 1, 1)))
                broken("pinned memory is freed while a copy is under way");
    release(start, 1);
    return SUCCESS;
}
EXPORT Result cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, Stream *stream) {
    ENTER_CONTEXT("cuMemcpyHtoDAsync");
    if (!holder((void *)(uintptr_t)to, bytes, 0)) broken("a copy reaches out of the device's allocation");
    if (memmem(from, bytes, "MARK", 4) && (refused = verdict("work"))) {
        if (refused != HANGS) return refused;
        stream->hangs = 1;
    }
    Order order = {.kind = COPY, .to = (void *)(uintptr_t)to, .from = (void *)from, .bytes = bytes};
    if (!holder(from, bytes, 1)) {
        order.from = memcpy(malloc(bytes ? bytes : 1), from, bytes);
        order.frees_from = 1;
    }
    give(stream, order);
    return SUCCESS;
}
EXPORT Result cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, Stream *stream) {
    ENTER_CONTEXT("cuMemcpyDtoHAsync");
    if (!holder((void *)(uintptr_t)from, bytes, 0)) broken("a copy reaches out of the device's allocation");
    give(stream, (Order){.kind = COPY, .to = to, .from = (void *)(uintptr_t)from, .bytes = bytes});
    if (!holder(to, bytes, 1)) await(stream, stream->asked);
    return SUCCESS;
}
EXPORT Result cuMemsetD8Async(Address to, unsigned char value, size_t bytes, Stream *stream) {
    ENTER_CONTEXT("cuMemsetD8Async");
    if (!holder((void *)(uintptr_t)to, bytes, 0)) broken("a fill reaches out of the device's allocation");
    give(stream, (Order){.kind = SET, .to = (void *)(uintptr_t)to, .value = value, .bytes = bytes});
    return SUCCESS;
}

// The parameters are copied at the call, as the documentation says.
EXPORT Result cuLaunchKernel(void *function, unsigned grid, unsigned grid_y, unsigned grid_z, unsigned threads, unsigned y,
                             unsigned z, unsigned shared_bytes, Stream *stream, void **p, void **extra) {
    ENTER_CONTEXT("cuLaunchKernel");
    size_t number = number_of(function);
    if (grid_y != 1 || grid_z != 1 || y != 1 || z != 1 || !grid || threads > KERNELS[number].threads || extra) return INVALID_VALUE;
    if (shared_bytes > 48 << 10 && (int)shared_bytes > granted_bytes[number]) return INVALID_VALUE;
    if ((refused = verdict("kernel"))) {
        if (refused != HANGS) return refused;
        stream->hangs = 1;
    }
    Launch *launch = calloc(1, sizeof *launch);
    launch->kernel = KERNELS[number].kernel;
    launch->has_barriers = KERNELS[number].has_barriers;
    launch->grid = grid;
    launch->threads = threads;
    launch->shared_bytes = shared_bytes;
    launch->source = *(const uint4 **)p[0];
    launch->sink = *(uint4 **)p[1];
    launch->keys = *(Keys *)p[2];
    for (int i = 0; i < 4; i++) launch->counter[i] = *(u32 *)p[3 + i];
    launch->blocks = *(u32 *)p[7];
    launch->skip = *(u32 *)p[8];
    launch->rounds = *(u32 *)p[9];
    size_t lead = strcmp(KERNELS[number].name, "cbc_decrypt") ? 0 : 1;
    if (!holder(launch->source, 16 * (launch->blocks + lead), 0) || !holder(launch->sink, 16 * (size_t)launch->blocks, 0))
        broken("a kernel reaches out of its buffers");
    if (launch->rounds != 10 && launch->rounds != 12 && launch->rounds != 14) broken("no key has so many rounds");
    give(stream, (Order){.kind = LAUNCH, .launch = launch});
    return SUCCESS;
}
