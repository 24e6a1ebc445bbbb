/* SPDX-License-Identifier: MIT */
/*
 * Format of an engine's answer to NNACCEL_QUERY_EXTENSIONS: a header, then for each extension a
 * record and its items. In the list of an extension's items, types come before operations.
 */
#ifndef NN_MODEL_EXTENSION_LIST_H
#define NN_MODEL_EXTENSION_LIST_H

#include <stdint.h>

#define EXTENSION_LIST_MAGIC 0x78656e6eu	/* "nnex" */
#define EXTENSION_LIST_MAX_SIZE (64 * 1024)	/* the kernel's limit */
#define EXTENSION_LIST_MAX_ITEMS 1024

struct extension_list {
	uint32_t magic;
	uint32_t count;
	uint64_t reserved;		/* 0 */
};

struct extension_record {
	char name[128];			/* the name, terminated and padded with zeros */
	uint32_t version;
	uint32_t num_types;
	uint32_t num_operations;
	uint32_t oem;			/* 1 if the extension has the OEM operation */
};

struct extension_item {
	uint32_t element_size;		/* size in bytes; 0 for an operation */
	uint16_t code;
	uint8_t is_tensor;
	uint8_t reserved;		/* 0 */
	char name[48];			/* as above */
};

_Static_assert(sizeof(struct extension_list) == 16, "no hidden padding");
_Static_assert(sizeof(struct extension_record) == 144, "no hidden padding");
_Static_assert(sizeof(struct extension_item) == 56, "no hidden padding");

#endif /* NN_MODEL_EXTENSION_LIST_H */
