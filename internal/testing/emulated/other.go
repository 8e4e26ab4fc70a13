//go:build !linux && !darwin

package emulated

import (
	"errors"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// supported says why kernels cannot be run here.
func supported() error { return errors.New("the emulator runs on Linux and macOS only") }

// checkedSupported says why kernels that report their accesses cannot be built here.
func checkedSupported() error { return supported() }

func profileSupported() error { return supported() }

type device struct{ driver.Device }

func newDevice(Options, func(error)) *device { return nil }

func (d *device) shut(driver.Device) error { return nil }
