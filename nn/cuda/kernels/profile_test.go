package kernels

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/emulated"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// profileVariable prints the profile's tables where it is not empty.
const profileVariable = "CHESSBRAIN_EMULATOR_PROFILE"

// profiler makes launches whose accesses are counted. Their data are zeros.
type profiler struct {
	t *testing.T
	d driver.Device
	k *Set
	s driver.Stream
}

// zeros returns device memory.
func (q *profiler) zeros(bytes int) driver.Ptr {
	p := alloc(q.t, q.d, bytes)
	must(q.t, q.s.Memset(p, 0, bytes))
	return p
}

// plane returns activations; floats other numbers.
func (q *profiler) plane(boards, channels int) driver.Ptr { return q.zeros(boards * 64 * channels * 2) }
func (q *profiler) floats(n int) driver.Ptr               { return q.zeros(4 * n) }

// moves returns 35 legal moves of each board, in order: start, legal.
func (q *profiler) moves(boards int) (start, legal driver.Ptr) {
	const each = 35
	starts, indices := make([]int32, boards+1), make([]uint16, boards*each)
	for b := range boards {
		starts[b+1] = int32(each * (b + 1))
		for i := range each {
			indices[b*each+i] = uint16((b*7 + i*53) % encoding.NumPolicy)
		}
	}
	return uploadOf(q.t, q.d, q.s, starts), uploadOf(q.t, q.d, q.s, indices)
}

// TestProfile holds the wavefronts of shared memory and the sectors of global memory
// that the kernels take, beyond the least that would do, against what is known of each.
func TestProfile(t *testing.T) {
	for _, c := range profileCases() {
		t.Run(c.name, func(t *testing.T) {
			p := new(emulated.Profile)
			d, k, s := openWith(t, emulated.Options{Profile: p})
			run(t, k, s, c.launch(&profiler{t, d, k, s}))
			accesses := p.Accesses()
			var shared, global emulated.Access
			for _, a := range accesses {
				sum := &global
				if a.Shared() {
					sum = &shared
				}
				sum.Taken += a.Taken
				sum.Least += a.Least
			}
			if os.Getenv(profileVariable) != "" {
				t.Logf("shared memory: %d wavefronts of %d, global: %d sectors of %d\n%s", shared.Taken, shared.Least, global.Taken, global.Least, emulated.Table(accesses))
			}
			if got := shared.Taken - shared.Least; got != c.shared {
				t.Errorf("%d wavefronts more than the least, %d; %d are known\n%s", got, shared.Least, c.shared, emulated.Table(accesses))
			}
			if got := global.Taken - global.Least; got != c.global {
				t.Errorf("%d sectors more than the least, %d; %d are known\n%s", got, global.Least, c.global, emulated.Table(accesses))
			}
			compareSizes(t, accesses, c.others)
		})
	}
}

// compareSizes expects no access in a kernel's PTX of another size than was counted, but for
// others.
func compareSizes(t *testing.T, accesses []emulated.Access, others []ptxAccess) {
	t.Helper()
	kernel := accesses[0].Kernel
	counted := map[ptxAccess]bool{}
	for _, a := range accesses {
		counted[ptxAccess{a.What, a.Size}] = true
	}
	for a := range ptxAccesses(t, kernel) {
		if !counted[a] && !slices.Contains(others, a) {
			t.Errorf("nvcc makes a %s of %d bytes in %s, where the emulator has others: %v", a.what, a.size, kernel, counted)
		}
	}
}

// ptxAccess is a load or store by kind and bytes.
type ptxAccess struct {
	what string
	size int
}

var ptxAccessPattern = regexp.MustCompile(`(?m)^\s*(?:@!?%p\d+\s+)?(ld|st)(?:\.volatile)?(?:\.(shared|global))?(?:\.nc)?(?:\.v([24]))?\.[bfsu](8|16|32|64)\b`)

// ptxAccesses returns the loads and stores of a kernel in the embedded PTX.
func ptxAccesses(t *testing.T, kernel string) map[ptxAccess]bool {
	t.Helper()
	entries, err := index()
	must(t, err)
	text, err := ptx(entries[kernel])
	must(t, err)
	_, body, _ := strings.Cut(string(text), ".entry "+kernel+"(")
	body, _, _ = strings.Cut(body, ".entry ")
	all := map[ptxAccess]bool{}
	for _, m := range ptxAccessPattern.FindAllStringSubmatch(body, -1) {
		what := map[string]string{"ld": emulated.GlobalRead, "st": emulated.GlobalWrite, "ldshared": emulated.SharedRead, "stshared": emulated.SharedWrite}[m[1]+strings.TrimPrefix(m[2], "global")]
		bits, err := strconv.Atoi(m[4])
		must(t, err)
		if m[3] != "" {
			bits *= int(m[3][0] - '0')
		}
		all[ptxAccess{what, bits / 8}] = true
	}
	if len(all) == 0 {
		t.Fatalf("no load or store of kernel %s in the embedded PTX", kernel)
	}
	return all
}
