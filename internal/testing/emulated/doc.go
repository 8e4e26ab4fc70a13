// Package emulated is a driver.Device that runs the kernels on the host, so that
// the very source that nvcc compiles is tested without a GPU. A module is the .cu
// file of its name, compiled by the host's C++ compiler against emulated.h; each
// CUDA thread is a fiber.
//
// It is made to find errors, not to be fast:
//
//   - threads run in an order drawn from a seed, one until it waits, so that a
//     missing barrier shows; warps and blocks that wait at different places are errors;
//   - memory is full of 0xFF (NaN) to begin with, ends at a page that faults and
//     faults after Free;
//   - cp.async copies are done by the wait that needs them, and not before;
//   - with Options.Races two accesses to a byte that CUDA's memory model does not
//     order, one of them a write, are an error: between threads of a block without a
//     barrier, between blocks, and with copies that have not been waited for
//     (runtime/races.h); with Options.Profile accesses are counted instead, as wavefronts
//     of shared memory and sectors of global memory (runtime/profile.h);
//   - with Options.Shuffled the work of all streams waits until a synchronisation
//     needs it and runs in any order that streams and events allow.
//
// An example, in a test:
//
//	d := emulated.Open(t)
//	k, err := kernels.Load(d)
package emulated
