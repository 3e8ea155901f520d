// What a C compiler needs in front of the kernels' CUDA text to run them on this processor. What is only declared here stands in
// launch.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define __device__
#define __forceinline__ inline
#define __restrict__ restrict
#define __grid_constant__
#define KERNEL(threads, blocks) static void
#define SHARED(type, name, count) type *const name = shared_memory(sizeof(type) * (count))
#define __syncthreads() wait_for_block()

typedef struct { unsigned x, y, z, w; } uint4;
typedef struct { unsigned x; } Place;
static Place gridDim, blockIdx, threadIdx;
static void wait_for_block(void);
static void *shared_memory(size_t bytes);

// The table is known where this is called: the compiler keeps the terms that it has.
static inline unsigned look(unsigned t, unsigned a, unsigned b, unsigned c) {
    return (t & 1 ? ~a & ~b & ~c : 0) | (t & 2 ? ~a & ~b & c : 0) | (t & 4 ? ~a & b & ~c : 0) | (t & 8 ? ~a & b & c : 0) |
           (t & 16 ? a & ~b & ~c : 0) | (t & 32 ? a & ~b & c : 0) | (t & 64 ? a & b & ~c : 0) | (t & 128 ? a & b & c : 0);
}
#define LOOKUP(r, t, a, b, c) r = look(t, a, b, c)
