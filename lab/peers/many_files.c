/* The published way to encrypt many files (AES-128-CBC, OpenSSL), and its relatives: one program in which each choice
 * that the publication left open is an option. Written anew from the publication.
 *
 *     many_files SRC DST THREADS [FACTOR=LEVEL ...]
 *
 * Without factors it is the published program: threads made for the run, thread t takes files t, t+T, t+2T, ...,
 * stdio, a fixed buffer of 1024 bytes each. `runtime=openmp buffer=whole` is its older form.
 *
 *     runtime=spawned|openmp|pool   threads made for the run; OpenMP's, made for the run too; made once and woken for it
 *     buffer=fixed|largest|whole    one for each thread, of `size`; the same, as large as the largest file; allocated and
 *                                   freed for each file, as large as the file
 *     size=N                        of a fixed buffer, in bytes
 *     trim=default|never            whether the allocator gives memory back to the system
 *     appear=inplace|rename|unnamed how an output gets its name
 *     order=strided|queue           thread t takes every T-th file; the largest that is left
 *     work=encrypt|decrypt          what is done to each file
 *     wait=park|spin                how idle threads wait for others (OpenMP: set OMP_WAIT_POLICY)
 *     serve=1                       a run for each line on standard input, each told as {"wall":NS,"cpu":NS,"faults":N}
 *
 * The published program set OpenSSL's lock callbacks, which its threads needed. Since OpenSSL 1.1.0 the library locks by itself:
 * the functions are macros that do nothing, and are left out here.
 *
 * SRC is listed anew in each run; DST is emptied before each, which is not timed.
 *
 *     cc -O2 -fopenmp -o many_files many_files.c -lcrypto -lpthread     (without -fopenmp there is no runtime=openmp)
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 16 };

struct file {
    char *name;
    size_t size;
};

static const char *source, *target;
static struct file *files;
static long count, capacity, threads;

static const char *runtime = "spawned", *appear = "inplace";
static int whole, largest, never_trim, queued, spins, serves, decrypts;
static size_t buffer_size = 1024;

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "many_files: %s %s: %s\n", what, name, strerror(errno));
    exit(1);
}

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

#include "many_files_file.h"

/* ---- one thread's share ---- */

/* `done` only grows: so many threads have ended their share since the program began. */
static atomic_long next_file, done;
static long all_done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void announce(atomic_long *number)
{
    if (spins) {
        atomic_fetch_add(number, 1);
        return;
    }
    pthread_mutex_lock(&lock);
    atomic_fetch_add(number, 1);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await(atomic_long *number, long least)
{
    if (spins) {
        while (atomic_load_explicit(number, memory_order_acquire) < least)
            ;
        return;
    }
    pthread_mutex_lock(&lock);
    while (atomic_load(number) < least)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void share(long thread, long all)
{
    unsigned char *in = NULL, *out = NULL;
    size_t room = buffer_size;
    for (long i = 0; largest && i < count; i++)
        room = files[i].size + BLOCK > room ? files[i].size + BLOCK : room;
    if (!whole) {
        in = malloc(room);
        out = malloc(room + BLOCK);
        if (!in || !out)
            fail("no memory for", "a thread's buffer");
    }
    if (queued)
        for (long i; (i = atomic_fetch_add(&next_file, 1)) < count;)
            translate_file(&files[i], in, out, room);
    else
        for (long i = thread; i < count; i += all)
            translate_file(&files[i], in, out, room);
    free(in);
    free(out);
}

/* ---- runtimes ---- */

static void *spawned(void *argument)
{
    share((long)argument, threads);
    /* Who is ready first waits for the others: parked until joined, or spinning. */
    atomic_fetch_add(&done, 1);
    if (spins)
        await(&done, all_done);
    return NULL;
}

static void run_spawned(void)
{
    pthread_t *workers = calloc((size_t)threads, sizeof *workers);
    for (long t = 0; t < threads; t++)
        if (pthread_create(&workers[t], NULL, spawned, (void *)t))
            fail("cannot start", "a thread");
    for (long t = 0; t < threads; t++)
        pthread_join(workers[t], NULL);
    free(workers);
}

static atomic_long armed, ready, started;

/* Between runs a worker sleeps, so that it disturbs nobody; from `armed` on it waits as it is told to. */
static void *pooled(void *argument)
{
    for (long turn = 1;; turn++) {
        pthread_mutex_lock(&lock);
        while (atomic_load(&armed) < turn)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        atomic_fetch_add(&ready, 1);
        await(&started, turn);
        share((long)argument, threads);
        announce(&done);
        await(&done, turn * threads);
    }
    return NULL;
}

static void arm_pool(void)
{
    static int is_made;
    for (long t = 0; t < threads && !is_made; t++) {
        pthread_t worker;
        if (pthread_create(&worker, NULL, pooled, (void *)t))
            fail("cannot start", "a thread");
    }
    is_made = 1;
    atomic_store(&ready, 0);
    pthread_mutex_lock(&lock);
    atomic_fetch_add(&armed, 1);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    while (atomic_load(&ready) < threads)
        usleep(50);
}

static void run_pool(void)
{
    announce(&started);
    await(&done, all_done);
}

#ifdef _OPENMP
#include <omp.h>

static void run_openmp(void)
{
#pragma omp parallel num_threads((int)threads)
    share(omp_get_thread_num(), omp_get_num_threads());
}

/* The team ends with the run, as the published process did; it would go on spinning otherwise. */
static void disarm_openmp(void)
{
    omp_pause_resource_all(omp_pause_soft);
}
#else
static void run_openmp(void)
{
    fputs("many_files: built without OpenMP\n", stderr);
    exit(2);
}
static void disarm_openmp(void) {}
#endif

/* ---- a run ---- */

static int larger_first(const void *left, const void *right)
{
    const struct file *a = left, *b = right;
    return a->size != b->size ? (a->size < b->size ? 1 : -1) : strcmp(a->name, b->name);
}

static void list(void)
{
    for (long i = 0; i < count; i++)
        free(files[i].name);
    count = 0;
    DIR *folder = opendir(source);
    if (!folder)
        fail("cannot list", source);
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct stat found = {0};
        if (entry->d_type != DT_REG)
            continue;
        if ((whole || largest || queued) && fstatat(dirfd(folder), entry->d_name, &found, 0))
            fail("cannot see", entry->d_name);
        if (count == capacity)
            files = realloc(files, (size_t)(capacity = 2 * capacity + 64) * sizeof *files);
        files[count].size = (size_t)found.st_size;
        files[count++].name = strdup(entry->d_name);
    }
    closedir(folder);
    if (queued)
        qsort(files, (size_t)count, sizeof *files, larger_first);
}

static void empty_target(void)
{
    DIR *folder = opendir(target);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_type == DT_REG)
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
}

static void run(void)
{
    struct rusage before, after;
    const int is_openmp = !strcmp(runtime, "openmp"), is_pool = !strcmp(runtime, "pool");
    mkdir(target, 0777);
    empty_target();
    atomic_store(&next_file, 0);
    all_done += threads;
    if (is_pool)
        arm_pool();
    getrusage(RUSAGE_SELF, &before);
    uint64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
    list();
    if (is_openmp)
        run_openmp();
    else if (is_pool)
        run_pool();
    else
        run_spawned();
    wall = now(CLOCK_MONOTONIC) - wall;
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    getrusage(RUSAGE_SELF, &after);
    if (is_openmp)
        disarm_openmp();
    if (serves)
        printf("{\"wall\":%llu,\"cpu\":%llu,\"faults\":%ld}\n", (unsigned long long)wall, (unsigned long long)cpu,
               after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt);
}

static void set(const char *word)
{
    const char *level = strchr(word, '=');
    const size_t length = level ? (size_t)(level - word) : 0;
    const char *names[] = {"runtime", "buffer", "size", "trim", "appear", "order", "wait", "work", "serve"};
    for (size_t factor = 0; level && factor < sizeof names / sizeof *names; factor++) {
        if (strlen(names[factor]) != length || strncmp(word, names[factor], length))
            continue;
        level++;
        switch (factor) {
        case 0: runtime = level; return;
        case 1: whole = !strcmp(level, "whole"), largest = !strcmp(level, "largest"); return;
        case 2: buffer_size = strtoul(level, NULL, 10); return;
        case 3: never_trim = !strcmp(level, "never"); return;
        case 4: appear = level; return;
        case 5: queued = !strcmp(level, "queue"); return;
        case 6: spins = !strcmp(level, "spin"); return;
        case 7: decrypts = !strcmp(level, "decrypt"); return;
        case 8: serves = 1; return;
        }
    }
    fprintf(stderr, "many_files: no factor `%s`\n", word);
    exit(2);
}

int main(int argc, char **argv)
{
    if (argc < 4 || (threads = atol(argv[3])) < 1) {
        fprintf(stderr, "usage: many_files SRC DST THREADS [FACTOR=LEVEL ...]\n");
        return 2;
    }
    source = argv[1];
    target = argv[2];
    for (int i = 4; i < argc; i++)
        set(argv[i]);
    if (never_trim) {
        mallopt(M_TRIM_THRESHOLD, 1 << 30);
        mallopt(M_MMAP_THRESHOLD, 1 << 30);
        mallopt(M_TOP_PAD, 1 << 26);
    }
    if (!serves) {
        run();
        return 0;
    }
    char line[64];
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin))
        run();
    return 0;
}
