// The part of CUDA's driver API that the GPU program is built of: what gorgonia.org/cu and
// package driver call. It takes the place of CUDA's own header, so that a C compiler is all
// that a build needs. The ABI has been the same since CUDA 11.4. cuda_test.c holds all
// of it against CUDA's header where there is one.
//
// CUDA_FUNCTION declares a function; build_cuda.sh defines it otherwise, for a library to link
// with. CUDA_NAME is a function whose symbol in the driver has a version.
#pragma once
#include <stdlib.h>
#include <stdint.h>

#ifndef CUDA_FUNCTION
#define CUDA_FUNCTION(name, ...) CUresult name(__VA_ARGS__)
#endif

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef uint32_t cuuint32_t;
typedef struct CUuuid_st { char bytes[16]; } CUuuid;
typedef void (*CUhostFn)(void*);
typedef size_t (*CUoccupancyB2DSize)(int);

typedef struct CUarray_st* CUarray;
typedef struct CUctx_st* CUcontext;
typedef struct CUevent_st* CUevent;
typedef struct CUfunc_st* CUfunction;
typedef struct CUgraph_st* CUgraph;
typedef struct CUgraphExec_st* CUgraphExec;
typedef struct CUgraphNode_st* CUgraphNode;
typedef struct CUlinkState_st* CUlinkState;
typedef struct CUmod_st* CUmodule;
typedef struct CUstream_st* CUstream;
typedef struct CUsurfref_st* CUsurfref;
typedef struct CUtexref_st* CUtexref;

#define CUDA_ARRAY3D_CUBEMAP 0x04
#define CUDA_ARRAY3D_LAYERED 0x01
#define CUDA_ARRAY3D_TEXTURE_GATHER 0x08
#define CU_DEVICE_CPU ((CUdevice)-1)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void*)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void*)2)
#define CU_LAUNCH_PARAM_END ((void*)0)
#define CU_MEMHOSTALLOC_PORTABLE 0x01
#define CU_TRSF_NORMALIZED_COORDINATES 0x02
#define CU_TRSF_READ_AS_INTEGER 0x01

typedef enum {
	CU_MEM_ATTACH_GLOBAL = 1, CU_MEM_ATTACH_HOST = 2, CU_MEM_ATTACH_SINGLE = 4
} CUmemAttach_flags;
typedef enum {
	CU_CTX_SCHED_AUTO = 0, CU_CTX_SCHED_SPIN = 1, CU_CTX_SCHED_YIELD = 2, CU_CTX_SCHED_BLOCKING_SYNC = 4,
	CU_CTX_SCHED_MASK = 7, CU_CTX_MAP_HOST = 8, CU_CTX_LMEM_RESIZE_TO_MAX = 16, CU_CTX_FLAGS_MASK = 31
} CUctx_flags;
typedef enum {
	CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1
} CUstream_flags;
typedef enum {
	CU_EVENT_DEFAULT = 0, CU_EVENT_BLOCKING_SYNC = 1, CU_EVENT_DISABLE_TIMING = 2, CU_EVENT_INTERPROCESS = 4
} CUevent_flags;
typedef enum {
	CU_OCCUPANCY_DEFAULT = 0, CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE = 1
} CUoccupancy_flags;
typedef enum {
	CU_AD_FORMAT_UNSIGNED_INT8 = 1, CU_AD_FORMAT_UNSIGNED_INT16 = 2, CU_AD_FORMAT_UNSIGNED_INT32 = 3,
	CU_AD_FORMAT_SIGNED_INT8 = 8, CU_AD_FORMAT_SIGNED_INT16 = 9, CU_AD_FORMAT_SIGNED_INT32 = 10, CU_AD_FORMAT_HALF = 16,
	CU_AD_FORMAT_FLOAT = 32
} CUarray_format;
typedef enum {
	CU_TR_ADDRESS_MODE_WRAP = 0, CU_TR_ADDRESS_MODE_CLAMP = 1, CU_TR_ADDRESS_MODE_MIRROR = 2,
	CU_TR_ADDRESS_MODE_BORDER = 3
} CUaddress_mode;
typedef enum {
	CU_TR_FILTER_MODE_POINT = 0, CU_TR_FILTER_MODE_LINEAR = 1
} CUfilter_mode;
typedef enum {
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
	CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
	CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
	CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
	CU_DEVICE_ATTRIBUTE_SHARED_MEMORY_PER_BLOCK = 8, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
	CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10, CU_DEVICE_ATTRIBUTE_MAX_PITCH = 11,
	CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12, CU_DEVICE_ATTRIBUTE_REGISTERS_PER_BLOCK = 12,
	CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT = 14,
	CU_DEVICE_ATTRIBUTE_GPU_OVERLAP = 15, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = 17, CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
	CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH = 21, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH = 22,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT = 23, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH = 24,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT = 25, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH = 26,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH = 27, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT = 28,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS = 29, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_WIDTH = 27,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_HEIGHT = 28, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_NUMSLICES = 29,
	CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT = 30, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
	CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
	CU_DEVICE_ATTRIBUTE_TCC_DRIVER = 35, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
	CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
	CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH = 42,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS = 43, CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER = 44,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH = 45, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT = 46,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE = 47,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE = 48,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE = 49, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
	CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT = 51, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH = 52,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH = 53,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS = 54, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH = 55,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH = 56, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT = 57,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH = 58, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT = 59,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH = 60, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH = 61,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS = 62, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH = 63,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT = 64,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS = 65, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH = 66,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH = 67,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS = 68,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH = 69, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH = 70,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT = 71, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH = 72,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH = 73,
	CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT = 74, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH = 77,
	CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78, CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED = 79,
	CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED = 80, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
	CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
	CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD = 84, CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID = 85,
	CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED = 86,
	CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = 87, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
	CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89, CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED = 90,
	CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
} CUdevice_attribute;
typedef enum {
	CU_POINTER_ATTRIBUTE_CONTEXT = 1, CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2, CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
	CU_POINTER_ATTRIBUTE_HOST_POINTER = 4, CU_POINTER_ATTRIBUTE_P2P_TOKENS = 5, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
	CU_POINTER_ATTRIBUTE_BUFFER_ID = 7, CU_POINTER_ATTRIBUTE_IS_MANAGED = 8
} CUpointer_attribute;
typedef enum {
	CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
	CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3, CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
	CU_FUNC_ATTRIBUTE_PTX_VERSION = 5, CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7,
	CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
} CUfunction_attribute;
typedef enum {
	CU_FUNC_CACHE_PREFER_NONE = 0, CU_FUNC_CACHE_PREFER_SHARED = 1, CU_FUNC_CACHE_PREFER_L1 = 2,
	CU_FUNC_CACHE_PREFER_EQUAL = 3
} CUfunc_cache;
typedef enum {
	CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE = 0, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE = 1,
	CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE = 2
} CUsharedconfig;
typedef enum {
	CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2, CU_MEMORYTYPE_ARRAY = 3, CU_MEMORYTYPE_UNIFIED = 4
} CUmemorytype;
typedef enum {
	CU_COMPUTEMODE_PROHIBITED = 2
} CUcomputemode;
typedef enum {
	CU_MEM_ADVISE_SET_READ_MOSTLY = 1, CU_MEM_ADVISE_UNSET_READ_MOSTLY = 2, CU_MEM_ADVISE_SET_PREFERRED_LOCATION = 3,
	CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION = 4, CU_MEM_ADVISE_SET_ACCESSED_BY = 5, CU_MEM_ADVISE_UNSET_ACCESSED_BY = 6
} CUmem_advise;
typedef enum {
	CU_JIT_MAX_REGISTERS = 0, CU_JIT_THREADS_PER_BLOCK = 1, CU_JIT_WALL_TIME = 2, CU_JIT_INFO_LOG_BUFFER = 3,
	CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4, CU_JIT_ERROR_LOG_BUFFER = 5, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
	CU_JIT_OPTIMIZATION_LEVEL = 7, CU_JIT_TARGET_FROM_CUCONTEXT = 8, CU_JIT_TARGET = 9, CU_JIT_FALLBACK_STRATEGY = 10,
	CU_JIT_GENERATE_DEBUG_INFO = 11, CU_JIT_LOG_VERBOSE = 12, CU_JIT_GENERATE_LINE_INFO = 13, CU_JIT_CACHE_MODE = 14
} CUjit_option;
typedef enum {
	CU_TARGET_COMPUTE_20 = 20, CU_TARGET_COMPUTE_21 = 21, CU_TARGET_COMPUTE_30 = 30, CU_TARGET_COMPUTE_32 = 32,
	CU_TARGET_COMPUTE_35 = 35, CU_TARGET_COMPUTE_37 = 37, CU_TARGET_COMPUTE_50 = 50, CU_TARGET_COMPUTE_52 = 52,
	CU_TARGET_COMPUTE_53 = 53, CU_TARGET_COMPUTE_60 = 60, CU_TARGET_COMPUTE_61 = 61, CU_TARGET_COMPUTE_62 = 62
} CUjit_target;
typedef enum {
	CU_PREFER_PTX = 0, CU_PREFER_BINARY = 1
} CUjit_fallback;
typedef enum {
	CU_JIT_CACHE_OPTION_NONE = 0, CU_JIT_CACHE_OPTION_CG = 1, CU_JIT_CACHE_OPTION_CA = 2
} CUjit_cacheMode;
typedef enum {
	CU_JIT_INPUT_CUBIN = 0, CU_JIT_INPUT_PTX = 1, CU_JIT_INPUT_FATBINARY = 2, CU_JIT_INPUT_OBJECT = 3,
	CU_JIT_INPUT_LIBRARY = 4
} CUjitInputType;
typedef enum {
	CU_LIMIT_STACK_SIZE = 0, CU_LIMIT_PRINTF_FIFO_SIZE = 1, CU_LIMIT_MALLOC_HEAP_SIZE = 2,
	CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH = 3, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4
} CUlimit;
typedef enum {
	CU_STREAM_CAPTURE_MODE_RELAXED = 2
} CUstreamCaptureMode;
typedef enum {
	CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_OUT_OF_MEMORY = 2, CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_DEINITIALIZED = 4, CUDA_ERROR_PROFILER_DISABLED = 5, CUDA_ERROR_PROFILER_NOT_INITIALIZED = 6,
	CUDA_ERROR_PROFILER_ALREADY_STARTED = 7, CUDA_ERROR_PROFILER_ALREADY_STOPPED = 8,
	CUDA_ERROR_DEVICE_UNAVAILABLE = 46, CUDA_ERROR_NO_DEVICE = 100, CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_IMAGE = 200, CUDA_ERROR_INVALID_CONTEXT = 201, CUDA_ERROR_CONTEXT_ALREADY_CURRENT = 202,
	CUDA_ERROR_MAP_FAILED = 205, CUDA_ERROR_UNMAP_FAILED = 206, CUDA_ERROR_ARRAY_IS_MAPPED = 207,
	CUDA_ERROR_ALREADY_MAPPED = 208, CUDA_ERROR_NO_BINARY_FOR_GPU = 209, CUDA_ERROR_ALREADY_ACQUIRED = 210,
	CUDA_ERROR_NOT_MAPPED = 211, CUDA_ERROR_NOT_MAPPED_AS_ARRAY = 212, CUDA_ERROR_NOT_MAPPED_AS_POINTER = 213,
	CUDA_ERROR_ECC_UNCORRECTABLE = 214, CUDA_ERROR_UNSUPPORTED_LIMIT = 215, CUDA_ERROR_CONTEXT_ALREADY_IN_USE = 216,
	CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217, CUDA_ERROR_INVALID_PTX = 218, CUDA_ERROR_INVALID_GRAPHICS_CONTEXT = 219,
	CUDA_ERROR_NVLINK_UNCORRECTABLE = 220, CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221, CUDA_ERROR_INVALID_SOURCE = 300,
	CUDA_ERROR_FILE_NOT_FOUND = 301, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND = 302,
	CUDA_ERROR_SHARED_OBJECT_INIT_FAILED = 303, CUDA_ERROR_OPERATING_SYSTEM = 304, CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_ILLEGAL_STATE = 401, CUDA_ERROR_NOT_FOUND = 500, CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_ILLEGAL_ADDRESS = 700, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701, CUDA_ERROR_LAUNCH_TIMEOUT = 702,
	CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING = 703, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
	CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705, CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
	CUDA_ERROR_CONTEXT_IS_DESTROYED = 709, CUDA_ERROR_ASSERT = 710, CUDA_ERROR_TOO_MANY_PEERS = 711,
	CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
	CUDA_ERROR_HARDWARE_STACK_ERROR = 714, CUDA_ERROR_ILLEGAL_INSTRUCTION = 715, CUDA_ERROR_MISALIGNED_ADDRESS = 716,
	CUDA_ERROR_INVALID_ADDRESS_SPACE = 717, CUDA_ERROR_INVALID_PC = 718, CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720, CUDA_ERROR_NOT_PERMITTED = 800, CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_SYSTEM_NOT_READY = 802, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
	CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901, CUDA_ERROR_STREAM_CAPTURE_MERGE = 902,
	CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903, CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
	CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
	CUDA_ERROR_CAPTURED_EVENT = 907, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908, CUDA_ERROR_TIMEOUT = 909,
	CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910, CUDA_ERROR_EXTERNAL_DEVICE = 911, CUDA_ERROR_UNKNOWN = 999
} CUresult;
typedef enum {
	CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK = 1, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED = 2,
	CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED = 3
} CUdevice_P2PAttribute;

typedef struct CUDA_ARRAY_DESCRIPTOR_st {
	size_t Width, Height;
	CUarray_format Format;
	unsigned int NumChannels;
} CUDA_ARRAY_DESCRIPTOR;
typedef struct CUDA_ARRAY3D_DESCRIPTOR_st {
	size_t Width, Height, Depth;
	CUarray_format Format;
	unsigned int NumChannels, Flags;
} CUDA_ARRAY3D_DESCRIPTOR;
typedef struct CUDA_MEMCPY2D_st {
	size_t srcXInBytes, srcY;
	CUmemorytype srcMemoryType;
	const void* srcHost;
	CUdeviceptr srcDevice;
	CUarray srcArray;
	size_t srcPitch, dstXInBytes, dstY;
	CUmemorytype dstMemoryType;
	void* dstHost;
	CUdeviceptr dstDevice;
	CUarray dstArray;
	size_t dstPitch, WidthInBytes, Height;
} CUDA_MEMCPY2D;
typedef struct CUDA_MEMCPY3D_st {
	size_t srcXInBytes, srcY, srcZ, srcLOD;
	CUmemorytype srcMemoryType;
	const void* srcHost;
	CUdeviceptr srcDevice;
	CUarray srcArray;
	void* reserved0;
	size_t srcPitch, srcHeight, dstXInBytes, dstY, dstZ, dstLOD;
	CUmemorytype dstMemoryType;
	void* dstHost;
	CUdeviceptr dstDevice;
	CUarray dstArray;
	void* reserved1;
	size_t dstPitch, dstHeight, WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;
typedef struct CUDA_MEMCPY3D_PEER_st {
	size_t srcXInBytes, srcY, srcZ, srcLOD;
	CUmemorytype srcMemoryType;
	const void* srcHost;
	CUdeviceptr srcDevice;
	CUarray srcArray;
	CUcontext srcContext;
	size_t srcPitch, srcHeight, dstXInBytes, dstY, dstZ, dstLOD;
	CUmemorytype dstMemoryType;
	void* dstHost;
	CUdeviceptr dstDevice;
	CUarray dstArray;
	CUcontext dstContext;
	size_t dstPitch, dstHeight, WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D_PEER;
typedef struct CUDA_KERNEL_NODE_PARAMS_st {
	CUfunction func;
	unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
	void** kernelParams;
	void** extra;
} CUDA_KERNEL_NODE_PARAMS;
typedef struct CUDA_MEMSET_NODE_PARAMS_st {
	CUdeviceptr dst;
	size_t pitch;
	unsigned int value, elementSize;
	size_t width, height;
} CUDA_MEMSET_NODE_PARAMS;
typedef struct CUDA_HOST_NODE_PARAMS_st {
	CUhostFn fn;
	void* userData;
} CUDA_HOST_NODE_PARAMS;

#define cuArray3DCreate cuArray3DCreate_v2
#define cuArray3DGetDescriptor cuArray3DGetDescriptor_v2
#define cuArrayCreate cuArrayCreate_v2
#define cuArrayGetDescriptor cuArrayGetDescriptor_v2
#define cuCtxCreate cuCtxCreate_v2
#define cuCtxDestroy cuCtxDestroy_v2
#define cuCtxPopCurrent cuCtxPopCurrent_v2
#define cuCtxPushCurrent cuCtxPushCurrent_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuDevicePrimaryCtxReset cuDevicePrimaryCtxReset_v2
#define cuDevicePrimaryCtxSetFlags cuDevicePrimaryCtxSetFlags_v2
#define cuDeviceTotalMem cuDeviceTotalMem_v2
#define cuEventDestroy cuEventDestroy_v2
#define cuLinkAddData cuLinkAddData_v2
#define cuLinkAddFile cuLinkAddFile_v2
#define cuLinkCreate cuLinkCreate_v2
#define cuMemAllocPitch cuMemAllocPitch_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuMemGetAddressRange cuMemGetAddressRange_v2
#define cuMemGetInfo cuMemGetInfo_v2
#define cuMemcpy2DAsync cuMemcpy2DAsync_v2
#define cuMemcpy2DUnaligned cuMemcpy2DUnaligned_v2
#define cuMemcpy2D cuMemcpy2D_v2
#define cuMemcpy3DAsync cuMemcpy3DAsync_v2
#define cuMemcpy3D cuMemcpy3D_v2
#define cuMemcpyAtoA cuMemcpyAtoA_v2
#define cuMemcpyAtoD cuMemcpyAtoD_v2
#define cuMemcpyAtoHAsync cuMemcpyAtoHAsync_v2
#define cuMemcpyAtoH cuMemcpyAtoH_v2
#define cuMemcpyDtoA cuMemcpyDtoA_v2
#define cuMemcpyDtoDAsync cuMemcpyDtoDAsync_v2
#define cuMemcpyDtoD cuMemcpyDtoD_v2
#define cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuMemcpyHtoAAsync cuMemcpyHtoAAsync_v2
#define cuMemcpyHtoA cuMemcpyHtoA_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemsetD16 cuMemsetD16_v2
#define cuMemsetD2D16 cuMemsetD2D16_v2
#define cuMemsetD2D32 cuMemsetD2D32_v2
#define cuMemsetD2D8 cuMemsetD2D8_v2
#define cuMemsetD32 cuMemsetD32_v2
#define cuMemsetD8 cuMemsetD8_v2
#define cuModuleGetGlobal cuModuleGetGlobal_v2
#define cuStreamBeginCapture cuStreamBeginCapture_v2
#define cuStreamDestroy cuStreamDestroy_v2
#define cuTexRefGetAddress cuTexRefGetAddress_v2
#define cuTexRefSetAddress2D cuTexRefSetAddress2D_v3
#define cuTexRefSetAddress cuTexRefSetAddress_v2

CUDA_FUNCTION(cuArray3DCreate_v2, CUarray*, const CUDA_ARRAY3D_DESCRIPTOR*);
CUDA_FUNCTION(cuArray3DGetDescriptor_v2, CUDA_ARRAY3D_DESCRIPTOR*, CUarray);
CUDA_FUNCTION(cuArrayCreate_v2, CUarray*, const CUDA_ARRAY_DESCRIPTOR*);
CUDA_FUNCTION(cuArrayDestroy, CUarray);
CUDA_FUNCTION(cuArrayGetDescriptor_v2, CUDA_ARRAY_DESCRIPTOR*, CUarray);
CUDA_FUNCTION(cuCtxCreate_v2, CUcontext*, unsigned int, CUdevice);
CUDA_FUNCTION(cuCtxDestroy_v2, CUcontext);
CUDA_FUNCTION(cuCtxDisablePeerAccess, CUcontext);
CUDA_FUNCTION(cuCtxEnablePeerAccess, CUcontext, unsigned int);
CUDA_FUNCTION(cuCtxGetApiVersion, CUcontext, unsigned int*);
CUDA_FUNCTION(cuCtxGetCacheConfig, CUfunc_cache*);
CUDA_FUNCTION(cuCtxGetCurrent, CUcontext*);
CUDA_FUNCTION(cuCtxGetDevice, CUdevice*);
CUDA_FUNCTION(cuCtxGetFlags, unsigned int*);
CUDA_FUNCTION(cuCtxGetLimit, size_t*, CUlimit);
CUDA_FUNCTION(cuCtxGetSharedMemConfig, CUsharedconfig*);
CUDA_FUNCTION(cuCtxGetStreamPriorityRange, int*, int*);
CUDA_FUNCTION(cuCtxPopCurrent_v2, CUcontext*);
CUDA_FUNCTION(cuCtxPushCurrent_v2, CUcontext);
CUDA_FUNCTION(cuCtxResetPersistingL2Cache, void);
CUDA_FUNCTION(cuCtxSetCacheConfig, CUfunc_cache);
CUDA_FUNCTION(cuCtxSetCurrent, CUcontext);
CUDA_FUNCTION(cuCtxSetLimit, CUlimit, size_t);
CUDA_FUNCTION(cuCtxSetSharedMemConfig, CUsharedconfig);
CUDA_FUNCTION(cuCtxSynchronize, void);
CUDA_FUNCTION(cuDeviceCanAccessPeer, int*, CUdevice, CUdevice);
CUDA_FUNCTION(cuDeviceGet, CUdevice*, int);
CUDA_FUNCTION(cuDeviceGetAttribute, int*, CUdevice_attribute, CUdevice);
CUDA_FUNCTION(cuDeviceGetCount, int*);
CUDA_FUNCTION(cuDeviceGetName, char*, int, CUdevice);
CUDA_FUNCTION(cuDeviceGetP2PAttribute, int*, CUdevice_P2PAttribute, CUdevice, CUdevice);
CUDA_FUNCTION(cuDeviceGetUuid, CUuuid*, CUdevice);
CUDA_FUNCTION(cuDevicePrimaryCtxGetState, CUdevice, unsigned int*, int*);
CUDA_FUNCTION(cuDevicePrimaryCtxRelease_v2, CUdevice);
CUDA_FUNCTION(cuDevicePrimaryCtxReset_v2, CUdevice);
CUDA_FUNCTION(cuDevicePrimaryCtxRetain, CUcontext*, CUdevice);
CUDA_FUNCTION(cuDevicePrimaryCtxSetFlags_v2, CUdevice, unsigned int);
CUDA_FUNCTION(cuDeviceTotalMem_v2, size_t*, CUdevice);
CUDA_FUNCTION(cuDriverGetVersion, int*);
CUDA_FUNCTION(cuEventCreate, CUevent*, unsigned int);
CUDA_FUNCTION(cuEventDestroy_v2, CUevent);
CUDA_FUNCTION(cuEventElapsedTime, float*, CUevent, CUevent);
CUDA_FUNCTION(cuEventQuery, CUevent);
CUDA_FUNCTION(cuEventRecord, CUevent, CUstream);
CUDA_FUNCTION(cuEventSynchronize, CUevent);
CUDA_FUNCTION(cuFuncGetAttribute, int*, CUfunction_attribute, CUfunction);
CUDA_FUNCTION(cuFuncSetAttribute, CUfunction, CUfunction_attribute, int);
CUDA_FUNCTION(cuFuncSetCacheConfig, CUfunction, CUfunc_cache);
CUDA_FUNCTION(cuFuncSetSharedMemConfig, CUfunction, CUsharedconfig);
CUDA_FUNCTION(cuGetErrorName, CUresult, const char**);
CUDA_FUNCTION(cuGetErrorString, CUresult, const char**);
CUDA_FUNCTION(cuGraphAddChildGraphNode, CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraph);
CUDA_FUNCTION(cuGraphAddDependencies, CUgraph, const CUgraphNode*, const CUgraphNode*, size_t);
CUDA_FUNCTION(cuGraphAddEmptyNode, CUgraphNode*, CUgraph, const CUgraphNode*, size_t);
CUDA_FUNCTION(cuGraphAddHostNode, CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_HOST_NODE_PARAMS*);
CUDA_FUNCTION(cuGraphAddKernelNode, CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_KERNEL_NODE_PARAMS*);
CUDA_FUNCTION(cuGraphAddMemcpyNode, CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_MEMCPY3D*, CUcontext);
CUDA_FUNCTION(cuGraphAddMemsetNode, CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_MEMSET_NODE_PARAMS*, CUcontext);
CUDA_FUNCTION(cuGraphClone, CUgraph*, CUgraph);
CUDA_FUNCTION(cuGraphCreate, CUgraph*, unsigned int);
CUDA_FUNCTION(cuGraphDestroy, CUgraph);
CUDA_FUNCTION(cuGraphDestroyNode, CUgraphNode);
CUDA_FUNCTION(cuGraphExecDestroy, CUgraphExec);
CUDA_FUNCTION(cuGraphGetEdges, CUgraph, CUgraphNode*, CUgraphNode*, size_t*);
CUDA_FUNCTION(cuGraphInstantiateWithFlags, CUgraphExec*, CUgraph, unsigned long long);
CUDA_FUNCTION(cuGraphLaunch, CUgraphExec, CUstream);
CUDA_FUNCTION(cuInit, unsigned int);
CUDA_FUNCTION(cuLaunchKernel, CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, CUstream, void**, void**);
CUDA_FUNCTION(cuLinkAddData_v2, CUlinkState, CUjitInputType, void*, size_t, const char*, unsigned int, CUjit_option*, void**);
CUDA_FUNCTION(cuLinkAddFile_v2, CUlinkState, CUjitInputType, const char*, unsigned int, CUjit_option*, void**);
CUDA_FUNCTION(cuLinkComplete, CUlinkState, void**, size_t*);
CUDA_FUNCTION(cuLinkCreate_v2, unsigned int, CUjit_option*, void**, CUlinkState*);
CUDA_FUNCTION(cuLinkDestroy, CUlinkState);
CUDA_FUNCTION(cuMemAdvise, CUdeviceptr, size_t, CUmem_advise, CUdevice);
CUDA_FUNCTION(cuMemAllocManaged, CUdeviceptr*, size_t, unsigned int);
CUDA_FUNCTION(cuMemAllocPitch_v2, CUdeviceptr*, size_t*, size_t, size_t, unsigned int);
CUDA_FUNCTION(cuMemAlloc_v2, CUdeviceptr*, size_t);
CUDA_FUNCTION(cuMemFreeHost, void*);
CUDA_FUNCTION(cuMemFree_v2, CUdeviceptr);
CUDA_FUNCTION(cuMemGetAddressRange_v2, CUdeviceptr*, size_t*, CUdeviceptr);
CUDA_FUNCTION(cuMemGetInfo_v2, size_t*, size_t*);
CUDA_FUNCTION(cuMemHostAlloc, void**, size_t, unsigned int);
CUDA_FUNCTION(cuMemPrefetchAsync, CUdeviceptr, size_t, CUdevice, CUstream);
CUDA_FUNCTION(cuMemcpy, CUdeviceptr, CUdeviceptr, size_t);
CUDA_FUNCTION(cuMemcpy2DAsync_v2, const CUDA_MEMCPY2D*, CUstream);
CUDA_FUNCTION(cuMemcpy2DUnaligned_v2, const CUDA_MEMCPY2D*);
CUDA_FUNCTION(cuMemcpy2D_v2, const CUDA_MEMCPY2D*);
CUDA_FUNCTION(cuMemcpy3DAsync_v2, const CUDA_MEMCPY3D*, CUstream);
CUDA_FUNCTION(cuMemcpy3DPeer, const CUDA_MEMCPY3D_PEER*);
CUDA_FUNCTION(cuMemcpy3DPeerAsync, const CUDA_MEMCPY3D_PEER*, CUstream);
CUDA_FUNCTION(cuMemcpy3D_v2, const CUDA_MEMCPY3D*);
CUDA_FUNCTION(cuMemcpyAsync, CUdeviceptr, CUdeviceptr, size_t, CUstream);
CUDA_FUNCTION(cuMemcpyAtoA_v2, CUarray, size_t, CUarray, size_t, size_t);
CUDA_FUNCTION(cuMemcpyAtoD_v2, CUdeviceptr, CUarray, size_t, size_t);
CUDA_FUNCTION(cuMemcpyAtoHAsync_v2, void*, CUarray, size_t, size_t, CUstream);
CUDA_FUNCTION(cuMemcpyAtoH_v2, void*, CUarray, size_t, size_t);
CUDA_FUNCTION(cuMemcpyDtoA_v2, CUarray, size_t, CUdeviceptr, size_t);
CUDA_FUNCTION(cuMemcpyDtoDAsync_v2, CUdeviceptr, CUdeviceptr, size_t, CUstream);
CUDA_FUNCTION(cuMemcpyDtoD_v2, CUdeviceptr, CUdeviceptr, size_t);
CUDA_FUNCTION(cuMemcpyDtoHAsync_v2, void*, CUdeviceptr, size_t, CUstream);
CUDA_FUNCTION(cuMemcpyDtoH_v2, void*, CUdeviceptr, size_t);
CUDA_FUNCTION(cuMemcpyHtoAAsync_v2, CUarray, size_t, const void*, size_t, CUstream);
CUDA_FUNCTION(cuMemcpyHtoA_v2, CUarray, size_t, const void*, size_t);
CUDA_FUNCTION(cuMemcpyHtoDAsync_v2, CUdeviceptr, const void*, size_t, CUstream);
CUDA_FUNCTION(cuMemcpyHtoD_v2, CUdeviceptr, const void*, size_t);
CUDA_FUNCTION(cuMemcpyPeer, CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t);
CUDA_FUNCTION(cuMemcpyPeerAsync, CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream);
CUDA_FUNCTION(cuMemsetD16Async, CUdeviceptr, unsigned short, size_t, CUstream);
CUDA_FUNCTION(cuMemsetD16_v2, CUdeviceptr, unsigned short, size_t);
CUDA_FUNCTION(cuMemsetD2D16Async, CUdeviceptr, size_t, unsigned short, size_t, size_t, CUstream);
CUDA_FUNCTION(cuMemsetD2D16_v2, CUdeviceptr, size_t, unsigned short, size_t, size_t);
CUDA_FUNCTION(cuMemsetD2D32Async, CUdeviceptr, size_t, unsigned int, size_t, size_t, CUstream);
CUDA_FUNCTION(cuMemsetD2D32_v2, CUdeviceptr, size_t, unsigned int, size_t, size_t);
CUDA_FUNCTION(cuMemsetD2D8Async, CUdeviceptr, size_t, unsigned char, size_t, size_t, CUstream);
CUDA_FUNCTION(cuMemsetD2D8_v2, CUdeviceptr, size_t, unsigned char, size_t, size_t);
CUDA_FUNCTION(cuMemsetD32Async, CUdeviceptr, unsigned int, size_t, CUstream);
CUDA_FUNCTION(cuMemsetD32_v2, CUdeviceptr, unsigned int, size_t);
CUDA_FUNCTION(cuMemsetD8Async, CUdeviceptr, unsigned char, size_t, CUstream);
CUDA_FUNCTION(cuMemsetD8_v2, CUdeviceptr, unsigned char, size_t);
CUDA_FUNCTION(cuModuleGetFunction, CUfunction*, CUmodule, const char*);
CUDA_FUNCTION(cuModuleGetGlobal_v2, CUdeviceptr*, size_t*, CUmodule, const char*);
CUDA_FUNCTION(cuModuleGetSurfRef, CUsurfref*, CUmodule, const char*);
CUDA_FUNCTION(cuModuleGetTexRef, CUtexref*, CUmodule, const char*);
CUDA_FUNCTION(cuModuleLoad, CUmodule*, const char*);
CUDA_FUNCTION(cuModuleLoadData, CUmodule*, const void*);
CUDA_FUNCTION(cuModuleLoadDataEx, CUmodule*, const void*, unsigned int, CUjit_option*, void**);
CUDA_FUNCTION(cuModuleLoadFatBinary, CUmodule*, const void*);
CUDA_FUNCTION(cuModuleUnload, CUmodule);
CUDA_FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor, int*, CUfunction, int, size_t);
CUDA_FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int*, CUfunction, int, size_t, unsigned int);
CUDA_FUNCTION(cuPointerGetAttribute, void*, CUpointer_attribute, CUdeviceptr);
CUDA_FUNCTION(cuPointerSetAttribute, const void*, CUpointer_attribute, CUdeviceptr);
CUDA_FUNCTION(cuStreamAttachMemAsync, CUstream, CUdeviceptr, size_t, unsigned int);
CUDA_FUNCTION(cuStreamBeginCapture_v2, CUstream, CUstreamCaptureMode);
CUDA_FUNCTION(cuStreamCreate, CUstream*, unsigned int);
CUDA_FUNCTION(cuStreamCreateWithPriority, CUstream*, unsigned int, int);
CUDA_FUNCTION(cuStreamDestroy_v2, CUstream);
CUDA_FUNCTION(cuStreamEndCapture, CUstream, CUgraph*);
CUDA_FUNCTION(cuStreamGetFlags, CUstream, unsigned int*);
CUDA_FUNCTION(cuStreamGetPriority, CUstream, int*);
CUDA_FUNCTION(cuStreamQuery, CUstream);
CUDA_FUNCTION(cuStreamSynchronize, CUstream);
CUDA_FUNCTION(cuStreamWaitEvent, CUstream, CUevent, unsigned int);
CUDA_FUNCTION(cuStreamWaitValue32, CUstream, CUdeviceptr, cuuint32_t, unsigned int);
CUDA_FUNCTION(cuStreamWriteValue32, CUstream, CUdeviceptr, cuuint32_t, unsigned int);
CUDA_FUNCTION(cuSurfRefGetArray, CUarray*, CUsurfref);
CUDA_FUNCTION(cuSurfRefSetArray, CUsurfref, CUarray, unsigned int);
CUDA_FUNCTION(cuTexRefGetAddressMode, CUaddress_mode*, CUtexref, int);
CUDA_FUNCTION(cuTexRefGetAddress_v2, CUdeviceptr*, CUtexref);
CUDA_FUNCTION(cuTexRefGetArray, CUarray*, CUtexref);
CUDA_FUNCTION(cuTexRefGetBorderColor, float*, CUtexref);
CUDA_FUNCTION(cuTexRefGetFilterMode, CUfilter_mode*, CUtexref);
CUDA_FUNCTION(cuTexRefGetFlags, unsigned int*, CUtexref);
CUDA_FUNCTION(cuTexRefGetFormat, CUarray_format*, int*, CUtexref);
CUDA_FUNCTION(cuTexRefGetMaxAnisotropy, int*, CUtexref);
CUDA_FUNCTION(cuTexRefSetAddress2D_v3, CUtexref, const CUDA_ARRAY_DESCRIPTOR*, CUdeviceptr, size_t);
CUDA_FUNCTION(cuTexRefSetAddressMode, CUtexref, int, CUaddress_mode);
CUDA_FUNCTION(cuTexRefSetAddress_v2, size_t*, CUtexref, CUdeviceptr, size_t);
CUDA_FUNCTION(cuTexRefSetArray, CUtexref, CUarray, unsigned int);
CUDA_FUNCTION(cuTexRefSetBorderColor, CUtexref, float*);
CUDA_FUNCTION(cuTexRefSetFilterMode, CUtexref, CUfilter_mode);
CUDA_FUNCTION(cuTexRefSetFlags, CUtexref, unsigned int);
CUDA_FUNCTION(cuTexRefSetFormat, CUtexref, CUarray_format, int);
CUDA_FUNCTION(cuTexRefSetMaxAnisotropy, CUtexref, unsigned int);
CUDA_FUNCTION(cuTexRefSetMipmapFilterMode, CUtexref, CUfilter_mode);
CUDA_FUNCTION(cuTexRefSetMipmapLevelBias, CUtexref, float);
CUDA_FUNCTION(cuTexRefSetMipmapLevelClamp, CUtexref, float, float);
