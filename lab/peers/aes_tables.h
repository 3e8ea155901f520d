/* AES-128 in plain C: four tables of 1 KB, in which the steps of a round are one look-up for each byte (FIPS 197, sections 5.1
 * and 5.2). The look-ups show in its timing, so it is for measurements alone. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint8_t sbox[256];
static uint32_t round_tables[4][256];

static uint8_t doubled(uint8_t byte) { return (uint8_t)(byte << 1 ^ (byte >> 7) * 0x1b); }

/* The S-box from powers and logarithms of 3: the inverse in GF(2^8), and then the affine map. */
static void make_tables(void)
{
    uint8_t powers[256], logarithms[256] = {0}, power = 1;
    for (int exponent = 0; exponent < 255; exponent++, power ^= doubled(power)) {
        powers[exponent] = power;
        logarithms[power] = (uint8_t)exponent;
    }
    powers[255] = 1;
    for (int byte = 0; byte < 256; byte++) {
        unsigned inverse = byte ? powers[255 - logarithms[byte]] : 0, sum = 0x63;
        for (int turn = 0; turn < 5; turn++, inverse = (inverse << 1 | inverse >> 7) & 0xff)
            sum ^= inverse;
        const uint8_t s = sbox[byte] = (uint8_t)sum, twice = doubled(s);
        uint32_t column = (uint32_t)twice << 24 | (uint32_t)s << 16 | (uint32_t)s << 8 | (uint8_t)(twice ^ s);
        for (int row = 0; row < 4; row++, column = column >> 8 | column << 24)
            round_tables[row][byte] = column;
    }
}

static uint32_t load_word(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void store_word(uint8_t *bytes, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(word >> (24 - 8 * i));
}

static uint32_t substituted(uint32_t word)
{
    return (uint32_t)sbox[word >> 24] << 24 | (uint32_t)sbox[word >> 16 & 0xff] << 16 |
           (uint32_t)sbox[word >> 8 & 0xff] << 8 | sbox[word & 0xff];
}

/* Makes the tables, and the round keys of AES-128 as words. */
static void expand_key(const uint8_t key[16], uint32_t round_words[44])
{
    uint8_t constant = 1;
    make_tables();
    for (int i = 0; i < 4; i++)
        round_words[i] = load_word(key + 4 * i);
    for (int i = 4; i < 44; i++) {
        uint32_t word = round_words[i - 1];
        if (i % 4 == 0) {
            word = substituted(word << 8 | word >> 24) ^ (uint32_t)constant << 24;
            constant = doubled(constant);
        }
        round_words[i] = round_words[i - 4] ^ word;
    }
}

static void encrypt_block(const uint32_t *round_words, const uint8_t *in, uint8_t *out)
{
    uint32_t state[4], next[4];
    for (int i = 0; i < 4; i++)
        state[i] = load_word(in + 4 * i) ^ round_words[i];
    for (int round = 1; round < 10; round++) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            next[i] = round_tables[0][state[i] >> 24] ^ round_tables[1][state[(i + 1) % 4] >> 16 & 0xff] ^
                      round_tables[2][state[(i + 2) % 4] >> 8 & 0xff] ^ round_tables[3][state[(i + 3) % 4] & 0xff] ^
                      round_words[4 * round + i];
        memcpy(state, next, sizeof state);
    }
    for (int i = 0; i < 4; i++)
        store_word(out + 4 * i, substituted((state[i] & 0xff000000) | (state[(i + 1) % 4] & 0xff0000) |
                                            (state[(i + 2) % 4] & 0xff00) | (state[(i + 3) % 4] & 0xff)) ^
                                    round_words[40 + i]);
}

/* The counter that is `blocks` after a big-endian 128-bit number. */
static void count_on(const uint8_t initial[16], uint64_t blocks, uint8_t counter[16])
{
    for (int i = 15; i >= 0; i--) {
        blocks += initial[i];
        counter[i] = (uint8_t)blocks;
        blocks >>= 8;
    }
}

/* CTR from block `first` of the message on. */
static void tables_ctr(const uint32_t *round_words, const uint8_t iv[16], uint64_t first, uint8_t *text, size_t length)
{
    uint8_t counter[16], stream[16];
    count_on(iv, first, counter);
    for (size_t at = 0; at < length; at += 16) {
        encrypt_block(round_words, counter, stream);
        for (size_t i = 0; i < 16 && at + i < length; i++)
            text[at + i] ^= stream[i];
        for (int i = 15; i >= 0 && ++counter[i] == 0; i--)
            ;
    }
}
