package loop

import (
	"reflect"
	"testing"

	"github.com/chessbrain/chessbrain/config"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/trainer"
)

// TestDefaultLossesAgree: the configuration's default losses and the trainer's
// are one list.
func TestDefaultLossesAgree(t *testing.T) {
	arch := nn.DefaultArch()
	got, err := trainerConfig(config.Defaults(), arch)
	if err != nil {
		t.Fatal(err)
	}
	if want := trainer.LossesFor(arch, trainer.DefaultLosses()); !reflect.DeepEqual(got.Losses, want) {
		t.Errorf("configuration %+v\ntrainer %+v", got.Losses, want)
	}
}
