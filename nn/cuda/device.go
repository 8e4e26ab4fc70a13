package cuda

import (
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
	"github.com/chessbrain/chessbrain/nn/device"
)

// Device is a GPU with the kernels of this build. It is safe for use by many
// goroutines; what is made on it must be closed before it.
type Device struct {
	driver  driver.Device
	kernels *kernels.Set
	tuned   tuner
}

// Open takes d over: Close closes it.
func Open(d driver.Device) (*Device, error) {
	k, err := kernels.Load(d)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("load kernels: %w", err), d.Close())
	}
	return &Device{driver: d, kernels: k}, nil
}

// Info describes the device.
func (d *Device) Info() driver.Info { return d.driver.Info() }

// Close gives the device back. The kernels go first: others of the process may hold
// the GPU's context, and so keep what is left in it.
func (d *Device) Close() error { return errors.Join(d.kernels.Close(), d.driver.Close()) }

// tensorCores is the least compute capability that the bf16 and fp16 kernels are
// compiled for.
const tensorCores = 8

// Supports says whether a device computes in p.
func Supports(i driver.Info, p device.Precision) bool {
	return p == device.FP32 || i.Major >= tensorCores
}

// storage is the type that activations have in a precision.
func (d *Device) storage(p device.Precision) (kernels.Type, error) {
	if i := d.Info(); !Supports(i, p) {
		return 0, fmt.Errorf("%s has compute capability %d.%d: bf16 and fp16 need 8.0, use fp32", i.Name, i.Major, i.Minor)
	}
	return [...]kernels.Type{device.FP32: kernels.F32, device.BF16: kernels.BF16, device.FP16: kernels.FP16}[p], nil
}
