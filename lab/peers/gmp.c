/* Times products of the GNU MP library, or of FLINT, on one thread, for the lab.
 *
 *   gmp LIBRARY      the shared library's file name; its mpn_mul_n or flint_mpn_mul_n is taken from it, so that no header is
 *                    needed
 *
 * Answers each line on standard input with a line of JSON:
 *   version              {"version": "6.3.0"}
 *   set WORDS A B        the factors, as hexadecimal digits of WORDS words of 32 bits, highest first
 *   product              {"bytes": N} and then the product, N bytes, lowest first
 *   time REPEATS         {"wall_ns": …, "cpu_ns": …} for so many products
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void multiply_function(uint64_t *, const uint64_t *, const uint64_t *, long);

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* A factor of `words` words from its digits; one more word of zeros if their number is odd. */
static uint64_t *factor(const char *digits, size_t words)
{
    size_t limbs = (words + 1) / 2;
    uint64_t *out = calloc(limbs, sizeof *out);
    if (strlen(digits) != 8 * words || !out)
        exit(2);
    for (size_t word = 0; word < words; word++) {
        char text[9] = {0};
        memcpy(text, digits + 8 * (words - 1 - word), 8);
        out[word / 2] |= (uint64_t)strtoul(text, NULL, 16) << (32 * (word % 2));
    }
    return out;
}

int main(int count, char **arguments)
{
    void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    multiply_function *multiply = NULL;
    const char *const *version = NULL;
    if (library) {
        *(void **)&multiply = dlsym(library, "__gmpn_mul_n");
        version = dlsym(library, "__gmp_version");
        /* FLINT needs GMP, whose symbols are found through it: its own come first. Its version is an array. */
        void *flint = dlsym(library, "flint_mpn_mul_n");
        if (flint) {
            static const char *text;
            *(void **)&multiply = flint;
            text = dlsym(library, "flint_version");
            version = text ? &text : NULL;
        }
    }
    if (!multiply || !version) {
        fprintf(stderr, "gmp: neither GNU MP nor FLINT in %s\n", count == 2 ? arguments[1] : "(no argument)");
        return 1;
    }
    uint64_t *a = NULL, *b = NULL, *product = NULL;
    size_t words = 0, room = 0;
    char *line = NULL;
    while (getline(&line, &room, stdin) > 0) {
        const char *order = strtok(line, " \n");
        if (!order)
            continue;
        if (!strcmp(order, "version")) {
            printf("{\"version\": \"%s\"}\n", *version);
        } else if (!strcmp(order, "set")) {
            const char *number = strtok(NULL, " \n"), *left = strtok(NULL, " \n"), *right = strtok(NULL, " \n");
            if (!number || !left || !right)
                return 2;
            free(a), free(b), free(product);
            words = strtoul(number, NULL, 10);
            a = factor(left, words);
            b = factor(right, words);
            product = calloc(2 * ((words + 1) / 2), sizeof *product);
            if (!product)
                return 2;
            printf("{}\n");
        } else if (!strcmp(order, "product") && product) {
            multiply(product, a, b, (long)((words + 1) / 2));
            printf("{\"bytes\": %zu}\n", 8 * words);
            fwrite(product, 1, 8 * words, stdout);
        } else if (!strcmp(order, "time") && product) {
            const char *number = strtok(NULL, " \n");
            uint64_t repeats = number ? strtoul(number, NULL, 10) : 0;
            uint64_t cpu = now(CLOCK_THREAD_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
            for (uint64_t repeat = 0; repeat < repeats; repeat++)
                multiply(product, a, b, (long)((words + 1) / 2));
            wall = now(CLOCK_MONOTONIC) - wall;
            cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
            printf("{\"wall_ns\": %lu, \"cpu_ns\": %lu}\n", (unsigned long)wall, (unsigned long)cpu);
        } else {
            printf("{\"error\": \"unknown order, or no factors yet\"}\n");
        }
        fflush(stdout);
    }
    return 0;
}
