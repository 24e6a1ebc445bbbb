/* SPDX-License-Identifier: MIT */
/*
 * The encoding of attributes for extensions, which a client sends to its worker. An encoded
 * attribute consists of a record, the extension's name with a terminator, and the data. The record,
 * the name and the data are each padded with zeros to a multiple of 8 bytes.
 */
#ifndef NN_MODEL_ATTRIBUTE_H
#define NN_MODEL_ATTRIBUTE_H

#include <nnaccel/engine_model.h>

struct attribute_record {
	uint32_t size;			/* size of the attribute's data in bytes */
	uint16_t code;
	uint16_t name_size;		/* with the terminator */
};

/* Maximum length of an extension's name. */
#define ATTRIBUTE_MAX_NAME 127

/*
 * Encodes attributes (NULL: none) to *data, which the caller frees. Sets *data to NULL if there are
 * no attributes. Returns NN_OUT_OF_MEMORY, or NN_INVALID_ARGUMENT if a name is not valid, an
 * attribute is repeated, or the encoded size exceeds max_size bytes.
 */
enum nn_status nn_attributes_encode(const struct nn_attributes *attributes, size_t max_size,
				    void **data, size_t *size, struct nn_error *err);

/*
 * Decodes untrusted data into *attributes, one allocation that the caller frees. If there are no
 * attributes, *attributes is NULL. Returns NN_INVALID_ARGUMENT or NN_OUT_OF_MEMORY on failure.
 */
enum nn_status nn_attributes_decode(const void *data, size_t size,
				    struct nn_attributes **attributes, struct nn_error *err);

#endif /* NN_MODEL_ATTRIBUTE_H */
