// Package cuda runs nets on NVIDIA GPUs: inference for self-play and the whole
// training step. Its host logic needs no GPU and no build tag: it works over
// driver.Device, which is a real GPU in builds with the tag chessbrain_cuda and
// the emulator in tests. The kernels and their exact arithmetic are in
// nn/cuda/kernels (args.cuh).
//
// Activations are channels last, [boards][64 squares][channels], in bf16 or fp16
// for tensor cores or in fp32; channels are padded to a multiple of 16. Sums,
// statistics, weights and moments are fp32. No result depends on the order in
// which the device runs its blocks.
package cuda
