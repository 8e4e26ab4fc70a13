package emulated

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// kernelOf returns a kernel of a module, and a stream for it.
func kernelOf(t *testing.T, d driver.Device, module, kernel string) (driver.Function, driver.Stream) {
	t.Helper()
	m, err := d.Load(module, nil)
	must(t, err)
	f, err := m.Function(kernel)
	must(t, err)
	s, err := d.NewStream()
	must(t, err)
	return f, s
}

// raceLaunch runs a mode of a kernel of testdata/races.cu and returns what it says.
func raceLaunch(t *testing.T, kernel string, blocks, mode int, races bool) string {
	t.Helper()
	r := &report{TB: t}
	d := OpenWith(r, Options{Races: races})
	defer r.end()
	f, s := kernelOf(t, d, "testdata/races", kernel)
	global, err := d.Alloc(4096 * 4)
	must(t, err)
	copied, err := d.Alloc(4096 * 4)
	must(t, err)
	threads := map[string]int{"race_shared": 256, "race_copy": 64, "race_global": 32}[kernel]
	args := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(global)), uint64(copied))
	args = binary.LittleEndian.AppendUint64(args, uint64(mode))
	must(t, s.Memset(global, 0, 4096*4))
	err = s.Launch(f, driver.Dim{X: blocks, Y: 1, Z: 1}, driver.Dim{X: threads, Y: 1, Z: 1}, 16<<10, args)
	must(t, err)
	if err = s.Synchronize(); err == nil {
		must(t, errors.Join(d.Free(global), d.Free(copied), s.Destroy()))
		return ""
	}
	return err.Error()
}

func needChecked(t *testing.T) {
	t.Helper()
	if err := errors.Join(supported(), checkedSupported()); err != nil {
		t.Skipf("SKIPPED, reported accesses are not tested: %v", err)
	}
}

// Each race is found, whatever the order of threads, and what is ordered is none.
func TestRaces(t *testing.T) {
	needChecked(t)
	const (
		warps, lanes = "no sync_threads lies between", "neither sync_warp nor sync_threads lies between"
		pending      = "it has not waited for that copy"
		blocks       = "nothing orders the blocks of a launch"
	)
	for _, c := range []struct {
		kernel       string
		blocks, mode int
		want         string // empty: no race
	}{
		{"race_shared", 1, 0, warps}, {"race_shared", 2, 1, ""},
		{"race_shared", 1, 2, lanes}, {"race_shared", 1, 3, ""},
		{"race_shared", 1, 4, warps}, {"race_shared", 1, 5, ""},
		{"race_shared", 1, 6, lanes}, {"race_shared", 1, 7, lanes},
		{"race_shared", 1, 8, warps}, {"race_shared", 2, 9, ""},
		{"race_shared", 1, 10, ""}, {"race_shared", 1, 11, lanes},
		{"race_shared", 1, 12, "race"},
		{"race_shared", 1, 13, "lies between"}, {"race_shared", 1, 14, ""},
		{"race_shared", 1, 15, warps}, {"race_shared", 1, 16, ""},
		{"race_shared", 1, 17, lanes}, {"race_shared", 1, 18, ""},
		{"race_shared", 1, 19, lanes}, {"race_shared", 1, 20, ""},
		{"race_shared", 1, 21, "race"},

		{"race_copy", 1, 0, warps}, {"race_copy", 3, 1, ""},
		{"race_copy", 1, 2, pending}, {"race_copy", 1, 3, pending}, {"race_copy", 1, 4, ""},
		{"race_copy", 1, 5, warps}, {"race_copy", 1, 6, ""},
		{"race_copy", 1, 7, pending}, {"race_copy", 1, 8, ""},
		{"race_copy", 1, 9, pending}, {"race_copy", 1, 10, pending},
		{"race_copy", 1, 11, lanes}, {"race_copy", 1, 12, ""},
		{"race_copy", 3, 13, ""},

		{"race_global", 2, 0, blocks}, {"race_global", 1, 0, ""}, {"race_global", 8, 1, ""},
		{"race_global", 2, 2, blocks}, {"race_global", 2, 3, ""}, {"race_global", 4, 4, blocks},
		{"race_global", 4, 5, ""}, {"race_global", 1, 6, lanes},
		{"race_global", 2, 7, blocks},
		{"race_global", 2, 8, blocks}, {"race_global", 2, 9, ""},
	} {
		t.Run(fmt.Sprintf("%s %d, %d blocks", c.kernel, c.mode, c.blocks), func(t *testing.T) {
			got := raceLaunch(t, c.kernel, c.blocks, c.mode, true)
			if c.want == "" && got != "" {
				t.Errorf("a race where there is none: %s", got)
			}
			if c.want != "" && (!strings.Contains(got, c.want) || strings.Count(got, "/races.cu:") != 2) {
				t.Errorf("%q does not say %q with two lines of the source", got, c.want)
			}
		})
	}
}

// The message tells both threads and places.
func TestRaceMessage(t *testing.T) {
	needChecked(t)
	for range 3 {
		got := raceLaunch(t, "race_global", 4, 4, true)
		wants(t, got, "kernel race_global, block (3,0,0): race: thread 5 writes the address", "read it at", " of block (", "byte 0 of an allocation of 16384 bytes", "races.cu:")
	}
	got := raceLaunch(t, "race_copy", 1, 9, true)
	wants(t, got, "of shared memory", "copied to it at", "races.cu:")
	t.Setenv(RacesVariable, "")
	if got := raceLaunch(t, "race_shared", 1, 12, false); got != "" {
		t.Errorf("without Options.Races: %s", got)
	}
}
