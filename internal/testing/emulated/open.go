package emulated

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/checked"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// SeedVariable names the environment variable that fixes the seed of Open.
const SeedVariable = "CHESSBRAIN_EMULATOR_SEED"

// RacesVariable names the environment variable that sets Options.Races of all devices
// that tests open, where it is not empty.
const RacesVariable = "CHESSBRAIN_EMULATOR_RACES"

// PTXVariable names the environment variable that sets Options.PTX likewise.
const PTXVariable = "CHESSBRAIN_EMULATOR_PTX"

// GPUVariable names the environment variable with the number of a GPU that tests run on in
// the place of an emulated device, in a build with the tag chessbrain_cuda.
const GPUVariable = "CHESSBRAIN_TEST_GPU"

// Options of a device; the zero value is an idle H100 with a fresh seed.
type Options struct {
	Seed     uint64   // of all orders; 0: SeedVariable, else a fresh one
	Shuffled bool     // streams run late and in any allowed order, instead of at once
	Races    bool     // threads that access memory in no order are errors; 1.2 to 3 times as slow
	Profile  *Profile // where accesses to memory are counted; null: not counted. Races are not looked for then
	PTX      bool     // modules are the PTX that a GPU is given, not the .cu files; not with Profile
	Major    int      // compute capability; 0: 9.0
	Minor    int
	Bytes    uint64 // of device memory; 0: 8 GiB
}

// Open returns a device for the rest of the test, behind checked.Device. The test fails
// if the device was used wrongly or something is left on it at the end. It skips the test where there is no C++ compiler.
func Open(tb testing.TB) driver.Device { return OpenWith(tb, Options{}) }

// OpenWith is Open with options.
func OpenWith(tb testing.TB, o Options) driver.Device {
	tb.Helper()
	if number := os.Getenv(GPUVariable); number != "" {
		return openGPU(tb, o, number)
	}
	if err := supported(); err != nil {
		tb.Skipf("SKIPPED, kernels are not tested: %v", err)
	}
	if o.Seed == 0 {
		o.Seed = seed()
	}
	o.Races = o.Races || os.Getenv(RacesVariable) != ""
	if o.Profile != nil {
		if err := profileSupported(); err != nil {
			tb.Skipf("SKIPPED, accesses to memory are not counted: %v", err)
		}
	}
	if o.Races {
		if err := checkedSupported(); err != nil {
			tb.Logf("SKIPPED, races are not looked for: %v", err)
			o.Races = false
		}
	}
	tb.Logf("emulated device: %s=%d repeats its orders", SeedVariable, o.Seed)
	d := newDevice(o, func(err error) { tb.Errorf("emulated device: %v", err) })
	var c driver.Device = d
	if o.PTX = o.PTX || os.Getenv(PTXVariable) != "" && o.Profile == nil; o.PTX {
		c = shipped{d}
	}
	c = checked.Device(c)
	tb.Cleanup(func() {
		if err := d.shut(c); err != nil {
			tb.Errorf("emulated device: %v", err)
		}
	})
	return c
}

// RacesFound says why Options.Races finds none here, or returns nil.
func RacesFound() error { return checkedSupported() }

// Only skips a test of what no GPU does where tests run on one.
func Only(tb testing.TB) {
	tb.Helper()
	if os.Getenv(GPUVariable) != "" {
		tb.Skip("SKIPPED on a GPU: this is of the emulator")
	}
}

// openGPU is OpenWith on a GPU, of which o can ask for nothing but orders.
func openGPU(tb testing.TB, o Options, number string) driver.Device {
	tb.Helper()
	if o.Profile != nil || o.PTX || o.Major != 0 || o.Bytes != 0 {
		Only(tb)
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		tb.Fatalf("%s=%q is not a number", GPUVariable, number)
	}
	d, err := driver.Open(n)
	if err != nil {
		tb.Fatal(err)
	}
	c := &onGPU{Device: checked.Device(d)}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("GPU %d: %v", n, err)
		}
	})
	return c
}

// onGPU is closed once, by the test or at its end.
type onGPU struct {
	driver.Device
	closed bool
}

// Close implements driver.Device.
func (g *onGPU) Close() error {
	if g.closed {
		return nil
	}
	g.closed = true
	return g.Device.Close()
}

// shipped hides a device's Sources: kernels come as PTX.
type shipped struct{ driver.Device }

// seed returns that of the environment, else a fresh one.
func seed() uint64 {
	if s := os.Getenv(SeedVariable); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			panic(fmt.Sprintf("%s=%q is not a number", SeedVariable, s))
		}
		return n
	}
	return rand.Uint64()>>32 | 1
}

// info describes the pretended device.
func (o Options) info() driver.Info {
	i := driver.Info{
		Name: "emulated", Major: 9, SMs: 132, SharedPerSM: 228 << 10, SharedPerCTA: 227 << 10,
		TotalBytes: 8 << 30, ClockKHz: 1_980_000, DriverVersion: 12020,
	}
	if o.Major != 0 {
		i.Major, i.Minor = o.Major, o.Minor
	}
	switch { // CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"
	case i.Major >= 9 || i.Major == 8 && i.Minor == 0:
		if i.Major == 8 {
			i.SMs, i.SharedPerSM, i.SharedPerCTA = 108, 164<<10, 163<<10
		}
	case i.Major == 8:
		i.SMs, i.SharedPerSM, i.SharedPerCTA = 84, 100<<10, 99<<10
	case i.Major == 7 && i.Minor == 0:
		i.SMs, i.SharedPerSM, i.SharedPerCTA = 80, 96<<10, 96<<10
	case i.Major == 7:
		i.SMs, i.SharedPerSM, i.SharedPerCTA = 68, 64<<10, 64<<10
	default:
		i.SMs, i.SharedPerSM, i.SharedPerCTA = 28, 96<<10, 48<<10
	}
	if o.Bytes != 0 {
		i.TotalBytes = o.Bytes
	}
	return i
}
