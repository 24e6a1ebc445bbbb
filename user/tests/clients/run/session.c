// SPDX-License-Identifier: MIT
/*
 * A program that loads ONNX Runtime by dlopen(), makes a session of a model, and prints the number
 * of the model's inputs.
 *
 * The usage is: session LIBRARY MODEL [cpu]. With "cpu" the program makes two sessions, and only
 * the options of the first session name the CPU provider.
 */
#include <dlfcn.h>
#include <onnxruntime_c_api.h>
#include <stdbool.h>
#include <stdio.h>

static const OrtApi *api;
static OrtStatus *(*add_cpu)(OrtSessionOptions *options, int arena);

static int bad(OrtStatus *status)
{
	if (status)
		printf("error: %s\n", api->GetErrorMessage(status));
	return status != NULL;
}

static int run(const OrtEnv *env, const char *model, bool cpu)
{
	OrtSessionOptions *options, *copy;
	OrtSession *session;
	size_t inputs;

	if (bad(api->CreateSessionOptions(&options)) || (cpu && bad(add_cpu(options, 0))) ||
	    bad(api->CloneSessionOptions(options, &copy)))
		return 1;
	/*
	 * Release `options` before the session is created from the clone, so that later options may
	 * get the same address.
	 */
	api->ReleaseSessionOptions(options);
	if (bad(api->CreateSession(env, model, copy, &session)) ||
	    bad(api->SessionGetInputCount(session, &inputs)))
		return 1;
	printf("%zu inputs\n", inputs);
	api->ReleaseSession(session);
	api->ReleaseSessionOptions(copy);
	return 0;
}

int main(int argc, char **argv)
{
	void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	const OrtApiBase *(*base)(void);
	OrtEnv *env;
	int status;

	if (!library)
		return 2;
	*(void **)&base = dlsym(library, "OrtGetApiBase");
	*(void **)&add_cpu = dlsym(library, "OrtSessionOptionsAppendExecutionProvider_CPU");
	api = base()->GetApi(7);	/* 7: API version of programs from 2021 */
	if (!api || bad(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "session", &env)))
		return 1;
	status = (argc > 3 && run(env, argv[2], true)) || run(env, argv[2], false);
	api->ReleaseEnv(env);
	return status;
}
