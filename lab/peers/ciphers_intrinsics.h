/* AES instructions by way of intrinsics, for `ciphers.c`: in a row as a publication of 2013 used them, and with eight blocks in
 * flight; on x86 (64 and 32 bits) and on ARMv8. The round keys are those of `aes_tables.h`. */
#ifdef __aarch64__
#include <arm_neon.h>
#include <sys/auxv.h>
#define AES __attribute__((target("+crypto")))

typedef uint8x16_t block;
static block round_keys[11];

AES static inline block load(const uint8_t *bytes) { return vld1q_u8(bytes); }
AES static inline void store(uint8_t *bytes, block state) { vst1q_u8(bytes, state); }
AES static inline block xor(block left, block right) { return veorq_u8(left, right); }
AES static inline block pair(uint64_t first, uint64_t second)
{
    return vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(first), vcreate_u64(second)));
}
/* Here a round adds its key first; on x86 last. */
AES static inline block begin(block state) { return state; }
AES static inline block go_on(block state, int round) { return vaesmcq_u8(vaeseq_u8(state, round_keys[round - 1])); }
AES static inline block end(block state) { return veorq_u8(vaeseq_u8(state, round_keys[9]), round_keys[10]); }
static int has_instructions(void) { return getauxval(AT_HWCAP) >> 3 & 1; }
#else
#include <immintrin.h>
#define AES __attribute__((target("aes,sse4.1")))

typedef __m128i block;
static block round_keys[11];

AES static inline block load(const uint8_t *bytes) { return _mm_loadu_si128((const __m128i *)bytes); }
AES static inline void store(uint8_t *bytes, block state) { _mm_storeu_si128((__m128i *)bytes, state); }
AES static inline block xor(block left, block right) { return _mm_xor_si128(left, right); }
AES static inline block pair(uint64_t first, uint64_t second)
{
#ifdef __x86_64__
    return _mm_set_epi64x((long long)second, (long long)first);
#else
    /* By words of 32 bits: a pair through memory would wait for its stores. */
    return _mm_set_epi32((int)(second >> 32), (int)second, (int)(first >> 32), (int)first);
#endif
}
AES static inline block begin(block state) { return _mm_xor_si128(state, round_keys[0]); }
AES static inline block go_on(block state, int round) { return _mm_aesenc_si128(state, round_keys[round]); }
AES static inline block end(block state) { return _mm_aesenclast_si128(state, round_keys[10]); }
static int has_instructions(void) { return __builtin_cpu_supports("aes"); }
#endif

AES static void intrinsics_prepare(void)
{
    for (int round = 0; round < 11; round++) {
        uint8_t bytes[16];
        for (int i = 0; i < 4; i++)
            store_word(bytes + 4 * i, round_words[4 * round + i]);
        round_keys[round] = load(bytes);
    }
}

AES static inline block encrypt_one(block state)
{
    state = begin(state);
#pragma GCC unroll 9
    for (int round = 1; round < 10; round++)
        state = go_on(state, round);
    return end(state);
}

AES static inline void encrypt_eight(block state[8])
{
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        state[i] = begin(state[i]);
    for (int round = 1; round < 10; round++)
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++)
            state[i] = go_on(state[i], round);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        state[i] = end(state[i]);
}

/* The counter that is `blocks` after a big-endian 128-bit number. */
AES static inline block counter_block(const uint64_t number[2], uint64_t blocks)
{
    const uint64_t low = number[1] + blocks;
    return pair(__builtin_bswap64(number[0] + (low < blocks)), __builtin_bswap64(low));
}

static void read_counter(const uint8_t iv[16], uint64_t number[2])
{
    memcpy(number, iv, 16);
    number[0] = __builtin_bswap64(number[0]);
    number[1] = __builtin_bswap64(number[1]);
}

/* One block after the other, each written out before the next is begun. */
AES static void row_pass(const char *mode)
{
    for (size_t index = 0; index < entry_count; index++) {
        uint8_t *text = entries[index].text;
        block chain = load(entries[index].iv);
        const size_t blocks = entries[index].length / 16;
        uint64_t number[2];
        read_counter(entries[index].iv, number);
        if (mode[0] == 'e')
            for (size_t at = 0; at < blocks; at++)
                store(text + 16 * at, encrypt_one(load(text + 16 * at)));
        else if (!strcmp(mode, "ctr"))
            for (size_t at = 0; at < blocks; at++)
                store(text + 16 * at, xor(encrypt_one(counter_block(number, at)), load(text + 16 * at)));
        else
            for (size_t at = 0; at < blocks; at++) {
                chain = encrypt_one(xor(chain, load(text + 16 * at)));
                store(text + 16 * at, chain);
            }
    }
}

/* Eight blocks in flight. */
AES static void eight_pass(const char *mode)
{
    const int is_counter = !strcmp(mode, "ctr");
    for (size_t index = 0; index < entry_count; index++) {
        uint8_t *text = entries[index].text;
        const size_t blocks = entries[index].length / 16;
        block state[8];
        uint64_t number[2];
        read_counter(entries[index].iv, number);
        for (size_t at = 0; at < blocks; at += 8) {
            uint8_t *group = text + 16 * at;
            const size_t count = blocks - at < 8 ? blocks - at : 8;
            if (count == 8) {
#pragma GCC unroll 8
                for (size_t i = 0; i < 8; i++)
                    state[i] = is_counter ? counter_block(number, at + i) : load(group + 16 * i);
                encrypt_eight(state);
#pragma GCC unroll 8
                for (size_t i = 0; i < 8; i++)
                    store(group + 16 * i, is_counter ? xor(state[i], load(group + 16 * i)) : state[i]);
                continue;
            }
            for (size_t i = 0; i < count; i++) {
                const block text_block = load(group + 16 * i);
                store(group + 16 * i,
                      is_counter ? xor(encrypt_one(counter_block(number, at + i)), text_block) : encrypt_one(text_block));
            }
        }
    }
}
