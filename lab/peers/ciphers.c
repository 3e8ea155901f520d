/* Ciphers of others, for the lab: OpenSSL's EVP, intel-ipsec-mb (multi-buffer jobs and bursts), AES instructions by way of
 * intrinsics, in a row as a publication of 2013 used them, and with eight blocks in flight; and plain C by tables.
 *
 * A line on stdin asks for one thing, a line of JSON on stdout answers it:
 *
 *     version                                      -> {"openssl":"...","ipsec_mb":"..."}
 *     result LIBRARY MODE BITS SIZE COUNT SPREAD     -> {"bytes":N}, then N bytes: the output on fresh input
 *     time   LIBRARY MODE BITS SIZE COUNT SPREAD MS  -> {"passes":N,"wall":NANOSECONDS,"cpu":NANOSECONDS}
 *
 * LIBRARY: openssl, ipsec-mb-jobs, ipsec-mb-burst, intrinsics-row, intrinsics-eight, plain.
 * MODE: ecb, ctr, cbc-decrypt, cbc-encrypt, gcm (tags follow their texts). SPREAD 1: uneven lengths.
 * {"error":"..."} says what a library cannot do, or refuses: intel-ipsec-mb checks every job of a result first. Input, lengths and
 * layout are those of the lab's workload.rs.
 *
 *     cc -O2 -DWITH_IPSEC_MB -o ciphers ciphers.c -lIPSec_MB -lcrypto      (both names away: without intel-ipsec-mb)
 *     cc -O2 -m32 -msse2 -DWITHOUT_OPENSSL -o ciphers ciphers.c                 (intrinsics and plain C alone)
 */
#include "aes_tables.h"
#include "random.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct entry {
    uint8_t *text;
    size_t length;
    uint8_t iv[16];
};

static struct entry *entries;
static size_t entry_count, total_length;
static uint8_t *arena;
static uint8_t key[32];
static uint32_t round_words[44];

/* Lengths between half and one and a half of `size` when `spread`, and a place for each, 16 bytes apart from full
 * cache lines as padded files are. */
static void lay_out(size_t size, size_t count, int spread)
{
    uint64_t seed = 99;
    size_t at = 0;
    free(arena);
    free(entries);
    entries = calloc(count, sizeof *entries);
    entry_count = count;
    total_length = 0;
    for (size_t index = 0; index < count; index++) {
        size_t blocks = size / 16;
        entries[index].length = 16 * (spread ? blocks / 2 + splitmix(&seed) % (blocks + 1) : blocks);
        total_length += entries[index].length;
    }
    arena = aligned_alloc(4096, (total_length + 128 * count + 4095) / 4096 * 4096);
    for (size_t index = 0; index < count; index++) {
        entries[index].text = arena + at;
        at += (entries[index].length + 16 + 63) / 64 * 64;
        fill(1000 + index, entries[index].text, entries[index].length);
        fill(5000 + index, entries[index].iv, 16);
    }
}

#ifndef WITHOUT_OPENSSL
#include "ciphers_openssl.h"
#endif
#ifdef WITH_IPSEC_MB
#include "ciphers_ipsec_mb.h"
#endif
#if defined __x86_64__ || defined __i386__ || defined __aarch64__
#define HAS_INTRINSICS
#include "ciphers_intrinsics.h"
#endif

static void tables_pass(const char *mode)
{
    for (size_t index = 0; index < entry_count; index++) {
        uint8_t *text = entries[index].text, chain[16];
        const size_t length = entries[index].length;
        if (!strcmp(mode, "ctr")) {
            tables_ctr(round_words, entries[index].iv, 0, text, length);
            continue;
        }
        memcpy(chain, entries[index].iv, 16);
        for (size_t at = 0; at < length; at += 16) {
            for (int i = 0; mode[0] != 'e' && i < 16; i++)
                text[at + i] ^= chain[i];
            encrypt_block(round_words, text + at, text + at);
            memcpy(chain, text + at, 16);
        }
    }
}

/* ---- answers ---- */

static int pass(const char *library, const char *mode, int bits)
{
    (void)bits;
#ifndef WITHOUT_OPENSSL
    if (!strcmp(library, "openssl"))
        return evp_pass(!strcmp(mode, "gcm"));
#endif
#ifdef WITH_IPSEC_MB
    if (!strcmp(library, "ipsec-mb-jobs"))
        return jobs_pass(mode, bits);
    if (!strcmp(library, "ipsec-mb-burst"))
        return burst_pass(bits);
#endif
#ifdef HAS_INTRINSICS
    if (!strcmp(library, "intrinsics-row"))
        return row_pass(mode), 1;
    if (!strcmp(library, "intrinsics-eight"))
        return eight_pass(mode), 1;
#endif
    tables_pass(mode);
    return 1;
}

/* What a library cannot do; NULL if it can, and is ready. */
static const char *prepare(const char *library, const char *mode, int bits)
{
    if (!strcmp(library, "openssl")) {
#ifdef WITHOUT_OPENSSL
        return "built without OpenSSL";
#else
        return evp_prepare(mode, bits) ? NULL : "OpenSSL refuses the key";
#endif
    }
    if (!strncmp(library, "ipsec-mb-", 9)) {
#ifdef WITH_IPSEC_MB
        if (!strcmp(mode, "ecb") || !strcmp(mode, "gcm") || (!strcmp(library, "ipsec-mb-burst") && strcmp(mode, "cbc-encrypt")))
            return "not compared in this mode";
        return ipsec_prepare(bits) ? NULL : "no manager of intel-ipsec-mb";
#else
        return "built without intel-ipsec-mb";
#endif
    }
    if (bits != 128 || !strcmp(mode, "gcm") || !strcmp(mode, "cbc-decrypt"))
        return "not written in this mode";
    expand_key(key, round_words);
    if (!strcmp(library, "plain"))
        return NULL;
#ifdef HAS_INTRINSICS
    if (!strncmp(library, "intrinsics-", 11)) {
        if (!strcmp(library, "intrinsics-eight") && !strcmp(mode, "cbc-encrypt"))
            return "not written in this mode";
        if (!has_instructions())
            return "this processor has no AES instructions";
        intrinsics_prepare();
        return NULL;
    }
#endif
    return "no such library here";
}

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void version(void)
{
    const char *ipsec_mb = "", *openssl = "";
#ifdef WITH_IPSEC_MB
    ipsec_mb = imb_get_version_str();
#endif
#ifndef WITHOUT_OPENSSL
    openssl = OpenSSL_version(OPENSSL_VERSION);
#endif
    printf("{\"openssl\":\"%s\",\"ipsec_mb\":\"%s\"}\n", openssl, ipsec_mb);
}

static void result(const char *library, const char *mode, int bits, size_t size, size_t count, int spread)
{
    const size_t tag = strcmp(mode, "gcm") ? 0 : 16;
    (void)size, (void)count, (void)spread;
#ifdef WITH_IPSEC_MB
    const char *refusal = strncmp(library, "ipsec-mb-", 9) ? NULL : ipsec_refusal(library, mode, bits);
    if (refusal) {
        printf("{\"error\":\"intel-ipsec-mb %s refuses: %s\"}\n", imb_get_version_str(), refusal);
        return;
    }
    if (!strncmp(library, "ipsec-mb-", 9))
        lay_out(size, count, spread);
#endif
    if (!pass(library, mode, bits)) {
        puts("{\"error\":\"a pass failed\"}");
        return;
    }
    printf("{\"bytes\":%zu}\n", total_length + tag * entry_count);
    for (size_t index = 0; index < entry_count; index++)
        fwrite(entries[index].text, 1, entries[index].length + tag, stdout);
}

int main(void)
{
    char line[256], verb[16], library[32], mode[32], laid[256] = "", wanted[256];
    int bits, spread;
    size_t size, count;
    unsigned milliseconds;

    fill(77, key, sizeof key);
    while (fgets(line, sizeof line, stdin)) {
        milliseconds = 0;
        if (!strcmp(line, "version\n")) {
            version();
        } else if (sscanf(line, "%15s %31s %31s %d %zu %zu %d %u", verb, library, mode, &bits, &size, &count, &spread,
                          &milliseconds) < 7) {
            return 2;
        } else {
            const char *reason = prepare(library, mode, bits);
            snprintf(wanted, sizeof wanted, "%zu %zu %d", size, count, spread);
            if (!reason && (!strcmp(verb, "result") || strcmp(laid, wanted))) {
                lay_out(size, count, spread);
                strcpy(laid, wanted);
            }
            if (reason) {
                printf("{\"error\":\"%s\"}\n", reason);
            } else if (!strcmp(verb, "result")) {
                result(library, mode, bits, size, count, spread);
            } else {
                uint64_t passes = 0, wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
                do {
                    if (!pass(library, mode, bits))
                        return 4;
                    passes++;
                } while (now(CLOCK_MONOTONIC) - wall < milliseconds * 1000000ull);
                cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
                printf("{\"passes\":%llu,\"wall\":%llu,\"cpu\":%llu}\n", (unsigned long long)passes,
                       (unsigned long long)(now(CLOCK_MONOTONIC) - wall), (unsigned long long)cpu);
            }
        }
        fflush(stdout);
    }
    return 0;
}
