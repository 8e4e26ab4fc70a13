//go:build linux || darwin

package emulated

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// device implements driver.Device. Its streams, events and memory share its lock.
type device struct {
	info     driver.Info
	shuffled bool
	races    bool        // find them
	profile  *Profile    // null: none
	complain func(error) // what no call can return

	mu       sync.Mutex
	random   *rand.Rand
	memory   []*region
	pinned   []*region
	used     uint64 // bytes of live device memory
	streams  []*stream
	failed   error // of work; all later calls return it, as a broken context's do
	reported bool  // a call has returned failed
	closed   bool
}

func newDevice(o Options, complain func(error)) *device {
	return &device{info: o.info(), shuffled: o.Shuffled, races: o.Races, profile: o.Profile, complain: complain, random: rand.New(rand.NewPCG(o.Seed, 0))}
}

// Info implements driver.Device.
func (d *device) Info() driver.Info { return d.info }

// usable returns why the device cannot be used any more.
func (d *device) usable(what string) error {
	if d.closed {
		return fmt.Errorf("%s: the device is closed", what)
	}
	if d.failed != nil {
		d.reported = true
		return fmt.Errorf("%s: %w", what, d.failed)
	}
	return nil
}

// report passes an error on, and to the test as well.
func (d *device) report(err error) error {
	if err != nil {
		d.complain(err)
	}
	return err
}

// Close implements driver.Device.
func (d *device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errors.New("close: the device is closed")
	}
	return d.close()
}

// close ends all work and gives the memory back.
func (d *device) close() error {
	d.drain(nil)
	err := d.report(d.checkMemory())
	d.closed = true
	return errors.Join(d.failed, err, d.unmap())
}

// shut ends a test: closes the device through c, the one that the test has, unless
// the test has closed it. After a failure that the test knows, what is left on the
// device does not matter.
func (d *device) shut(c driver.Device) error {
	d.mu.Lock()
	closed, failed, reported := d.closed, d.failed != nil, d.reported
	d.mu.Unlock()
	var err error
	switch {
	case closed:
	case failed && reported:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.closed = true
		return d.unmap()
	default:
		err = c.Close()
	}
	if d.failed != nil && !reported && !errors.Is(err, d.failed) {
		err = errors.Join(d.failed, err)
	}
	return err
}
