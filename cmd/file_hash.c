#include "cmd/file_hash.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/must.h"

enum {
    PIECE_SIZE = 1 << 16,
    SHA256_SIZE = 32
};

static void hash_write(const uint8_t hash[SHA256_SIZE], char out[FILE_HASH_TEXT_SIZE])
{
    for (int i = 0; i < SHA256_SIZE; i++)
        snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

void text_hash(struct slice text, char out[FILE_HASH_TEXT_SIZE])
{
    uint8_t hash[SHA256_SIZE];
    must(EVP_Digest(text.data, text.size, hash, NULL, EVP_sha256(), NULL) == 1);
    hash_write(hash, out);
}

bool file_hash(const char *path, char out[FILE_HASH_TEXT_SIZE], struct buffer *error)
{
    static uint8_t piece[PIECE_SIZE];
    uint8_t hash[SHA256_SIZE];
    struct stat s;
    FILE *f = fopen(path, "re");
    if (f != NULL && fstat(fileno(f), &s) == 0 && !S_ISREG(s.st_mode)) {
        buffer_append_format(error, "%s is no regular file: it cannot be read again", path);
        fclose(f);
        return false;
    }
    if (f == NULL) {
        buffer_append_format(error, "cannot read %s: %s", path, strerror(errno));
        return false;
    }
    EVP_MD_CTX *sum = must_have(EVP_MD_CTX_new());
    must(EVP_DigestInit_ex(sum, EVP_sha256(), NULL) == 1);
    size_t size;
    while ((size = fread(piece, 1, sizeof piece, f)) > 0)
        must(EVP_DigestUpdate(sum, piece, size) == 1);
    const bool good = ferror(f) == 0;
    must(EVP_DigestFinal_ex(sum, hash, NULL) == 1);
    EVP_MD_CTX_free(sum);
    fclose(f);
    if (!good)
        buffer_append_format(error, "cannot read %s: %s", path, strerror(EIO));
    hash_write(hash, out);
    return good;
}
