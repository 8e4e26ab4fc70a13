package bench

import (
	"strings"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/device"
)

// tensorPeaks are the dense rates of bf16 and fp16 products with fp32 sums, TFLOP/s,
// from the vendor's data sheets and architecture papers, by a part of the device's
// name; the first that fits holds. Names that several devices share are left out.
var tensorPeaks = []struct {
	name   string
	tflops float64
}{
	{"H200 NVL", 835.5}, {"H200", 989.4}, {"GH200", 989.4},
	{"H100 PCIe", 756}, {"H100 NVL", 835.5}, {"H100", 989.4}, {"H800", 989.4},
	{"A100", 311.9}, {"A800", 311.9}, {"A30", 165}, {"A40", 149.7},
	{"L40S", 362}, {"L40", 181}, {"L4", 121},
	{"RTX 6000 Ada", 364.2}, {"RTX A6000", 154.8},
	{"RTX 4090", 165.2}, {"RTX 3090 Ti", 80}, {"RTX 3090", 71},
}

// coresPerSM are the fp32 units of a streaming multiprocessor by compute capability
// (CUDA C++ Programming Guide, arithmetic throughput): each makes a multiply-add a
// clock.
var coresPerSM = map[[2]int]int{
	{6, 0}: 64, {6, 1}: 128, {7, 0}: 64, {7, 5}: 64, {8, 0}: 64, {8, 6}: 128, {8, 9}: 128, {9, 0}: 128,
}

// devicePeak returns the device's rate in a precision, TFLOP/s; 0 = not known.
func devicePeak(i driver.Info, p device.Precision) float64 {
	if p == device.FP32 {
		return 2 * float64(i.SMs) * float64(coresPerSM[[2]int{i.Major, i.Minor}]) * float64(i.ClockKHz) * 1e3 / 1e12
	}
	for _, t := range tensorPeaks {
		if strings.Contains(i.Name, t.name) {
			return t.tflops
		}
	}
	return 0
}
