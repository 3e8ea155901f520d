/* Products of long integers in C, for the lab: the published ways with OpenMP, the classic ones, and rows of 64-bit words.
 * Written anew from the publication.
 *
 *     cc -O2 -fopenmp -o comba comba.c
 *
 * Answers each line on standard input with a line of JSON:
 *   methods                  {"methods": ["schoolbook 32", …]}    those that this processor can run
 *   set WORDS A B            the factors, as hexadecimal digits of WORDS words of 32 bits, highest first
 *   use METHOD,THREADS       the way to multiply; THREADS counts for `2x` and `Mx` alone
 *   product                  {"bytes": N} and then the product, N bytes, lowest first
 *   time REPEATS             {"wall_ns": …, "cpu_ns": …} for so many products; processor time of all threads
 *
 * OpenMP keeps its team of threads from product to product, as the published program did.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <x86intrin.h>
#endif

typedef unsigned __int128 wide;

static size_t words, limbs;
static uint32_t *a32, *b32, *product32;
static uint64_t *a64, *b64, *product64, *scratch, *low_sums, *high_sums;
static int threads = 1;

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* ---- by rows, the carry handed on at once ---- */

static void schoolbook_32(void)
{
    memset(product32, 0, words * sizeof *product32);
    for (size_t j = 0; j < words; j++) {
        uint64_t carry = 0;
        for (size_t i = 0; i < words; i++) {
            carry += (uint64_t)a32[i] * b32[j] + product32[i + j];
            product32[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product32[words + j] = (uint32_t)carry;
    }
}

static void schoolbook_64(void)
{
    memset(product64, 0, limbs * sizeof *product64);
    for (size_t j = 0; j < limbs; j++) {
        uint64_t carry = 0;
        for (size_t i = 0; i < limbs; i++) {
            const wide sum = (wide)a64[i] * b64[j] + product64[i + j] + carry;
            product64[i + j] = (uint64_t)sum;
            carry = (uint64_t)(sum >> 64);
        }
        product64[limbs + j] = carry;
    }
}

/* ---- by columns; the first row of column k, and the one after the last ---- */

static size_t first_row(size_t n, size_t k) { return k < n ? 0 : k - n + 1; }
static size_t end_row(size_t n, size_t k) { return k < n ? k + 1 : n; }

/* Classic Comba: three words of accumulator, each product's carry handed on. */
static void comba_32(void)
{
    uint64_t sum = 0, top = 0;
    for (size_t k = 0; k < 2 * words - 1; k++) {
        for (size_t i = first_row(words, k); i < end_row(words, k); i++) {
            const uint64_t product = (uint64_t)a32[i] * b32[k - i];
            sum += product;
            top += sum < product;
        }
        product32[k] = (uint32_t)sum;
        sum = sum >> 32 | top << 32;
        top >>= 32;
    }
    product32[2 * words - 1] = (uint32_t)sum;
}

static void comba_64(void)
{
    wide sum = 0;
    uint64_t top = 0;
    for (size_t k = 0; k < 2 * limbs - 1; k++) {
        for (size_t i = first_row(limbs, k); i < end_row(limbs, k); i++) {
            const wide product = (wide)a64[i] * b64[k - i];
            sum += product;
            top += sum < product;
        }
        product64[k] = (uint64_t)sum;
        sum = sum >> 64 | (wide)top << 64;
        top = 0;
    }
    product64[2 * limbs - 1] = (uint64_t)sum;
}

/* Modified Comba: low and high halves in sums of their own, whose carry waits for the end of the column. */
static void sum_column(size_t k, uint64_t *low, uint64_t *high)
{
    uint64_t r0 = 0, r1 = 0;
    for (size_t i = first_row(words, k); i < end_row(words, k); i++) {
        const uint64_t product = (uint64_t)a32[i] * b32[k - i];
        r0 += (uint32_t)product;
        r1 += product >> 32;
    }
    *low = r0;
    *high = r1;
}

/* Columns `from` to `to` into the product, as if nothing came from below; leaves the two sums that are not saved yet. */
static void save_columns(size_t from, size_t to, uint64_t left[2])
{
    uint64_t r0 = 0, r1 = 0, low, high;
    for (size_t k = from; k < to; k++) {
        sum_column(k, &low, &high);
        r0 += low;
        r1 += high + (r0 >> 32);
        product32[k] = (uint32_t)r0;
        r0 = (uint32_t)r1;
        r1 >>= 32;
    }
    left[0] = r0;
    left[1] = r1;
}

static void modified_32(void)
{
    uint64_t left[2];
    save_columns(0, 2 * words - 1, left);
    product32[2 * words - 1] = (uint32_t)left[0];
}

static void modified_64(void)
{
    wide r0 = 0, r1 = 0;
    for (size_t k = 0; k < 2 * limbs - 1; k++) {
        for (size_t i = first_row(limbs, k); i < end_row(limbs, k); i++) {
            const wide product = (wide)a64[i] * b64[k - i];
            r0 += (uint64_t)product;
            r1 += product >> 64;
        }
        product64[k] = (uint64_t)r0;
        r0 = r1 + (r0 >> 64);
        r1 = 0;
    }
    product64[2 * limbs - 1] = (uint64_t)r0;
}

#ifdef _OPENMP
/* 2x: the lower and the upper columns; then what the lower half has left over is added at the upper half. */
static void modified_2x(void)
{
    uint64_t lower[2], upper[2];
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        save_columns(0, words, lower);
#pragma omp section
        {
            save_columns(words, 2 * words - 1, upper);
            product32[2 * words - 1] = (uint32_t)upper[0];
        }
    }
    uint64_t r0 = lower[0], r1 = lower[1];
    for (size_t k = words; k < 2 * words && (r0 || r1); k++) {
        r0 += product32[k];
        product32[k] = (uint32_t)r0;
        r1 += r0 >> 32;
        r0 = (uint32_t)r1;
        r1 >>= 32;
    }
}

/* Mx: every column by itself, in turn over the threads; then one pass of carries. */
static void modified_mx(void)
{
    const long columns = 2 * (long)words - 1;
#pragma omp parallel for num_threads(threads) schedule(static, 8)
    for (long k = 0; k < columns; k++)
        sum_column((size_t)k, &low_sums[k], &high_sums[k]);
    uint64_t r0 = 0, r1 = 0;
    for (long k = 0; k < columns; k++) {
        r0 += low_sums[k];
        r1 += high_sums[k] + (r0 >> 32);
        product32[k] = (uint32_t)r0;
        r0 = (uint32_t)r1;
        r1 >>= 32;
    }
    product32[columns] = (uint32_t)r0;
}
#endif

#ifdef __x86_64__
#include "comba_rows.h"

static void rows_64(void) { multiply_karatsuba(product64, a64, b64, limbs, scratch); }
#endif

/* ---- the server ---- */

static const struct method {
    const char *name;
    void (*multiply)(void);
    int is_wide, needs_adx;
} METHODS[] = {
    {"schoolbook 32", schoolbook_32, 0, 0}, {"schoolbook 64", schoolbook_64, 1, 0}, {"comba 32", comba_32, 0, 0},
    {"comba 64", comba_64, 1, 0},           {"modified 32", modified_32, 0, 0},     {"modified 64", modified_64, 1, 0},
#ifdef _OPENMP
    {"2x", modified_2x, 0, 0},              {"Mx", modified_mx, 0, 0},
#endif
#ifdef __x86_64__
    {"rows", rows_64, 1, 1},
#endif
};
enum { COUNT = sizeof METHODS / sizeof *METHODS };

static int can_run(const struct method *method)
{
#ifdef __x86_64__
    unsigned a, b = 0, c, d;
    /* Leaf 7: bit 8 is BMI2 (MULX), bit 19 ADX. */
    return !method->needs_adx || (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 8 & 1) && (b >> 19 & 1));
#else
    return !method->needs_adx;
#endif
}

static void *room_of(size_t count, size_t size)
{
    void *room = calloc(count, size);
    if (!room)
        exit(2);
    return room;
}

/* A factor from its digits, highest first, in words of 32 bits; one more word of zeros where wide words need it. */
static void read_factor(uint32_t *out, const char *digits)
{
    if (strlen(digits) != 8 * words)
        exit(2);
    for (size_t word = 0; word < words; word++) {
        char text[9] = {0};
        memcpy(text, digits + 8 * (words - 1 - word), 8);
        out[word] = (uint32_t)strtoul(text, NULL, 16);
    }
}

static void set_factors(const char *left, const char *right)
{
    limbs = (words + 1) / 2;
    free(a64), free(b64), free(product64), free(scratch), free(low_sums), free(high_sums);
    a64 = room_of(limbs, sizeof *a64);
    b64 = room_of(limbs, sizeof *b64);
    product64 = room_of(2 * limbs, sizeof *product64);
    scratch = room_of(4 * limbs, sizeof *scratch);
    low_sums = room_of(2 * words, sizeof *low_sums);
    high_sums = room_of(2 * words, sizeof *high_sums);
    /* Little-endian: words of 64 bits are pairs of those of 32. */
    a32 = (uint32_t *)(void *)a64;
    b32 = (uint32_t *)(void *)b64;
    product32 = (uint32_t *)(void *)product64;
    read_factor(a32, left);
    read_factor(b32, right);
}

int main(void)
{
    const struct method *method = NULL;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        const char *order = strtok(line, " \n");
        if (!order)
            continue;
        if (!strcmp(order, "methods")) {
            printf("{\"methods\": [");
            for (int i = 0, shown = 0; i < COUNT; i++)
                if (can_run(&METHODS[i]))
                    printf("%s\"%s\"", shown++ ? ", " : "", METHODS[i].name);
            printf("]}\n");
        } else if (!strcmp(order, "set")) {
            const char *number = strtok(NULL, " \n"), *left = strtok(NULL, " \n"), *right = strtok(NULL, " \n");
            if (!number || !left || !right || !(words = strtoul(number, NULL, 10)))
                return 2;
            set_factors(left, right);
            printf("{}\n");
        } else if (!strcmp(order, "use")) {
            const char *name = strtok(NULL, ",\n"), *number = strtok(NULL, "\n");
            method = NULL;
            for (int i = 0; i < COUNT; i++)
                if (name && !strcmp(name, METHODS[i].name) && can_run(&METHODS[i]))
                    method = &METHODS[i];
            threads = number && atoi(number) > 0 ? atoi(number) : 1;
            printf(method ? "{}\n" : "{\"error\": \"no such method\"}\n");
        } else if (!strcmp(order, "product") && method && words) {
            memset(product64, 0xff, 2 * limbs * sizeof *product64);
            method->multiply();
            printf("{\"bytes\": %zu}\n", 8 * words);
            fwrite(product64, 1, 8 * words, stdout);
        } else if (!strcmp(order, "time") && method && words) {
            const char *number = strtok(NULL, " \n");
            const uint64_t repeats = number ? strtoul(number, NULL, 10) : 0;
            uint64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
            for (uint64_t repeat = 0; repeat < repeats; repeat++) {
                method->multiply();
                __asm__ volatile("" ::: "memory");
            }
            wall = now(CLOCK_MONOTONIC) - wall;
            cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
            printf("{\"wall_ns\": %lu, \"cpu_ns\": %lu}\n", (unsigned long)wall, (unsigned long)cpu);
        } else {
            printf("{\"error\": \"unknown order, or no factors or method yet\"}\n");
        }
        fflush(stdout);
    }
    return 0;
}
