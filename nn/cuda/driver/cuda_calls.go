//go:build chessbrain_cuda

package driver

// The calls that gorgonia.org/cu lacks or makes too dear: all of them are in the
// driver API from 11.4 to 12.x. cu's handles are structs of one C pointer.

/*
#cgo linux CFLAGS: -I/usr/local/cuda/include
#cgo linux LDFLAGS: -lcuda
#include <stdlib.h>
#include <cuda.h>

static CUresult launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void *args, size_t bytes) {
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, args, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
	return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, s, NULL, extra);
}

static CUresult begin_capture(CUstream s) { return cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED); }

static CUresult end_capture(CUstream s, CUgraphExec *exec) {
	CUgraph graph = NULL;
	CUresult r = cuStreamEndCapture(s, &graph);
	if (r == CUDA_SUCCESS) r = cuGraphInstantiateWithFlags(exec, graph, 0);
	if (graph) cuGraphDestroy(graph);
	return r;
}

static CUresult load_logged(const char *ptx, char *log, size_t bytes) {
	CUmodule m;
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)bytes};
	CUresult r = cuModuleLoadDataEx(&m, ptx, 2, options, values);
	if (r == CUDA_SUCCESS) cuModuleUnload(m);
	return r;
}
*/
import "C"

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"gorgonia.org/cu"
)

// result is a status of the driver other than success.
type result C.CUresult

// Error gives the name and the words that CUDA has for it.
func (r result) Error() string {
	var name, text *C.char
	if C.cuGetErrorName(C.CUresult(r), &name) != C.CUDA_SUCCESS || C.cuGetErrorString(C.CUresult(r), &text) != C.CUDA_SUCCESS {
		return fmt.Sprintf("CUDA error %d", int(r))
	}
	return C.GoString(name) + ": " + C.GoString(text)
}

// tensorMemoryLeak is CUDA_ERROR_TENSOR_MEMORY_LEAK, which headers have from 12.8 on.
const tensorMemoryLeak = 721

// Unwrap makes an allocation that found no room ErrOutOfMemory, and what no context survives ErrFault.
func (r result) Unwrap() error {
	switch r {
	case C.CUDA_ERROR_OUT_OF_MEMORY:
		return ErrOutOfMemory
	case C.CUDA_ERROR_ILLEGAL_ADDRESS, C.CUDA_ERROR_MISALIGNED_ADDRESS, C.CUDA_ERROR_INVALID_ADDRESS_SPACE, C.CUDA_ERROR_INVALID_PC,
		C.CUDA_ERROR_ILLEGAL_INSTRUCTION, C.CUDA_ERROR_HARDWARE_STACK_ERROR, C.CUDA_ERROR_ASSERT, C.CUDA_ERROR_LAUNCH_FAILED,
		C.CUDA_ERROR_LAUNCH_TIMEOUT, C.CUDA_ERROR_ECC_UNCORRECTABLE, C.CUDA_ERROR_NVLINK_UNCORRECTABLE,
		C.CUDA_ERROR_DEVICE_UNAVAILABLE, C.CUDA_ERROR_CONTEXT_IS_DESTROYED, C.CUDA_ERROR_SYSTEM_NOT_READY, C.CUDA_ERROR_EXTERNAL_DEVICE, C.CUDA_ERROR_UNKNOWN,
		tensorMemoryLeak:
		return ErrFault
	}
	return nil
}

// status makes an error of what a call returns, nil for success.
func status(r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	return result(r)
}

// worded turns cu's errors, which are numbers, into results.
func worded(err error) error {
	if v := reflect.ValueOf(err); err != nil && v.Kind() == reflect.Int {
		return result(v.Int())
	}
	return err
}

// failed names the call of an error.
func failed(call string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", call, worded(err))
}

// enter makes a context current on this thread. A thread may still have one that is
// destroyed, at the same address: so it does not ask for the current one first.
func enter(c cu.CUContext) error {
	return failed("cuCtxSetCurrent", status(C.cuCtxSetCurrent(*(*C.CUcontext)(unsafe.Pointer(&c)))))
}

// allocHost returns page-locked memory that every context may use.
func allocHost(bytes int) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	err := status(C.cuMemHostAlloc(&p, C.size_t(bytes), C.CU_MEMHOSTALLOC_PORTABLE))
	return p, err
}

// handle and queue look inside cu's structs.
func handle(f cu.Function) C.CUfunction { return *(*C.CUfunction)(unsafe.Pointer(&f)) }
func queue(s cu.Stream) C.CUstream      { return *(*C.CUstream)(unsafe.Pointer(&s)) }

func setMaxShared(f cu.Function, bytes int) error {
	return status(C.cuFuncSetAttribute(handle(f), C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(bytes)))
}

// launch passes one by-value argument, which the driver copies.
func launch(f cu.Function, grid, block Dim, shared int, s cu.Stream, args []byte) error {
	return status(C.launch(handle(f), C.uint(grid.X), C.uint(grid.Y), C.uint(grid.Z), C.uint(block.X), C.uint(block.Y), C.uint(block.Z),
		C.uint(shared), queue(s), unsafe.Pointer(unsafe.SliceData(args)), C.size_t(len(args))))
}

// graphExec is a graph that can be launched.
type graphExec struct{ exec C.CUgraphExec }

func beginCapture(s cu.Stream) error { return status(C.begin_capture(queue(s))) }

func endCapture(s cu.Stream) (graphExec, error) {
	var g graphExec
	err := status(C.end_capture(queue(s), &g.exec))
	return g, err
}

func launchGraph(g graphExec, s cu.Stream) error {
	return status(C.cuGraphLaunch(g.exec, queue(s)))
}

func destroyGraph(g graphExec) error { return status(C.cuGraphExecDestroy(g.exec)) }

// jitLog compiles PTX once more and returns what the driver's compiler says.
func jitLog(ptx []byte) string {
	const bytes = 16 << 10
	log := (*C.char)(C.calloc(1, bytes))
	defer C.free(unsafe.Pointer(log))
	text := C.CString(string(ptx))
	defer C.free(unsafe.Pointer(text))
	C.load_logged(text, log, bytes-1)
	if said := strings.TrimSpace(C.GoString(log)); said != "" {
		return said
	}
	return "nothing"
}
