package monitor

import (
	"testing"
	"time"
)

// BenchmarkPublishStep is what one step event costs the trainer with
// metrics.jsonl, TensorBoard and Prometheus attached.
func BenchmarkPublishStep(b *testing.B) {
	f, _, err := OpenFiles(FilesOptions{Dir: b.TempDir(), TensorBoard: true}, FilesState{})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	bus := NewBus(BusOptions{Job: "job", Now: time.Now})
	bus.Attach(f)
	bus.Attach(NewProm("job"))
	losses := Numbers{"policy_loss": 3.25, "value_loss": 1.05, "moves_left_loss": 0.5, "l2_loss": 12}
	for b.Loop() {
		bus.Publish(&Step{Step: 1, Losses: losses, LR: 0.02, GradNorm: 1.5})
	}
	if err := bus.Err(); err != nil {
		b.Fatal(err)
	}
}
