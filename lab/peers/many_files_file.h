/* One file of `many_files.c`: read, encrypted or decrypted piece by piece with OpenSSL, written, and named. */
static FILE *open_output(const char *path, char *temporary, size_t room)
{
    FILE *file = NULL;
    if (!strcmp(appear, "unnamed")) {
        int handle = open(target, O_TMPFILE | O_WRONLY, 0666);
        file = handle < 0 ? NULL : fdopen(handle, "wb");
    } else {
        snprintf(temporary, room, "%s%s", path, strcmp(appear, "rename") ? "" : ".part");
        file = fopen(temporary, "wb");
    }
    if (!file)
        fail("cannot create", path);
    return file;
}

static void finish_output(FILE *file, const char *path, const char *temporary)
{
    if (fflush(file))
        fail("cannot write", path);
    if (!strcmp(appear, "unnamed")) {
        char handle[64];
        snprintf(handle, sizeof handle, "/proc/self/fd/%d", fileno(file));
        if (linkat(AT_FDCWD, handle, AT_FDCWD, path, AT_SYMLINK_FOLLOW))
            fail("cannot name", path);
    }
    if (fclose(file))
        fail("cannot write", path);
    if (!strcmp(appear, "rename") && rename(temporary, path))
        fail("cannot rename", temporary);
}

static void translate_file(const struct file *entry, unsigned char *in, unsigned char *out, size_t room)
{
    unsigned char key[BLOCK], vector[BLOCK];
    char path[4096], temporary[4200];
    int made;
    size_t got;
    for (int i = 0; i < BLOCK; i++) {
        key[i] = (unsigned char)i;
        vector[i] = (unsigned char)(BLOCK - 1 - i);
    }
    snprintf(path, sizeof path, "%s/%s", source, entry->name);
    FILE *from = fopen(path, "rb");
    if (!from)
        fail("cannot open", path);
    snprintf(path, sizeof path, "%s/%s", target, entry->name);
    FILE *to = open_output(path, temporary, sizeof temporary);
    if (whole) {
        room = entry->size + BLOCK;
        in = malloc(room);
        out = malloc(room + BLOCK);
        if (!in || !out)
            fail("no memory for", path);
    }
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex(cipher, EVP_aes_128_cbc(), NULL, key, vector, !decrypts);
    while ((got = fread(in, 1, room, from)) > 0) {
        EVP_CipherUpdate(cipher, out, &made, in, (int)got);
        if (fwrite(out, 1, (size_t)made, to) != (size_t)made)
            fail("cannot write", path);
    }
    if (EVP_CipherFinal_ex(cipher, out, &made) != 1) {
        errno = EINVAL;
        fail("cannot decrypt what belongs to", path);
    }
    if (fwrite(out, 1, (size_t)made, to) != (size_t)made)
        fail("cannot write", path);
    EVP_CIPHER_CTX_free(cipher);
    if (whole) {
        free(in);
        free(out);
    }
    fclose(from);
    finish_output(to, path, temporary);
}
