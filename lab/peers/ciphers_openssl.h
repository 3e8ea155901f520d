/* OpenSSL's EVP, for `ciphers.c`. */
#include <openssl/crypto.h>
#include <openssl/evp.h>

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
