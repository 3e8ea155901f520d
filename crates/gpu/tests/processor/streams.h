// What the test driver (driver.c) keeps: memory of the device and pinned, and streams with what they were asked and have not
// done yet, since nobody has waited for it. Behind launch.h.
#include <time.h>

// Memory, of the device and pinned.
typedef struct Memory { char *start; size_t bytes; int is_pinned; struct Memory *next; } Memory;
static Memory *memories;

static Memory *holder(const void *at, size_t bytes, int is_pinned) {
    for (Memory *m = memories; m; m = m->next)
        if (m->is_pinned == is_pinned && m->start <= (char *)at && (char *)at + bytes <= m->start + m->bytes) return m;
    return NULL;
}

static void *allocate(size_t bytes, int is_pinned) {
    Memory *m = malloc(sizeof *m);
    *m = (Memory){malloc(bytes ? bytes : 1), bytes, is_pinned, memories};
    // What was not set is noise.
    memset(m->start, 0xa5, bytes);
    memories = m;
    return m->start;
}

static void release(void *start, int is_pinned) {
    for (Memory **m = &memories; *m; m = &(*m)->next)
        if ((*m)->start == start && (*m)->is_pinned == is_pinned) {
            Memory *gone = *m;
            *m = gone->next;
            memset(gone->start, 0x5a, gone->bytes);
            free(gone->start);
            free(gone);
            return;
        }
    broken("memory is freed that was not allocated");
}

// Streams.
typedef enum { COPY, SET, LAUNCH, RECORD, WAIT, FREE } Kind;
typedef struct Stream Stream;
typedef struct { Stream *stream; uint64_t number; struct timespec time; int is_done, was_recorded, was_asked; } Event;
typedef struct Order {
    Kind kind;
    uint64_t number;
    void *to, *from;
    size_t bytes;
    int value, frees_from;
    Launch *launch;
    Event *event;
    Stream *other;
    struct Order *next;
} Order;
struct Stream { Order *first, **last; uint64_t asked, done; int hangs; struct Stream *next; };
static Stream *streams;

static void give(Stream *stream, Order order) {
    Order *o = malloc(sizeof *o);
    *o = order;
    o->number = ++stream->asked;
    o->next = NULL;
    *stream->last = o;
    stream->last = &o->next;
}

static void drain(Stream *stream, uint64_t number) {
    while (stream->first && stream->done < number && !stream->hangs) {
        Order *o = stream->first;
        switch (o->kind) {
        case COPY:
            memmove(o->to, o->from, o->bytes);
            if (o->frees_from) free(o->from);
            break;
        case SET: memset(o->to, o->value, o->bytes); break;
        case LAUNCH:
            run(o->launch);
            if (getenv("CUDA_TEST_WRONG")) ((char *)o->launch->sink)[3] ^= 16;
            free(o->launch);
            break;
        case RECORD:
            clock_gettime(CLOCK_MONOTONIC, &o->event->time);
            o->event->is_done = 1;
            break;
        case WAIT:
            drain(o->other, (uint64_t)o->bytes);
            // It waits for ever too.
            if (o->other->done < o->bytes) { stream->hangs = 1; return; }
            break;
        case FREE: release(o->to, 0); break;
        }
        stream->first = o->next;
        if (!stream->first) stream->last = &stream->first;
        stream->done = o->number;
        free(o);
    }
}

// Waits as the driver does: without a limit.
static void await(Stream *stream, uint64_t number) {
    drain(stream, number);
    if (stream->done < number) broken("a wait without a limit for a stream that never ends");
}

static void await_all(void) {
    for (Stream *s = streams; s; s = s->next) await(s, s->asked);
}

static void must_be_idle(void) {
    for (Stream *s = streams; s; s = s->next)
        if (s->hangs) broken("kernels or context are taken away from a stream that never ends");
}
