/* SPDX-License-Identifier: MIT */
/*
 * A model on a device of the NNAPI, executed in a burst on images that are
 * hardware buffers.
 */
#ifndef NN_CAMERA_NETWORK_H
#define NN_CAMERA_NETWORK_H

#include <android/NeuralNetworks.h>
#include <nnaccel/hardware_buffer.h>
#include <nnaccel/engine_model.h>

#define NETWORK_IMAGES	8

struct network {
	ANeuralNetworksModel *model;
	ANeuralNetworksCompilation *compilation;
	ANeuralNetworksBurst *burst;
	uint32_t num_images;
	ANeuralNetworksMemory *images[NETWORK_IMAGES];
	ANeuralNetworksExecution *executions[NETWORK_IMAGES];
};

/*
 * Builds a model of one subgraph without pools, whose one input is an image, for the device of that
 * name. Returns NN_DEVICE_UNAVAILABLE if there is no such device, or if it lacks operations.
 * network_close() must be called in any case.
 */
enum nn_status network_open(struct network *network, const struct nn_model *model,
			    const char *device, struct nn_error *err);
void network_close(struct network *network);

/*
 * Makes an execution for an image. Each execution writes its output to `output`. The execution's
 * number is the number of images added before.
 */
enum nn_status network_add_image(struct network *network,
				 const struct nna_hardware_image *image, void *output,
				 size_t output_size, struct nn_error *err);

/* Executes the model on an image, by number, in the burst. */
enum nn_status network_execute(struct network *network, uint32_t image, struct nn_error *err);

#endif /* NN_CAMERA_NETWORK_H */
