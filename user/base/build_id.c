// SPDX-License-Identifier: MIT
/*
 * The build ID, which differs between builds of a program.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/round.h"
#include "base/build_id.h"

#define BUILD_ID_BYTES ((BUILD_ID_TEXT - 1) / 2)

struct id {
	bool found;
	uint8_t bytes[BUILD_ID_BYTES];
};

/* Looks for the GNU build ID in the notes of a segment. */
static void read_notes(const uint8_t *notes, size_t size, struct id *id)
{
	ElfW(Nhdr) head;

	while (size >= sizeof(head)) {
		size_t name, whole;

		memcpy(&head, notes, sizeof(head));
		name = sizeof(head) + round_up(head.n_namesz, 4);
		whole = name + round_up(head.n_descsz, 4);
		if (whole > size)
			return;
		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof("GNU") &&
		    !memcmp(notes + sizeof(head), "GNU", sizeof("GNU")) &&
		    head.n_descsz >= BUILD_ID_BYTES) {
			memcpy(id->bytes, notes + name, BUILD_ID_BYTES);
			id->found = true;
			return;
		}
		notes += whole;
		size -= whole;
	}
}

/*
 * Reads the build ID of the program, which is the first object of dl_iterate_phdr(), and ends the
 * iteration.
 */
static int read_object(struct dl_phdr_info *object, size_t size, void *id)
{
	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];

		if (segment->p_type == PT_NOTE)
			read_notes((const uint8_t *)(object->dlpi_addr + segment->p_vaddr),
				   segment->p_memsz, id);
	}
	return 1;
}

bool build_id(char text[BUILD_ID_TEXT])
{
	struct id id = { false };

	dl_iterate_phdr(read_object, &id);
	if (!id.found)
		strcpy(text, "unidentified");
	for (size_t i = 0; id.found && i < BUILD_ID_BYTES; i++)
		sprintf(text + 2 * i, "%02x", id.bytes[i]);
	return id.found;
}
