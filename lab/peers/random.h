/* The lab's random bytes (SplitMix64), as `measure/random.rs` makes them. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
