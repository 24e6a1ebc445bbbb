// SPDX-License-Identifier: MIT
/*
 * SHA-256, by libcrypto.
 */
#include <errno.h>
#include <openssl/evp.h>
#include <unistd.h>

#include "kit/cache/digest.h"

static EVP_MD *algorithm;

bool digest_init(void)
{
	uint8_t hash[DIGEST_SIZE];

	if (!algorithm)
		algorithm = EVP_MD_fetch(NULL, "SHA256", NULL);
	/*
	 * Compute a hash before the sandbox forbids files, because the first use of libcrypto may
	 * load code from files.
	 */
	return algorithm && digest("", 0, hash);
}

EVP_MD_CTX *digest_begin(void)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();

	if (context && EVP_DigestInit_ex2(context, algorithm, NULL))
		return context;
	EVP_MD_CTX_free(context);
	return NULL;
}

void digest_add(EVP_MD_CTX *context, const void *data, size_t size)
{
	if (context)
		EVP_DigestUpdate(context, data, size);
}

bool digest_end(EVP_MD_CTX *context, uint8_t hash[DIGEST_SIZE])
{
	bool ended = context && EVP_DigestFinal_ex(context, hash, NULL);

	EVP_MD_CTX_free(context);
	return ended;
}

bool digest(const void *data, size_t size, uint8_t hash[DIGEST_SIZE])
{
	EVP_MD_CTX *context = digest_begin();

	digest_add(context, data, size);
	return digest_end(context, hash);
}

bool digest_file(int fd, uint64_t at, uint64_t size, uint8_t hash[DIGEST_SIZE])
{
	EVP_MD_CTX *context = digest_begin();
	char bytes[1 << 16];

	while (size) {
		ssize_t n = pread(fd, bytes, sizeof(bytes), (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		n = (uint64_t)n < size ? n : (ssize_t)size;
		digest_add(context, bytes, (size_t)n);
		at += (uint64_t)n;
		size -= (uint64_t)n;
	}
	return digest_end(context, hash) && !size;
}
