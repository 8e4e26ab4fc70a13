package bench

import (
	"fmt"
	"io"
)

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
