package emulated

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// profileLaunch returns what one block of a kernel of testdata/profile.cu did.
func profileLaunch(t *testing.T, kernel string, threads, mode, step int) []Access {
	t.Helper()
	p := new(Profile)
	d := OpenWith(t, Options{Profile: p})
	f, s := kernelOf(t, d, "testdata/profile", kernel)
	global, err := d.Alloc(8192 * 4)
	must(t, err)
	must(t, s.Memset(global, 0, 8192*4))
	args := binary.LittleEndian.AppendUint64(nil, uint64(global))
	args = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(args, uint32(mode)), uint32(step))
	must(t, s.Launch(f, driver.Dim{X: 1, Y: 1, Z: 1}, driver.Dim{X: threads, Y: 1, Z: 1}, 16<<10, args))
	must(t, s.Synchronize())
	must(t, errors.Join(d.Free(global), s.Destroy()))
	return p.Accesses()
}

// The counts of accesses that are documented (CUDA C++ Programming Guide and Best
// Practices Guide) or follow from 32 banks of 4 bytes and sectors of 32 bytes.
func TestProfile(t *testing.T) {
	needChecked(t)
	for _, c := range []struct {
		kernel                       string
		threads, mode, step          int
		what                         string
		size, requests, taken, least int
	}{
		{"profile_shared", 32, 1, 4, SharedRead, 4, 1, 1, 1},     // neighbours
		{"profile_shared", 64, 1, 4, SharedRead, 4, 2, 2, 2},     // two warps
		{"profile_shared", 32, 1, 8, SharedRead, 4, 1, 2, 1},     // every second word: 2-way
		{"profile_shared", 32, 1, 12, SharedRead, 4, 1, 1, 1},    // every third: none
		{"profile_shared", 32, 1, 128, SharedRead, 4, 1, 32, 1},  // one bank
		{"profile_shared", 32, 1, 132, SharedRead, 4, 1, 1, 1},   // padded
		{"profile_shared", 32, 1, 0, SharedRead, 4, 1, 1, 1},     // one word
		{"profile_shared", 32, 2, 2, SharedRead, 2, 1, 1, 1},     // two lanes a word
		{"profile_shared", 32, 2, 64, SharedRead, 2, 1, 16, 1},   // two banks
		{"profile_shared", 32, 3, 8, SharedRead, 8, 1, 2, 2},     // two half warps
		{"profile_shared", 32, 3, 16, SharedRead, 8, 1, 4, 2},    // 16 lanes in half of the banks
		{"profile_shared", 32, 4, 16, SharedRead, 16, 1, 4, 4},   // four quarters
		{"profile_shared", 32, 4, 80, SharedRead, 16, 1, 4, 4},   // an odd number of pieces apart
		{"profile_shared", 32, 4, 64, SharedRead, 16, 1, 16, 4},  // 4-way
		{"profile_shared", 32, 4, 128, SharedRead, 16, 1, 32, 4}, // 8-way
		{"profile_shared", 32, 5, 16, SharedWrite, 16, 1, 4, 4},
		{"profile_shared", 32, 5, 32, SharedWrite, 16, 1, 8, 4},
		{"profile_shared", 32, 6, 128, LoadMatrix, 16, 1, 32, 4}, // rows of 64 elements
		{"profile_shared", 32, 6, 144, LoadMatrix, 16, 1, 4, 4},  // padded by 8
		{"profile_shared", 32, 7, 16, CopyToShared, 16, 1, 4, 4},
		{"profile_shared", 32, 7, 64, CopyToShared, 16, 1, 16, 4},
		{"profile_shared", 32, 7, 64, GlobalRead, 16, 1, 16, 16},
		{"profile_shared", 64, 8, 8, SharedRead, 4, 12, 14, 12}, // of 32 lanes 2 wavefronts, of fewer 1
		{"profile_shared", 32, 9, 4, SharedRead, 4, 3, 3, 3},

		{"profile_global", 32, 1, 1, GlobalRead, 4, 1, 4, 4},
		{"profile_global", 32, 1, 2, GlobalRead, 4, 1, 8, 4},
		{"profile_global", 64, 1, 32, GlobalRead, 4, 2, 64, 8}, // a sector a lane
		{"profile_global", 32, 1, 0, GlobalRead, 4, 1, 1, 1},
		{"profile_global", 32, 2, 1, GlobalRead, 4, 1, 5, 4}, // not aligned to a sector
		{"profile_global", 32, 3, 4, GlobalRead, 16, 1, 16, 16},
		{"profile_global", 32, 3, 8, GlobalRead, 16, 1, 32, 16}, // halves of sectors
		{"profile_global", 32, 4, 1, GlobalRead, 1, 1, 4, 1},
		{"profile_global", 32, 5, 16, GlobalWrite, 4, 1, 32, 4},
		{"profile_global", 32, 6, 4, GlobalRead, 16, 1, 16, 8}, // copies that are not valid read nothing
		{"profile_global", 32, 6, 4, CopyToShared, 16, 1, 4, 4},
	} {
		t.Run(fmt.Sprintf("%s %d step %d, %d threads, %s", c.kernel, c.mode, c.step, c.threads, c.what), func(t *testing.T) {
			got := Access{}
			for _, a := range profileLaunch(t, c.kernel, c.threads, c.mode, c.step) {
				if a.What != c.what {
					continue
				}
				if a.Kernel != c.kernel || !strings.HasPrefix(a.Place, "profile.cu:") || got.Size != 0 && got.Size != a.Size {
					t.Errorf("counted %+v", a)
				}
				got.Size = a.Size
				got.Requests += a.Requests
				got.Taken += a.Taken
				got.Least += a.Least
			}
			if want := (Access{Size: c.size, Requests: c.requests, Taken: c.taken, Least: c.least}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}
