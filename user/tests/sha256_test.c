/* SPDX-License-Identifier: MIT */
/*
 * Compares SHA-256 with the examples of the standard, which are hashed as a whole and in parts of
 * all sizes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/sha256.c"

static void hash(const char *text, size_t size, size_t piece, char hex[2 * SHA256_SIZE + 1])
{
	uint8_t bytes[SHA256_SIZE];
	struct sha256 s;

	sha256_init(&s);
	for (size_t i = 0; i < size; i += piece)
		sha256_add(&s, text + i, size - i < piece ? size - i : piece);
	sha256_end(&s, bytes);
	for (size_t i = 0; i < SHA256_SIZE; i++)
		sprintf(hex + 2 * i, "%02x", bytes[i]);
}

static void test_standard(void **state)
{
	static const struct {
		const char *text, *hex;
	} cases[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	char hex[2 * SHA256_SIZE + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		hash(cases[i].text, strlen(cases[i].text), 1000, hex);
		assert_string_equal(hex, cases[i].hex);
	}
}

static void test_pieces(void **state)
{
	char text[1000], whole[2 * SHA256_SIZE + 1], hex[2 * SHA256_SIZE + 1];

	(void)state;
	memset(text, 'a', sizeof(text));
	hash(text, sizeof(text), sizeof(text), whole);
	assert_string_equal(whole,
			    "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
	for (size_t piece = 1; piece < 200; piece++) {
		hash(text, sizeof(text), piece, hex);
		assert_string_equal(hex, whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_standard),
		cmocka_unit_test(test_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
