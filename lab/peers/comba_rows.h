/* Products of `comba.c` by rows of 64-bit words: MULX and two chains of carries (ADCX, ADOX), Karatsuba above. */
/* r += a * y over n words of 64 bits; gives the word above. */
static inline uint64_t add_row(uint64_t *r, const uint64_t *a, size_t n, uint64_t y)
{
    uint64_t carry = 0;
    for (; n % 4; n--) {
        const wide sum = (wide)*a++ * y + *r + carry;
        *r++ = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
    size_t groups = n / 4;
    if (!groups)
        return carry;
    uint64_t t0, t1, zero;
    /* CF carries from low word to high word of the neighbours, OF from word to word of r; LEA and JRCXZ touch neither. */
    __asm__ volatile("xorl %k[zero], %k[zero]\n"
                     "1:\n\t"
                     "mulx (%[a]), %[t0], %[t1]\n\t"
                     "adcx %[carry], %[t0]\n\t"
                     "adox (%[r]), %[t0]\n\t"
                     "mov %[t0], (%[r])\n\t"
                     "mulx 8(%[a]), %[t0], %[carry]\n\t"
                     "adcx %[t1], %[t0]\n\t"
                     "adox 8(%[r]), %[t0]\n\t"
                     "mov %[t0], 8(%[r])\n\t"
                     "mulx 16(%[a]), %[t0], %[t1]\n\t"
                     "adcx %[carry], %[t0]\n\t"
                     "adox 16(%[r]), %[t0]\n\t"
                     "mov %[t0], 16(%[r])\n\t"
                     "mulx 24(%[a]), %[t0], %[carry]\n\t"
                     "adcx %[t1], %[t0]\n\t"
                     "adox 24(%[r]), %[t0]\n\t"
                     "mov %[t0], 24(%[r])\n\t"
                     "lea 32(%[a]), %[a]\n\t"
                     "lea 32(%[r]), %[r]\n\t"
                     "lea -1(%[groups]), %[groups]\n\t"
                     "jrcxz 2f\n\t"
                     "jmp 1b\n"
                     "2:\n\t"
                     "adcx %[zero], %[carry]\n\t"
                     "adox %[zero], %[carry]\n"
                     : [a] "+r"(a), [r] "+r"(r), [groups] "+c"(groups), [carry] "+r"(carry), [t0] "=&r"(t0),
                       [t1] "=&r"(t1), [zero] "=&r"(zero)
                     : "d"(y)
                     : "memory", "cc");
    return carry;
}

static void multiply_rows(uint64_t *restrict r, const uint64_t *a, const uint64_t *b, size_t n)
{
    memset(r, 0, n * sizeof *r);
    for (size_t j = 0; j < n; j++)
        r[n + j] = add_row(r + j, a, n, b[j]);
}

static uint64_t add(uint64_t *r, const uint64_t *a, const uint64_t *b, size_t n)
{
    unsigned char carry = 0;
    for (size_t i = 0; i < n; i++)
        carry = _addcarry_u64(carry, a[i], b[i], (unsigned long long *)&r[i]);
    return carry;
}

static uint64_t subtract(uint64_t *r, const uint64_t *a, const uint64_t *b, size_t n)
{
    unsigned char borrow = 0;
    for (size_t i = 0; i < n; i++)
        borrow = _subborrow_u64(borrow, a[i], b[i], (unsigned long long *)&r[i]);
    return borrow;
}

/* r = |a - b|; gives whether b is the greater. */
static int distance(uint64_t *r, const uint64_t *a, const uint64_t *b, size_t n)
{
    for (size_t i = n; i-- > 0;)
        if (a[i] != b[i]) {
            const int is_less = a[i] < b[i];
            subtract(r, is_less ? b : a, is_less ? a : b, n);
            return is_less;
        }
    memset(r, 0, n * sizeof *r);
    return 0;
}

/* Words of 64 bits from which on three half products are faster than one whole. */
enum { KARATSUBA = 40 };

/* r = a * b of n words each; `room` has 4n words. Karatsuba: (a1 - a0)(b1 - b0) stands for both middle products. */
static void multiply_karatsuba(uint64_t *restrict r, const uint64_t *a, const uint64_t *b, size_t n, uint64_t *room)
{
    if (n < KARATSUBA || n % 2) {
        multiply_rows(r, a, b, n);
        return;
    }
    const size_t half = n / 2;
    const int is_negative = distance(r, a + half, a, half) ^ distance(r + half, b + half, b, half);
    uint64_t *middle = room, *sum = room + n, *below = room + 2 * n;
    multiply_karatsuba(middle, r, r + half, half, below);
    multiply_karatsuba(r, a, b, half, below);
    multiply_karatsuba(r + n, a + half, b + half, half, below);
    uint64_t carry = add(sum, r, r + n, n);
    carry = is_negative ? carry + add(sum, sum, middle, n) : carry - subtract(sum, sum, middle, n);
    carry += add(r + half, r + half, sum, n);
    for (size_t i = half + n; carry && i < 2 * n; i++) {
        r[i] += carry;
        carry = r[i] < carry;
    }
}
