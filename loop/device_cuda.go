//go:build chessbrain_cuda

package loop

// CUDABuild says whether this program can use GPUs.
const CUDABuild = true
