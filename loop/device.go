package loop

import (
	"strings"

	"github.com/chessbrain/chessbrain/config"
)

// deviceCPU is the one device of this build.
const deviceCPU = "cpu"

// CheckDevices resolves the configured devices. This build computes on the CPU:
// auto means cpu, and another device is refused with what to do.
func CheckDevices(e *config.Effective) error {
	c := e.Config
	for _, d := range []struct{ field, name string }{
		{"training.device", c.GetTraining().GetDevice()},
		{"selfplay.producer_device", c.GetSelfplay().GetProducerDevice()},
	} {
		switch {
		case d.name == "auto" || d.name == deviceCPU:
		case d.name == "mps":
			return e.Errorf(d.field, "use cpu", "no Metal backend")
		case d.name == "cuda" || strings.HasPrefix(d.name, "cuda:"):
			return e.Errorf(d.field, "use cpu", "this build has no CUDA backend")
		default:
			return e.Errorf(d.field, "use auto or cpu", "unknown device %q", d.name)
		}
	}
	return nil
}
