// SPDX-License-Identifier: MIT
/*
 * Runs a fuzz target without libFuzzer, once with each file of the folder CORPUS, and prints TAP.
 *
 * usage: NAME CORPUS
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

/*
 * Replaces a function of libFuzzer, which the mutators of fuzz targets call; the replacement
 * changes no data.
 */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
	(void)data;
	(void)max_size;
	return size;
}

/* Runs the fuzz target on a file; returns false if the file cannot be read. */
static int replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	long size;
	int ok;

	if (!file)
		return 0;
	ok = !fseek(file, 0, SEEK_END) && (size = ftell(file)) >= 0 && !fseek(file, 0, SEEK_SET) &&
	     /*
	      * The memory block has exactly the size of the file, so that a memory checker detects
	      * reads beyond the block.
	      */
	     (data = malloc(size ? size : 1)) && fread(data, 1, size, file) == (size_t)size;
	fclose(file);
	if (ok)
		LLVMFuzzerTestOneInput(data, size);
	free(data);
	return ok;
}

int main(int argc, char **argv)
{
	char path[4096];
	struct dirent *entry;
	unsigned int files = 0;
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;

	if (!folder) {
		fprintf(stderr, "usage: %s CORPUS, the folder of a corpus\n", argv[0]);
		return 2;
	}
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		if (!replay(path)) {
			printf("not ok - replay %s: it cannot be read\n", path);
			return 1;
		}
		files++;
	}
	closedir(folder);
	printf("%s - replay %s: %u files\n", files ? "ok" : "not ok", argv[1], files);
	return !files;
}
