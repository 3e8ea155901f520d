/* intel-ipsec-mb for `ciphers.c`: multi-buffer jobs and bursts. */
#include <intel-ipsec-mb.h>

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

/* The calls that check every job: why they refuse, or NULL. What they accept may be timed without checks. */
static const char *ipsec_refusal(const char *library, const char *mode, int bits)
{
    static IMB_JOB jobs[IMB_MAX_BURST_SIZE];
    const int is_burst = !strcmp(library, "ipsec-mb-burst");
    size_t done = 0;
    int error = 0;
    IMB_JOB *job;
    for (size_t index = 0; index < entry_count && !error; index++) {
        if (is_burst) {
            uint32_t count = 0;
            for (; count < IMB_MAX_BURST_SIZE && index + count < entry_count; count++)
                fill_job(&jobs[count], &entries[index + count], "cbc-encrypt", bits);
            const uint32_t made = IMB_SUBMIT_CIPHER_BURST(manager, jobs, count, IMB_CIPHER_CBC, IMB_DIR_ENCRYPT, bits / 8);
            error = imb_get_errno(manager);
            done += made;
            index += count - 1;
            continue;
        }
        fill_job(IMB_GET_NEXT_JOB(manager), &entries[index], mode, bits);
        job = IMB_SUBMIT_JOB(manager);
        error = imb_get_errno(manager);
        for (; job; job = IMB_GET_COMPLETED_JOB(manager))
            done += job->status == IMB_STATUS_COMPLETED;
    }
    while ((job = IMB_FLUSH_JOB(manager)))
        done += job->status == IMB_STATUS_COMPLETED;
    return done == entry_count ? NULL : error ? imb_get_strerror(error) : "a job was not completed";
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
