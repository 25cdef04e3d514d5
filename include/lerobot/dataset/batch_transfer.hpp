// From the loader's memory to the training device.
#pragma once

#include <torch/types.h>

#include "lerobot/dataset/batch.hpp"

namespace lerobot::dataset {

// uint8 tensors, which only video cameras are, to float32 in [0, 1] (x / 255), on the device they are on.
void to_float_images(Batch& batch);

// A tensor in `dtype` on a device; itself where nothing changes. Does not block the host where the device allows that
// (device::has_page_locked_memory). float64 becomes float32 where the device does not compute in it.
torch::Tensor to_device(const torch::Tensor& tensor, torch::Device device, torch::ScalarType dtype);

// Copies a batch to a device and turns its uint8 cameras into floats there, so that bytes and not floats cross the bus.
// Where the device has page-locked memory, pageable memory is staged in it and copies do not block the host. `source`
// may go at once: LibTorch's page-locked allocator gives a block out again only after the copies queued from it.
Batch batch_to_device(Batch source, torch::Device device);

}  // namespace lerobot::dataset
