//go:build !amd64

package kernel

// policyDots has no vector kernel here: without one this is still a fraction of
// what all outputs would cost. There is no bf16.
func policyDots(y, pad, packed []float32, jobs []uint64, k int, _ bool) {
	policyDotsGeneric(y, pad, packed, jobs, k)
}
