/*
 * Encrypts every regular file of one folder into another with AES-128-CBC, as a published program of 2024 did it:
 * threads started for the run, thread t of T takes files t, t+T, t+2T, …, each file goes through a buffer of
 * 1024 bytes by way of stdio. Written anew from the publication's description, over OpenSSL 3.
 *
 *     published SRC DST THREADS
 *
 * Key and initialisation vector are fixed, so that another program can check the result:
 * key 000102…0f, initialisation vector 0f0e…00.
 */
#include <dirent.h>
#include <errno.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BUFFER = 1024, BLOCK = 16 };

static const char *source, *target;
static char **names;
static long count, threads;

static void fail(const char *what, const char *name) {
  fprintf(stderr, "published: %s %s: %s\n", what, name, strerror(errno));
  exit(1);
}

static FILE *open_in(const char *folder, const char *name, const char *mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, mode);
  if (!file) fail("cannot open", path);
  return file;
}

static void encrypt_file(const char *name) {
  unsigned char key[BLOCK], vector[BLOCK], in[BUFFER], out[BUFFER + BLOCK];
  for (int i = 0; i < BLOCK; i++) {
    key[i] = (unsigned char)i;
    vector[i] = (unsigned char)(BLOCK - 1 - i);
  }
  FILE *from = open_in(source, name, "rb"), *to = open_in(target, name, "wb");
  EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
  EVP_EncryptInit_ex(cipher, EVP_aes_128_cbc(), NULL, key, vector);
  size_t got;
  int made;
  while ((got = fread(in, 1, sizeof in, from)) > 0) {
    EVP_EncryptUpdate(cipher, out, &made, in, (int)got);
    if (fwrite(out, 1, (size_t)made, to) != (size_t)made) fail("cannot write", name);
  }
  EVP_EncryptFinal_ex(cipher, out, &made);
  if (fwrite(out, 1, (size_t)made, to) != (size_t)made) fail("cannot write", name);
  EVP_CIPHER_CTX_free(cipher);
  fclose(from);
  if (fclose(to)) fail("cannot write", name);
}

static void *work(void *argument) {
  for (long i = (long)argument; i < count; i += threads) encrypt_file(names[i]);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 4 || (threads = atol(argv[3])) < 1) {
    fprintf(stderr, "usage: published SRC DST THREADS\n");
    return 2;
  }
  source = argv[1];
  target = argv[2];
  mkdir(target, 0777);
  DIR *folder = opendir(source);
  if (!folder) fail("cannot list", source);
  for (struct dirent *entry; (entry = readdir(folder));) {
    if (entry->d_type != DT_REG) continue;
    names = realloc(names, (size_t)(count + 1) * sizeof *names);
    names[count++] = strdup(entry->d_name);
  }
  closedir(folder);
  pthread_t *workers = calloc((size_t)threads, sizeof *workers);
  for (long t = 0; t < threads; t++) pthread_create(&workers[t], NULL, work, (void *)t);
  for (long t = 0; t < threads; t++) pthread_join(workers[t], NULL);
  return 0;
}
