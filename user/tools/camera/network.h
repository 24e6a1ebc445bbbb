/* SPDX-License-Identifier: MIT */
/* A model on an NNAPI device, executed in a burst on images that are hardware buffers. */
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
 * Builds an NNAPI model from `model`, for the device with the given name. `model` has one subgraph,
 * no pools, and an image as its only input. Returns NN_DEVICE_UNAVAILABLE if the device does not
 * exist or lacks operations. Even after a failure the caller must call network_close().
 */
enum nn_status network_open(struct network *network, const struct nn_model *model,
			    const char *device, struct nn_error *err);
void network_close(struct network *network);

/*
 * Makes an execution that reads the given image and writes its output to `output`. Executions have
 * numbers from 0, in the order of the calls of network_add_image().
 */
enum nn_status network_add_image(struct network *network,
				 const struct nna_hardware_image *image, void *output,
				 size_t output_size, struct nn_error *err);

enum nn_status network_execute(struct network *network, uint32_t image, struct nn_error *err);

#endif /* NN_CAMERA_NETWORK_H */
