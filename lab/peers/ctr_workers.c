/* AES-128-CTR over workers with private memories, the published way, by plain C or OpenSSL; for the lab's ctr-workers.
 *
 *     start | copy in | all meet | compute | all meet | copy out | all meet
 *                     ^ the published clock ^
 *
 * Answers each line on standard input with a line of JSON:
 *
 *     result CIPHER WORKERS BYTES CHUNK       -> {"bytes":N}, then N bytes: the output
 *     time   CIPHER WORKERS BYTES CHUNK RUNS   -> {"kernel":NANOSECONDS,"wall":NANOSECONDS,"cpu":NANOSECONDS}, each of all runs
 *
 * CIPHER: plain, openssl. Message, key and counter are those of the lab's ctr_workers. Threads live as long as a line is
 * answered; each has a core of its own, as far as there are so many.
 *
 *     cc -O2 -o ctr_workers ctr_workers.c -lcrypto -lpthread
 */
#define _GNU_SOURCE
#include "aes_tables.h"
#include "random.h"
#include <openssl/evp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const uint8_t iv[16] = {1, 2, 3, 4, 5, 6, 7, 8, 255, 255, 255, 255, 255, 255, 255, 0};
static uint8_t key[16];
static uint32_t round_words[44];

static uint8_t *input, *output;
static size_t total, chunk;
static long workers, runs;
static int is_openssl;
static atomic_long arrived, meetings;
static uint64_t met_at, kernel_time, wall_time;

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Waits for all workers, awake: they are there for this alone. Yields, since they may outnumber processors. Gives the time at which
 * the last one came: others may notice it late. */
static uint64_t meet(void)
{
    const long number = atomic_fetch_add(&arrived, 1), meeting = number / workers + 1;
    if (number + 1 == meeting * workers) {
        met_at = now(CLOCK_MONOTONIC);
        atomic_store(&meetings, meeting);
    }
    for (int looks = 1; atomic_load(&meetings) < meeting; looks++)
        if (looks % 200 == 0)
            sched_yield();
    /* The next meeting waits for this worker too. */
    return met_at;
}

static void stay_on_core(long number)
{
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    number %= CPU_COUNT(&allowed);
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &allowed) && number-- == 0)
            CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void compute(EVP_CIPHER_CTX *context, size_t first, uint8_t *text, size_t length)
{
    uint8_t counter[16];
    int made;
    if (is_openssl) {
        count_on(iv, first / 16, counter);
        EVP_EncryptInit_ex(context, EVP_aes_128_ctr(), NULL, key, counter);
    }
    for (size_t at = 0; at < length; at += chunk) {
        const size_t size = length - at < chunk ? length - at : chunk;
        if (is_openssl)
            EVP_EncryptUpdate(context, text + at, &made, text + at, (int)size);
        else
            tables_ctr(round_words, iv, (first + at) / 16, text + at, size);
    }
}

static void *work(void *argument)
{
    const long worker = (long)argument;
    const size_t part = (total / (size_t)workers + (total % (size_t)workers != 0) + 15) / 16 * 16;
    const size_t first = part * (size_t)worker < total ? part * (size_t)worker : total;
    const size_t length = total - first < part ? total - first : part;
    uint8_t *own = aligned_alloc(64, (part + 63) / 64 * 64);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (!own || !context)
        exit(2);
    stay_on_core(worker);
    /* One more, which is not timed: the pages are there then. */
    for (long run = 0; run <= runs; run++) {
        const uint64_t start = meet();
        memcpy(own, input + first, length);
        const uint64_t begin = meet();
        compute(context, first, own, length);
        const uint64_t end = meet();
        memcpy(output + first, own, length);
        const uint64_t last = meet();
        if (worker == 0 && run > 0) {
            kernel_time += end - begin;
            wall_time += last - start;
        }
    }
    EVP_CIPHER_CTX_free(context);
    free(own);
    return NULL;
}

/* The host is the first worker, so that there are no more threads than workers. */
static void run_all(void)
{
    pthread_t *threads = calloc((size_t)workers, sizeof *threads);
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    atomic_store(&arrived, 0);
    atomic_store(&meetings, 0);
    kernel_time = wall_time = 0;
    for (long worker = 1; worker < workers; worker++)
        if (!threads || pthread_create(&threads[worker], NULL, work, (void *)worker))
            exit(2);
    work((void *)0);
    for (long worker = 1; worker < workers; worker++)
        pthread_join(threads[worker], NULL);
    sched_setaffinity(0, sizeof allowed, &allowed);
    free(threads);
}

int main(void)
{
    char line[128], verb[16], cipher[16];
    memset(key, 9, sizeof key);
    expand_key(key, round_words);
    while (fgets(line, sizeof line, stdin)) {
        const int fields =
            sscanf(line, "%15s %15s %ld %zu %zu %ld", verb, cipher, &workers, &total, &chunk, &runs);
        const int is_time = fields > 0 && !strcmp(verb, "time");
        if (fields < 5 + is_time || workers < 1 || !total || !chunk || chunk % 16)
            return 2;
        is_openssl = !strcmp(cipher, "openssl");
        runs = is_time ? runs : 1;
        input = realloc(input, total);
        output = realloc(output, total);
        if (!input || !output)
            return 2;
        fill(total, input, total);
        const uint64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID);
        run_all();
        if (is_time) {
            printf("{\"kernel\":%llu,\"wall\":%llu,\"cpu\":%llu}\n", (unsigned long long)kernel_time,
                   (unsigned long long)wall_time, (unsigned long long)(now(CLOCK_PROCESS_CPUTIME_ID) - cpu));
        } else {
            printf("{\"bytes\":%zu}\n", total);
            fwrite(output, 1, total, stdout);
        }
        fflush(stdout);
    }
    return 0;
}
