/* Ciphers of others, for the lab: OpenSSL's EVP, intel-ipsec-mb (multi-buffer jobs and bursts), and AES instructions by
 * way of intrinsics, in a row as a publication of 2013 used them, and with eight blocks in flight.
 *
 * A line on stdin asks for one thing, a line of JSON on stdout answers it:
 *
 *     version                                      -> {"openssl":"...","ipsec_mb":"..."}
 *     result LIBRARY MODE BITS SIZE COUNT SPREAD     -> {"bytes":N}, then N bytes: the output on fresh input
 *     time   LIBRARY MODE BITS SIZE COUNT SPREAD MS  -> {"passes":N,"wall":NANOSECONDS,"cpu":NANOSECONDS}
 *
 * LIBRARY: openssl, ipsec-mb-jobs, ipsec-mb-burst, intrinsics-row, intrinsics-eight.
 * MODE: ecb, ctr, cbc-decrypt, cbc-encrypt, gcm (tags follow their texts). SPREAD 1: uneven lengths.
 * {"error":"..."} says what a library cannot do. Input, lengths and layout are those of the lab's workload.rs.
 *
 *     cc -O2 -DWITH_IPSEC_MB -o ciphers ciphers.c -lIPSec_MB -lcrypto      (both names away: without intel-ipsec-mb)
 */
#ifdef WITH_IPSEC_MB
#include <intel-ipsec-mb.h>
#endif
#include <openssl/crypto.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static uint64_t splitmix(uint64_t *state)
{
    uint64_t word = *state += 0x9e3779b97f4a7c15ull;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
    return word ^ (word >> 31);
}

static void fill(uint64_t seed, uint8_t *out, size_t length)
{
    for (size_t at = 0; at < length; at += 8) {
        uint64_t word = splitmix(&seed);
        memcpy(out + at, &word, length - at < 8 ? length - at : 8);
    }
}

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

/* ---- OpenSSL ---- */

static const EVP_CIPHER *evp_cipher(const char *mode, int bits)
{
    if (!strcmp(mode, "ecb"))
        return bits == 128 ? EVP_aes_128_ecb() : EVP_aes_256_ecb();
    if (!strcmp(mode, "gcm"))
        return bits == 128 ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
    if (!strcmp(mode, "ctr"))
        return bits == 128 ? EVP_aes_128_ctr() : EVP_aes_256_ctr();
    return bits == 128 ? EVP_aes_128_cbc() : EVP_aes_256_cbc();
}

static EVP_CIPHER_CTX *context;

static int evp_prepare(const char *mode, int bits)
{
    EVP_CIPHER_CTX_free(context);
    context = EVP_CIPHER_CTX_new();
    return EVP_CipherInit_ex(context, evp_cipher(mode, bits), NULL, key, NULL, strcmp(mode, "cbc-decrypt") != 0) == 1 &&
           EVP_CIPHER_CTX_set_padding(context, 0) == 1;
}

static int evp_pass(int is_gcm)
{
    for (size_t index = 0; index < entry_count; index++) {
        struct entry *entry = &entries[index];
        int length = 0, rest = 0;
        if (EVP_CipherInit_ex(context, NULL, NULL, NULL, entry->iv, -1) != 1 ||
            EVP_CipherUpdate(context, entry->text, &length, entry->text, (int)entry->length) != 1)
            return 0;
        if (is_gcm && (EVP_CipherFinal_ex(context, entry->text + length, &rest) != 1 ||
                       EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, entry->text + entry->length) != 1))
            return 0;
    }
    return 1;
}

/* ---- intel-ipsec-mb ---- */

#ifdef WITH_IPSEC_MB
static IMB_MGR *manager;
static DECLARE_ALIGNED(uint8_t encrypt_keys[16 * 15], 64);
static DECLARE_ALIGNED(uint8_t decrypt_keys[16 * 15], 64);

static int ipsec_prepare(int bits)
{
    IMB_ARCH arch;
    if (!manager) {
        manager = alloc_mb_mgr(0);
        if (!manager)
            return 0;
        init_mb_mgr_auto(manager, &arch);
    }
    if (bits == 128)
        IMB_AES_KEYEXP_128(manager, key, encrypt_keys, decrypt_keys);
    else
        IMB_AES_KEYEXP_256(manager, key, encrypt_keys, decrypt_keys);
    return 1;
}

static void fill_job(IMB_JOB *job, const struct entry *entry, const char *mode, int bits)
{
    const int decrypts = !strcmp(mode, "cbc-decrypt");
    job->cipher_mode = strcmp(mode, "ctr") ? IMB_CIPHER_CBC : IMB_CIPHER_CNTR;
    job->cipher_direction = decrypts ? IMB_DIR_DECRYPT : IMB_DIR_ENCRYPT;
    job->chain_order = decrypts ? IMB_ORDER_HASH_CIPHER : IMB_ORDER_CIPHER_HASH;
    job->hash_alg = IMB_AUTH_NULL;
    job->enc_keys = encrypt_keys;
    job->dec_keys = decrypt_keys;
    job->key_len_in_bytes = bits / 8;
    job->src = entry->text;
    job->dst = entry->text;
    job->cipher_start_src_offset_in_bytes = 0;
    job->msg_len_to_cipher_in_bytes = entry->length;
    job->iv = entry->iv;
    job->iv_len_in_bytes = 16;
}

static int jobs_pass(const char *mode, int bits)
{
    size_t done = 0;
    IMB_JOB *job;
    for (size_t index = 0; index < entry_count; index++) {
        fill_job(IMB_GET_NEXT_JOB(manager), &entries[index], mode, bits);
        for (job = IMB_SUBMIT_JOB_NOCHECK(manager); job; job = IMB_GET_COMPLETED_JOB(manager))
            done += job->status == IMB_STATUS_COMPLETED;
    }
    while ((job = IMB_FLUSH_JOB(manager)))
        done += job->status == IMB_STATUS_COMPLETED;
    return done == entry_count;
}

static int burst_pass(int bits)
{
    static IMB_JOB jobs[IMB_MAX_BURST_SIZE];
    for (size_t index = 0; index < entry_count;) {
        uint32_t count = 0;
        while (count < IMB_MAX_BURST_SIZE && index < entry_count)
            fill_job(&jobs[count++], &entries[index++], "cbc-encrypt", bits);
        if (IMB_SUBMIT_CIPHER_BURST_NOCHECK(manager, jobs, count, IMB_CIPHER_CBC, IMB_DIR_ENCRYPT, bits / 8) != count)
            return 0;
    }
    return 1;
}

#endif

/* ---- intrinsics ---- */

#ifdef __x86_64__
#define AES __attribute__((target("aes,sse4.1")))

static __m128i round_keys[11];

AES static __m128i next_key(__m128i state, __m128i assisted)
{
    for (int i = 0; i < 3; i++)
        state = _mm_xor_si128(state, _mm_slli_si128(state, 4));
    return _mm_xor_si128(state, _mm_shuffle_epi32(assisted, 0xff));
}

AES static void intrinsics_prepare(void)
{
    __m128i *k = round_keys;
    k[0] = _mm_loadu_si128((const __m128i *)key);
    k[1] = next_key(k[0], _mm_aeskeygenassist_si128(k[0], 0x01));
    k[2] = next_key(k[1], _mm_aeskeygenassist_si128(k[1], 0x02));
    k[3] = next_key(k[2], _mm_aeskeygenassist_si128(k[2], 0x04));
    k[4] = next_key(k[3], _mm_aeskeygenassist_si128(k[3], 0x08));
    k[5] = next_key(k[4], _mm_aeskeygenassist_si128(k[4], 0x10));
    k[6] = next_key(k[5], _mm_aeskeygenassist_si128(k[5], 0x20));
    k[7] = next_key(k[6], _mm_aeskeygenassist_si128(k[6], 0x40));
    k[8] = next_key(k[7], _mm_aeskeygenassist_si128(k[7], 0x80));
    k[9] = next_key(k[8], _mm_aeskeygenassist_si128(k[8], 0x1b));
    k[10] = next_key(k[9], _mm_aeskeygenassist_si128(k[9], 0x36));
}

AES static inline __m128i encrypt_one(__m128i state)
{
    state = _mm_xor_si128(state, round_keys[0]);
#pragma GCC unroll 9
    for (int round = 1; round < 10; round++)
        state = _mm_aesenc_si128(state, round_keys[round]);
    return _mm_aesenclast_si128(state, round_keys[10]);
}

AES static inline void encrypt_eight(__m128i state[8])
{
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        state[i] = _mm_xor_si128(state[i], round_keys[0]);
    for (int round = 1; round < 10; round++)
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
            state[i] = _mm_aesenc_si128(state[i], round_keys[round]);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        state[i] = _mm_aesenclast_si128(state[i], round_keys[10]);
}

/* The counter that is `blocks` after a big-endian 128-bit number. */
AES static inline __m128i counter(uint64_t high, uint64_t low, uint64_t blocks)
{
    const uint64_t sum = low + blocks;
    high += sum < low;
    return _mm_set_epi64x((long long)__builtin_bswap64(sum), (long long)__builtin_bswap64(high));
}

/* One block after the other, each written out before the next is begun. */
AES static void row_pass(const char *mode)
{
    for (size_t index = 0; index < entry_count; index++) {
        __m128i *text = (__m128i *)entries[index].text, chain = _mm_loadu_si128((const __m128i *)entries[index].iv);
        const size_t blocks = entries[index].length / 16;
        uint64_t high, low;
        memcpy(&high, entries[index].iv, 8);
        memcpy(&low, entries[index].iv + 8, 8);
        high = __builtin_bswap64(high);
        low = __builtin_bswap64(low);
        if (mode[0] == 'e')
            for (size_t at = 0; at < blocks; at++)
                _mm_storeu_si128(text + at, encrypt_one(_mm_loadu_si128(text + at)));
        else if (!strcmp(mode, "ctr"))
            for (size_t at = 0; at < blocks; at++)
                _mm_storeu_si128(text + at, _mm_xor_si128(encrypt_one(counter(high, low, at)), _mm_loadu_si128(text + at)));
        else
            for (size_t at = 0; at < blocks; at++) {
                chain = encrypt_one(_mm_xor_si128(chain, _mm_loadu_si128(text + at)));
                _mm_storeu_si128(text + at, chain);
            }
    }
}

/* Eight blocks in flight. */
AES static void eight_pass(const char *mode)
{
    const int is_counter = !strcmp(mode, "ctr");
    for (size_t index = 0; index < entry_count; index++) {
        __m128i *text = (__m128i *)entries[index].text, state[8];
        const size_t blocks = entries[index].length / 16;
        uint64_t high, low;
        memcpy(&high, entries[index].iv, 8);
        memcpy(&low, entries[index].iv + 8, 8);
        high = __builtin_bswap64(high);
        low = __builtin_bswap64(low);
        for (size_t at = 0; at < blocks; at += 8) {
            const size_t count = blocks - at < 8 ? blocks - at : 8;
            if (count == 8) {
#pragma GCC unroll 8
                for (size_t i = 0; i < 8; i++)
                    state[i] = is_counter ? counter(high, low, at + i) : _mm_loadu_si128(text + at + i);
                encrypt_eight(state);
#pragma GCC unroll 8
                for (size_t i = 0; i < 8; i++)
                    _mm_storeu_si128(text + at + i,
                                     is_counter ? _mm_xor_si128(state[i], _mm_loadu_si128(text + at + i)) : state[i]);
                continue;
            }
            for (size_t i = 0; i < count; i++) {
                const __m128i block = _mm_loadu_si128(text + at + i);
                _mm_storeu_si128(text + at + i, is_counter ? _mm_xor_si128(encrypt_one(counter(high, low, at + i)), block)
                                                           : encrypt_one(block));
            }
        }
    }
}
#endif

/* ---- answers ---- */

static int pass(const char *library, const char *mode, int bits)
{
    (void)bits;
    if (!strcmp(library, "openssl"))
        return evp_pass(!strcmp(mode, "gcm"));
#ifdef WITH_IPSEC_MB
    if (!strcmp(library, "ipsec-mb-jobs"))
        return jobs_pass(mode, bits);
    if (!strcmp(library, "ipsec-mb-burst"))
        return burst_pass(bits);
#endif
#ifdef __x86_64__
    if (!strcmp(library, "intrinsics-row"))
        row_pass(mode);
    else
        eight_pass(mode);
    return 1;
#endif
    return 0;
}

/* What a library cannot do; NULL if it can, and is ready. */
static const char *prepare(const char *library, const char *mode, int bits)
{
    if (!strcmp(library, "openssl"))
        return evp_prepare(mode, bits) ? NULL : "OpenSSL refuses the key";
    if (!strncmp(library, "ipsec-mb-", 9)) {
#ifdef WITH_IPSEC_MB
        if (!strcmp(mode, "ecb") || !strcmp(mode, "gcm") || (!strcmp(library, "ipsec-mb-burst") && strcmp(mode, "cbc-encrypt")))
            return "not compared in this mode";
        return ipsec_prepare(bits) ? NULL : "no manager of intel-ipsec-mb";
#else
        return "built without intel-ipsec-mb";
#endif
    }
#ifdef __x86_64__
    if (!strncmp(library, "intrinsics-", 11)) {
        if (bits != 128 || !strcmp(mode, "gcm") || !strcmp(mode, "cbc-decrypt") ||
            (!strcmp(library, "intrinsics-eight") && !strcmp(mode, "cbc-encrypt")))
            return "not written in this mode";
        if (!__builtin_cpu_supports("aes"))
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
    const char *ipsec_mb = "";
#ifdef WITH_IPSEC_MB
    ipsec_mb = imb_get_version_str();
#endif
    printf("{\"openssl\":\"%s\",\"ipsec_mb\":\"%s\"}\n", OpenSSL_version(OPENSSL_VERSION), ipsec_mb);
}

static void result(const char *library, const char *mode, int bits)
{
    const size_t tag = strcmp(mode, "gcm") ? 0 : 16;
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
                result(library, mode, bits);
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
