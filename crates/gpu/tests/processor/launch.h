// Behind the kernels' text: a launch of one of them, block by block.
//
// Threads of a block take turns, in order: each runs until it waits for the others, or ends. So a barrier that is missing gives
// a wrong result every time, and one that not every thread reaches is found out. The shared memory is as large as the launch
// says, holds noise at the beginning of each block, and has a fence behind it.
#include <stdint.h>
#include <ucontext.h>

typedef void Kernel(const uint4 *source, uint4 *sink, const Keys keys, u32 high, u32 upper, u32 lower, u32 low, u32 blocks,
                    u32 skip, u32 rounds);

typedef struct {
    Kernel *kernel;
    int has_barriers;
    unsigned grid, threads, shared_bytes;
    const uint4 *source;
    uint4 *sink;
    Keys keys;
    u32 counter[4], blocks, skip, rounds;
} Launch;

typedef struct { ucontext_t place; int has_ended; } Thread;
enum { STACK = 128 << 10, FENCE = 64, NOISE = 0xa5, FENCE_BYTE = 0xfe };

static const Launch *launch_now;
static ucontext_t scheduler;
static Thread *thread_now;
static unsigned char *shared_now;

static void broken(const char *words) {
    fprintf(stderr, "stand-in: %s\n", words);
    abort();
}

static void *shared_memory(size_t bytes) {
    if (bytes > launch_now->shared_bytes) broken("a kernel has more shared memory than its launch");
    return shared_now;
}

static void wait_for_block(void) {
    if (!thread_now) broken("a kernel waits that is not in the table as one with barriers");
    swapcontext(&thread_now->place, &scheduler);
}

static void call(const Launch *l) {
    l->kernel(l->source, l->sink, l->keys, l->counter[0], l->counter[1], l->counter[2], l->counter[3], l->blocks, l->skip,
              l->rounds);
}

static void run_thread(void) {
    call(launch_now);
    thread_now->has_ended = 1;
}

static void run_block(Thread *threads, char *stacks) {
    unsigned count = launch_now->threads, ended = 0;
    for (unsigned t = 0; t < count; t++) {
        threads[t].has_ended = 0;
        getcontext(&threads[t].place);
        threads[t].place.uc_stack.ss_sp = stacks + (size_t)t * STACK;
        threads[t].place.uc_stack.ss_size = STACK;
        threads[t].place.uc_link = &scheduler;
        makecontext(&threads[t].place, run_thread, 0);
    }
    while (!ended) {
        for (threadIdx.x = 0; threadIdx.x < count; threadIdx.x++) {
            thread_now = &threads[threadIdx.x];
            swapcontext(&scheduler, &thread_now->place);
            ended += thread_now->has_ended;
        }
        if (ended && ended < count) broken("some threads of a block wait at a barrier, and others have ended");
    }
    thread_now = NULL;
}

static void run(const Launch *l) {
    launch_now = l;
    gridDim.x = l->grid;
    shared_now = malloc(l->shared_bytes + FENCE);
    Thread *threads = l->has_barriers ? calloc(l->threads, sizeof *threads) : NULL;
    char *stacks = l->has_barriers ? malloc((size_t)l->threads * STACK) : NULL;
    for (blockIdx.x = 0; blockIdx.x < l->grid; blockIdx.x++) {
        memset(shared_now, NOISE, l->shared_bytes);
        memset(shared_now + l->shared_bytes, FENCE_BYTE, FENCE);
        if (l->has_barriers) run_block(threads, stacks);
        else for (threadIdx.x = 0; threadIdx.x < l->threads; threadIdx.x++) call(l);
        for (int i = 0; i < FENCE; i++)
            if (shared_now[l->shared_bytes + i] != FENCE_BYTE) broken("a kernel reaches out of its shared memory");
    }
    free(shared_now), free(threads), free(stacks);
}
