//go:build chessbrain_cuda

package run

// CUDABuild says whether this program can use GPUs.
const CUDABuild = true
