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

/* Reasons why the CPU computes although the application did not choose the CPU. */
enum fall_back {
	FALL_BACK_NO_DEVICE,		/* no device except the CPU exists */
	FALL_BACK_REFUSED,		/* no other device supports an operation */
	FALL_BACK_COMPILE,		/* the chosen device failed to compile */
	FALL_BACK_EXECUTE,		/* the chosen device failed to execute */
	/* one part of the model failed on the part's device and on the CPU, so the CPU runs all
	 * parts */
	FALL_BACK_WHOLE,
	NUM_FALL_BACKS,
};

/*
 * Logs a fallback to the CPU, printf-like. For each reason and ResultCode, the first fallback is
 * logged as a note, and each later fallback as a warning.
 */
void rt_fall_back(enum fall_back why, int result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns the name of a result code, such as "BAD_DATA"; never NULL. */
const char *rt_result_name(int result);

/* Returns the NNAPI's ResultCode for an nn_status. */
int rt_result(enum nn_status status);

/* Writes the reason of a failure to err, printf-like, and returns `result`. */
int rt_fail(struct nn_error *err, int result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Writes to err that memory ran out, and returns OUT_OF_MEMORY. */
int rt_out_of_memory(struct nn_error *err);

/* Returns the ResultCode of a failure whose reason another library has already written to err. */
int rt_fail_status(struct nn_error *err, enum nn_status status);

/*
 * Ends an exported function: logs a result that is not NO_ERROR with the function's name, and
 * returns the result.
 */
int rt_end_call(const char *function, int result, const struct nn_error *err);
int rt_refuse_call(const char *function, int result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns UNEXPECTED_NULL if a pointer is NULL; `names` are the pointers' names, with commas. */
int rt_not_null_call(const char *function, const char *names, const void *const *pointers,
		     uint32_t count);

#define rt_end(result, err) rt_end_call(__func__, result, err)
#define rt_refuse(result, ...) rt_refuse_call(__func__, result, __VA_ARGS__)

/*
 * Evaluates the body of an exported function, and ends the function as rt_end() does. The body
 * writes the reason of a failure to `err`, which the macro defines.
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
