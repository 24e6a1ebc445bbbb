/* SPDX-License-Identifier: MIT */
/*
 * Result codes, and a line in libnnaccel's log for each call that fails, with the call's name and
 * the reason.
 */
#ifndef NN_RUNTIME_LOG_H
#define NN_RUNTIME_LOG_H

#include <android/NeuralNetworks.h>
#include <nnaccel/log.h>
#include <nnaccel/engine_model.h>

/* Reasons why the CPU computes although the application did not choose it. */
enum fall_back {
	FALL_BACK_NO_DEVICE,		/* no device except the CPU exists */
	FALL_BACK_REFUSED,		/* no other device supports an operation */
	FALL_BACK_COMPILE,		/* another device cannot compile, */
	FALL_BACK_EXECUTE,		/* or cannot execute */
	/* The whole model runs on the CPU, because a single step failed on the CPU, too. */
	FALL_BACK_WHOLE,
	NUM_FALL_BACKS,
};

/*
 * Logs a fallback to the CPU, printf-like: as a note for the first fallback with this reason and
 * ResultCode, and as a warning for later ones.
 */
void rt_fall_back(enum fall_back why, int result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns the name of a result code, such as "BAD_DATA"; never NULL. */
const char *rt_result_name(int result);

/* Returns the ResultCode for a status. */
int rt_result(enum nn_status status);

/* Writes the reason to err, printf-like, and returns `result`, like nn_fail(). */
int rt_fail(struct nn_error *err, int result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Does the same as rt_fail(), for an allocation that failed. */
int rt_out_of_memory(struct nn_error *err);

/* Does the same as rt_fail(), for a failure whose reason another library has written to err. */
int rt_fail_status(struct nn_error *err, enum nn_status status);

/*
 * Ends an exported function: logs a result that is not NO_ERROR with the function's name, and
 * returns the result.
 */
int rt_end_call(const char *function, int result, const struct nn_error *err);
int rt_refuse_call(const char *function, int result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns UNEXPECTED_NULL for the first pointer that is NULL; `names` has commas between them. */
int rt_not_null_call(const char *function, const char *names, const void *const *pointers,
		     uint32_t count);

#define rt_end(result, err) rt_end_call(__func__, result, err)
#define rt_refuse(result, ...) rt_refuse_call(__func__, result, __VA_ARGS__)

/*
 * Evaluates the body of an exported function, and ends it as rt_end() does. The body writes a
 * reason to `err` of the macro.
 */
#define RT_CALL(call) ({ struct nn_error err = { "" }; rt_end(call, &err); })

/* Makes the function return UNEXPECTED_NULL if one of the pointers is NULL. */
#define RT_NOT_NULL(...) \
	do { \
		const void *const rt_list[] = { __VA_ARGS__ }; \
		const int rt_null = rt_not_null_call(__func__, #__VA_ARGS__, rt_list, \
						     sizeof(rt_list) / sizeof(rt_list[0])); \
		if (rt_null != ANEURALNETWORKS_NO_ERROR) \
			return rt_null; \
	} while (0)

#endif /* NN_RUNTIME_LOG_H */
