/* The benchmark's peers in C: intel-ipsec-mb (multi-buffer jobs and bursts) and OpenSSL's EVP.
 *
 * A line on stdin asks for one thing, a JSON line on stdout answers it:
 *
 *     check LIBRARY MODE BITS SIZE COUNT SPREAD     -> {"checksum":"..."}  FNV-1a of the output on fresh input
 *     time  LIBRARY MODE BITS SIZE COUNT SPREAD MS  -> {"bytes":N,"nanoseconds":N}
 *
 * LIBRARY: ipsec-mb-jobs, ipsec-mb-burst, openssl. MODE: ctr, cbc-decrypt, cbc-encrypt. SPREAD 1: uneven lengths.
 * An {"error":"..."} says what a library cannot do. Input, lengths and layout are those of throughput.rs, so that
 * the checksums can be compared.
 *
 *     cc -O2 -o peers peers.c -lIPSec_MB -lcrypto
 */
#include <intel-ipsec-mb.h>
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
static IMB_MGR *manager;
static DECLARE_ALIGNED(uint8_t encrypt_keys[16 * 15], 64);
static DECLARE_ALIGNED(uint8_t decrypt_keys[16 * 15], 64);

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

static const EVP_CIPHER *evp_cipher(const char *mode, int bits)
{
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

static int evp_pass(void)
{
    for (size_t index = 0; index < entry_count; index++) {
        int length = 0;
        if (EVP_CipherInit_ex(context, NULL, NULL, NULL, entries[index].iv, -1) != 1 ||
            EVP_CipherUpdate(context, entries[index].text, &length, entries[index].text, (int)entries[index].length) != 1)
            return 0;
    }
    return 1;
}

static void fill_job(IMB_JOB *job, const struct entry *entry, int bits)
{
    job->cipher_mode = IMB_CIPHER_CBC;
    job->cipher_direction = IMB_DIR_ENCRYPT;
    job->chain_order = IMB_ORDER_CIPHER_HASH;
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

static int jobs_pass(int bits)
{
    size_t done = 0;
    IMB_JOB *job;
    for (size_t index = 0; index < entry_count; index++) {
        fill_job(IMB_GET_NEXT_JOB(manager), &entries[index], bits);
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
            fill_job(&jobs[count++], &entries[index++], bits);
        if (IMB_SUBMIT_CIPHER_BURST_NOCHECK(manager, jobs, count, IMB_CIPHER_CBC, IMB_DIR_ENCRYPT, bits / 8) != count)
            return 0;
    }
    return 1;
}

static int pass(const char *library, int bits)
{
    if (!strcmp(library, "openssl"))
        return evp_pass();
    return !strcmp(library, "ipsec-mb-jobs") ? jobs_pass(bits) : burst_pass(bits);
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int main(void)
{
    char line[256], verb[16], library[32], mode[32], laid[256] = "";
    int bits, spread;
    size_t size, count;
    unsigned milliseconds;
    IMB_ARCH arch;

    setvbuf(stdout, NULL, _IOLBF, 0);
    manager = alloc_mb_mgr(0);
    if (!manager)
        return 1;
    init_mb_mgr_auto(manager, &arch);
    fill(77, key, sizeof key);
    while (fgets(line, sizeof line, stdin)) {
        milliseconds = 0;
        if (sscanf(line, "%15s %31s %31s %d %zu %zu %d %u", verb, library, mode, &bits, &size, &count, &spread,
                   &milliseconds) < 7)
            return 2;
        const int ipsec = strcmp(library, "openssl") != 0;
        if (ipsec && strcmp(mode, "cbc-encrypt")) {
            puts("{\"error\":\"only CBC encryption is compared\"}");
            continue;
        }
        if (ipsec && size + (spread ? size / 2 : 0) > 65520) {
            puts("{\"error\":\"multi-buffer CBC jobs end below 64 KiB\"}");
            continue;
        }
        if (ipsec && bits == 128)
            IMB_AES_KEYEXP_128(manager, key, encrypt_keys, decrypt_keys);
        else if (ipsec)
            IMB_AES_KEYEXP_256(manager, key, encrypt_keys, decrypt_keys);
        else if (!evp_prepare(mode, bits))
            return 3;
        char wanted[256];
        snprintf(wanted, sizeof wanted, "%zu %zu %d", size, count, spread);
        if (!strcmp(verb, "check") || strcmp(laid, wanted)) {
            lay_out(size, count, spread);
            strcpy(laid, wanted);
        }
        if (!strcmp(verb, "check")) {
            uint64_t sum = 0xcbf29ce484222325ull;
            int good = pass(library, bits);
            for (size_t index = 0; index < entry_count; index++)
                for (size_t at = 0; at < entries[index].length; at++)
                    sum = (sum ^ entries[index].text[at]) * 0x100000001b3ull;
            printf(good ? "{\"checksum\":\"%016llx\"}\n" : "{\"error\":\"a pass failed\",\"checksum\":\"%016llx\"}\n",
                   (unsigned long long)sum);
            continue;
        }
        uint64_t passes = 0, start = now(), end;
        do {
            if (!pass(library, bits))
                return 4;
            passes++;
            end = now();
        } while (end - start < milliseconds * 1000000ull);
        printf("{\"bytes\":%llu,\"nanoseconds\":%llu}\n", (unsigned long long)(passes * total_length),
               (unsigned long long)(end - start));
    }
    return 0;
}
