// Package kernels holds the CUDA kernels of nn/cuda and how each is launched.
//
// A kernel NAME.cu takes one struct of arguments by value (args.cuh says what each
// kernel computes; gen writes the structs as args.go), and a constructor of this package
// turns arguments into a Launch: kernel, grid, block, shared memory. A Set runs
// Launches on one device:
//
//	k, err := kernels.Load(device)
//	err = k.Run(stream, kernels.Join(kernels.BF16, kernels.JoinArgs{Z: z, Y: y, Scale: scale, Shift: shift, Boards: 256, Padded: 128}))
//
// The kernels are embedded as PTX, which the GPU's driver compiles when a module is
// first used: ptx/NAME.f32.ptx.gz for fp32 from sm_60 on, ptx/NAME.half.ptx.gz for
// bf16 and fp16 from sm_80 on. After a change of a .cu or .cuh file:
//
//	go generate ./nn/cuda/kernels                  # nvcc 11.8
//	(cd nn/cuda/kernels && go run ./gen -resources) # registers, spills, shared memory
//
// A new kernel also needs its arguments in internal/testing/signatures, its
// constructor in launches_test.go, and a test on the emulated device.
package kernels

//go:generate go run ./gen
