//go:build chessbrain_cuda

package driver

// gorgonia.org/cu calls cuInit as the program starts, and ends the process where
// that fails. So that the program can say why there is no GPU, and go on without
// one, cu is linked with the cuInit of this file: it calls the driver's, keeps the
// answer for initialized, and reports success.

/*
#cgo linux CFLAGS: -I/usr/local/cuda/include -D_GNU_SOURCE
#cgo linux LDFLAGS: -ldl
#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>

static CUresult answer = CUDA_ERROR_NOT_INITIALIZED;

// Hidden: the driver's own libraries must not find it.
__attribute__((visibility("hidden"))) CUresult cuInit(unsigned flags) {
	CUresult (*real)(unsigned) = (CUresult(*)(unsigned))dlsym(RTLD_NEXT, "cuInit");
	// Kernels go to the device with their module: one that is loaded when it is first
	// launched makes the driver wait for the work of all streams.
	setenv("CUDA_MODULE_LOADING", "EAGER", 0);
	answer = real ? real(flags) : CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

static CUresult init_answer(void) { return answer; }
*/
import "C"

import "fmt"

// initialized returns why the driver cannot be used, or nil; there may be no device.
func initialized() (devices bool, err error) {
	switch r := C.init_answer(); r {
	case C.CUDA_SUCCESS:
		return true, nil
	case C.CUDA_ERROR_NO_DEVICE:
		return false, nil
	default:
		return false, fmt.Errorf("the NVIDIA driver does not start (does nvidia-smi work here?): %w", failed("cuInit", status(C.CUresult(r))))
	}
}
