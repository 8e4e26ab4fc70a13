package bench

import (
	"fmt"
	"io"
	"strings"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/device"
)

// Kinds of DeviceRow.
const (
	KindInfer      = "infer"
	KindTrain      = "train"             // one micro-batch a step
	KindAccumulate = "train-accumulated" // several
	KindSelfPlay   = "selfplay"
)

// DeviceRow is one figure of a device. The JSON names are an interface: scripts read
// them.
type DeviceRow struct {
	Kind            string  `json:"kind"`
	Device          string  `json:"device"`
	Net             string  `json:"net"`
	Precision       string  `json:"precision"`
	Batch           int     `json:"batch"`                   // positions of an evaluation, rows of a micro-batch; of self-play all games
	Accumulate      int     `json:"accumulate,omitempty"`    // micro-batches of a step
	BoardsPerSecond float64 `json:"boards_per_s"`            // evaluations, rows trained on; of self-play new evaluations
	TFLOPS          float64 `json:"tflops"`                  // nominal; a row trained on counts three forward passes
	ShareOfPeak     float64 `json:"share_of_peak,omitempty"` // where the device's peak is known
	Busy            float64 `json:"device_busy"`             // share of the time in which the device worked
	Latency         float64 `json:"latency_ms,omitempty"`    // of one batch alone, from call to answer
	MemoryMiB       float64 `json:"memory_mib,omitempty"`    // of the device, by the trainer

	PositionsPerSecond float64 `json:"positions_per_s,omitempty"` // moves of self-play
	Simulations        int     `json:"simulations,omitempty"`
	Workers            int     `json:"workers,omitempty"`
	OfInference        float64 `json:"of_inference,omitempty"` // new evaluations of self-play by those of the fastest batch here
	HostCores          float64 `json:"host_cores,omitempty"`   // processor time by time
}

// What stands above and below the lines of DeviceRow.Write.
const (
	DeviceHeader  = "                       net          precision  batch    boards/s   TFLOP/s* of peak*  busy   more"
	NominalDevice = `Operations are nominal (a training step counts three forward passes); the peak is the vendor's
dense rate with fp32 sums. A call is its latency alone; self-play shares one evaluator`
)

// Write prints one figure for a person.
func (r *DeviceRow) Write(w io.Writer) error {
	what, more := r.Kind, ""
	switch r.Kind {
	case KindInfer:
		what, more = "inference", fmt.Sprintf("%.3f ms a call", r.Latency)
	case KindTrain, KindAccumulate:
		what, more = "training step", fmt.Sprintf("%.0f MiB", r.MemoryMiB)
		if r.Accumulate > 1 {
			what = fmt.Sprintf("training step of %d", r.Accumulate)
		}
	case KindSelfPlay:
		what = "self-play"
		more = fmt.Sprintf("%.0f positions/s at %d simulations, %.0f %% of inference, %.1f host cores", r.PositionsPerSecond, r.Simulations, 100*r.OfInference, r.HostCores)
	}
	peak := "-"
	if r.ShareOfPeak > 0 {
		peak = fmt.Sprintf("%.1f%%", 100*r.ShareOfPeak)
	}
	_, err := fmt.Fprintf(w, "%-22s %-12s %-9s %6d %11.0f %10.2f %8s %4.0f%%   %s\n", what, r.Net, r.Precision, r.Batch, r.BoardsPerSecond, r.TFLOPS, peak, 100*r.Busy, more)
	return err
}

// Write prints one comparison for a person.
func (r *CheckRow) Write(w io.Writer) error {
	verdict := "ok"
	if !r.OK {
		verdict = "FAILED"
	}
	_, err := fmt.Fprintf(w, "%-6s %-24s %-5s batch %5d  %-54s %9.2g, limit %.2g\n", verdict, r.Net, r.Precision, r.Batch, r.What, r.Error, r.Limit)
	return err
}

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
