// SPDX-License-Identifier: MIT
/*
 * A program that loads ONNX Runtime by dlopen(): makes a session of a model, and tells its inputs.
 *
 * usage: session LIBRARY MODEL [cpu]: with the provider of the CPU, which it then chooses itself
 */
#include <dlfcn.h>
#include <onnxruntime_c_api.h>
#include <stdio.h>

static const OrtApi *api;

static int bad(OrtStatus *status)
{
	if (status)
		printf("error: %s\n", api->GetErrorMessage(status));
	return status != NULL;
}

int main(int argc, char **argv)
{
	void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	const OrtApiBase *(*base)(void);
	OrtStatus *(*add_cpu)(OrtSessionOptions *options, int arena);
	OrtSessionOptions *options;
	OrtSession *session;
	OrtEnv *env;
	size_t inputs;

	if (!library)
		return 2;
	*(void **)&base = dlsym(library, "OrtGetApiBase");
	*(void **)&add_cpu = dlsym(library, "OrtSessionOptionsAppendExecutionProvider_CPU");
	api = base()->GetApi(7);	/* as a program of 2021 */
	if (!api || bad(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "session", &env)) ||
	    bad(api->CreateSessionOptions(&options)) || (argc > 3 && bad(add_cpu(options, 0))) ||
	    bad(api->CreateSession(env, argv[2], options, &session)) ||
	    bad(api->SessionGetInputCount(session, &inputs)))
		return 1;
	printf("%zu inputs\n", inputs);
	api->ReleaseSession(session);
	api->ReleaseSessionOptions(options);
	api->ReleaseEnv(env);
	return 0;
}
