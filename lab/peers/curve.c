/* OpenSSL beside the lab's own modular arithmetic: Montgomery multiplication (BN) and X25519 (EVP).
 *
 *     cc -O2 -o curve curve.c -lcrypto
 *
 * Answers each line on standard input with a line of JSON:
 *   montgomery A B M       a product modulo M, all as hexadecimal digits, highest first; A and B below M
 *   x25519 SCALAR POINT    a scalar multiplication, both as the bytes of RFC 7748 in hexadecimal digits
 *   product                {"bytes": N} and then what it gives, N bytes, lowest first
 *   time REPEATS           {"wall_ns": …, "cpu_ns": …} for so many
 */
#define _GNU_SOURCE
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static BN_CTX *context;
static BN_MONT_CTX *modulus;
static BIGNUM *a, *b, *m, *result;
static EVP_PKEY_CTX *derivation;
static uint8_t point[32];
static int is_curve;

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int set_montgomery(const char *left, const char *right, const char *by)
{
    is_curve = 0;
    return BN_hex2bn(&a, left) && BN_hex2bn(&b, right) && BN_hex2bn(&m, by) && BN_MONT_CTX_set(modulus, m, context);
}

static int read_bytes(const char *digits, uint8_t out[32])
{
    for (int i = 0; i < 32; i++)
        if (sscanf(digits + 2 * i, "%2hhx", &out[i]) != 1)
            return 0;
    return 1;
}

static int set_curve(const char *scalar_digits, const char *point_digits)
{
    uint8_t scalar[32];
    if (!read_bytes(scalar_digits, scalar) || !read_bytes(point_digits, point))
        return 0;
    EVP_PKEY_CTX_free(derivation);
    EVP_PKEY *own = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, scalar, 32);
    EVP_PKEY *theirs = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, point, 32);
    derivation = EVP_PKEY_CTX_new(own, NULL);
    is_curve = EVP_PKEY_derive_init(derivation) == 1 && EVP_PKEY_derive_set_peer(derivation, theirs) == 1;
    /* The context keeps both. */
    EVP_PKEY_free(own);
    EVP_PKEY_free(theirs);
    return is_curve;
}

static void work(void)
{
    size_t length = sizeof point;
    if (is_curve ? EVP_PKEY_derive(derivation, point, &length) != 1
                 : !BN_mod_mul_montgomery(result, a, b, modulus, context))
        exit(3);
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    context = BN_CTX_new();
    modulus = BN_MONT_CTX_new();
    result = BN_new();
    while (getline(&line, &room, stdin) > 0) {
        const char *order = strtok(line, " \n"), *words[3];
        for (int i = 0; i < 3; i++)
            words[i] = order ? strtok(NULL, " \n") : NULL;
        if (!order)
            continue;
        if (!strcmp(order, "montgomery") && words[2]) {
            puts(set_montgomery(words[0], words[1], words[2]) ? "{}" : "{\"error\": \"OpenSSL refuses the modulus\"}");
        } else if (!strcmp(order, "x25519") && words[1] && strlen(words[0]) == 64 && strlen(words[1]) == 64) {
            puts(set_curve(words[0], words[1]) ? "{}" : "{\"error\": \"OpenSSL refuses the key\"}");
        } else if (!strcmp(order, "product")) {
            uint8_t bytes[4096];
            const int length = is_curve ? 32 : BN_num_bytes(m);
            if (length > (int)sizeof bytes)
                return 2;
            work();
            if (is_curve)
                memcpy(bytes, point, 32);
            else if (BN_bn2lebinpad(result, bytes, length) < 0)
                return 3;
            printf("{\"bytes\": %d}\n", length);
            fwrite(bytes, 1, (size_t)length, stdout);
        } else if (!strcmp(order, "time") && words[0]) {
            const uint64_t repeats = strtoul(words[0], NULL, 10);
            uint64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
            for (uint64_t repeat = 0; repeat < repeats; repeat++)
                work();
            wall = now(CLOCK_MONOTONIC) - wall;
            cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
            printf("{\"wall_ns\": %llu, \"cpu_ns\": %llu}\n", (unsigned long long)wall, (unsigned long long)cpu);
        } else {
            puts("{\"error\": \"unknown order\"}");
        }
        fflush(stdout);
    }
    return 0;
}
