/* SPDX-License-Identifier: MIT */
/*
 * The form in which attributes of extensions go from a client to its worker: for
 * each a record, its extension's name with a terminator, and its bytes; each of the
 * three is followed by zeros up to a multiple of 8 bytes.
 */
#ifndef NN_MODEL_ATTRIBUTE_H
#define NN_MODEL_ATTRIBUTE_H

#include <nnaccel/model.h>

struct attribute_record {
	uint32_t size;			/* of its bytes */
	uint16_t code;
	uint16_t name_size;		/* with the terminator */
};

/* Longest name of an extension here. */
#define ATTRIBUTE_MAX_NAME 127

/*
 * Writes attributes (NULL: none) to *data, for the caller to free(), NULL where there
 * are none. NN_INVALID_ARGUMENT names one without a proper name, one that is there
 * twice, or says that all take more than max_size bytes; NN_OUT_OF_MEMORY.
 */
enum nn_status nn_attributes_encode(const struct nn_attributes *attributes, size_t max_size,
				    void **data, size_t *size, struct nn_error *err);

/*
 * Reads what nobody vouches for into one allocation, for the caller to free();
 * *attributes is NULL where there are none. NN_INVALID_ARGUMENT, NN_OUT_OF_MEMORY.
 */
enum nn_status nn_attributes_decode(const void *data, size_t size,
				    struct nn_attributes **attributes, struct nn_error *err);

#endif /* NN_MODEL_ATTRIBUTE_H */
