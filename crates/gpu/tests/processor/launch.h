// Behind the kernels' text: a launch of one of them.

typedef void Kernel(const uint4 *source, uint4 *sink, const Keys keys, u32 high, u32 upper, u32 lower, u32 low, u32 blocks,
                    u32 skip, u32 rounds);

typedef struct {
    Kernel *kernel;
    int has_barriers;
    unsigned grid, threads;
    const uint4 *source;
    uint4 *sink;
    Keys keys;
    u32 counter[4], blocks, skip, rounds;
} Launch;

typedef struct { const Launch *launch; unsigned thread; } Hand;

static void call(const Launch *l) {
    l->kernel(l->source, l->sink, l->keys, l->counter[0], l->counter[1], l->counter[2], l->counter[3], l->blocks, l->skip,
              l->rounds);
}

static void *hand(void *argument) {
    const Hand *hand = argument;
    threadIdx.x = hand->thread;
    for (blockIdx.x = 0; blockIdx.x < hand->launch->grid; blockIdx.x++) {
        call(hand->launch);
        // The next block has the private memory anew.
        __syncthreads();
    }
    return NULL;
}

static void run(const Launch *l) {
    gridDim.x = l->grid;
    if (!l->has_barriers) {
        for (blockIdx.x = 0; blockIdx.x < l->grid; blockIdx.x++)
            for (threadIdx.x = 0; threadIdx.x < l->threads; threadIdx.x++) call(l);
        return;
    }
    pthread_t *threads = calloc(l->threads, sizeof *threads);
    Hand *hands = calloc(l->threads, sizeof *hands);
    pthread_barrier_init(&block_barrier, NULL, l->threads);
    for (unsigned t = 0; t < l->threads; t++) {
        hands[t] = (Hand){l, t};
        // The others would wait at the barrier for ever.
        if (pthread_create(&threads[t], NULL, hand, &hands[t])) {
            fputs("launch.h: pthread_create failed: too few threads for a block\n", stderr);
            abort();
        }
    }
    for (unsigned t = 0; t < l->threads; t++) pthread_join(threads[t], NULL);
    pthread_barrier_destroy(&block_barrier);
    free(threads);
    free(hands);
}
