package kernel

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// Tier names a set of kernels.
type Tier int

// The tiers; of those that a machine has, the last is the fastest.
const (
	Generic Tier = iota // plain Go, every machine
	NEON                // arm64; bf16 products where it has FEAT_BF16
	AVX2                // amd64 with AVX2 and FMA
	AVX512              // amd64 with AVX-512 F, VL, BW, DQ; bf16 products where it has AVX512_BF16 too
	AMX                 // AVX512 with AMX-BF16: tile products in bf16, all else as AVX512
)

// TierEnv names the environment variable that forces a tier at start.
const TierEnv = "CHESSBRAIN_CPU_TIER"

var tierNames = [...]string{"generic", "neon", "avx2", "avx512", "amx"}

// String returns the name that ParseTier and CHESSBRAIN_CPU_TIER accept.
func (t Tier) String() string {
	if t < 0 || int(t) >= len(tierNames) {
		return fmt.Sprintf("Tier(%d)", int(t))
	}
	return tierNames[t]
}

// ParseTier returns the tier of a name: generic, neon, avx2, avx512 or amx.
func ParseTier(s string) (Tier, error) {
	if i := slices.Index(tierNames[:], s); i >= 0 {
		return Tier(i), nil
	}
	return 0, fmt.Errorf("unknown CPU tier %q: want one of %s", s, strings.Join(tierNames[:], ", "))
}

var (
	active    atomic.Int32
	errForced error
)

// The tier must be fixed before any kernel runs, so it is chosen at package
// initialisation. A bad CHESSBRAIN_CPU_TIER cannot be reported from here: the
// best tier stays and TierError tells.
func init() {
	active.Store(int32(BestTier()))
	if s := os.Getenv(TierEnv); s != "" {
		t, err := ParseTier(s)
		if err == nil {
			err = SetTier(t)
		}
		if err != nil {
			errForced = fmt.Errorf("%s: %w", TierEnv, err)
		}
	}
}

// ActiveTier returns the tier that kernels run in.
func ActiveTier() Tier { return Tier(active.Load()) }

// BestTier returns the fastest tier that this CPU and operating system support.
func BestTier() Tier { return bestTier }

// Tiers returns the tiers that this CPU and operating system support, slowest
// first: Generic and those of its architecture up to BestTier.
func Tiers() []Tier {
	list := []Tier{Generic}
	for t := slowestVector; t <= bestTier; t++ {
		list = append(list, t)
	}
	return list
}

// TierError returns why CHESSBRAIN_CPU_TIER was not honoured, or nil.
func TierError() error { return errForced }

// SetTier forces a tier; it is an error if this machine lacks it. Call it
// before other goroutines use the package: a change between two calls of one
// computation mixes roundings.
func SetTier(t Tier) error {
	if t < Generic || t > AMX {
		return fmt.Errorf("unknown CPU tier %d", int(t))
	}
	if !slices.Contains(Tiers(), t) {
		return fmt.Errorf("CPU tier %s is not available on this machine: the best is %s", t, BestTier())
	}
	active.Store(int32(t))
	return nil
}

// Features lists what the CPU has of what kernels use.
func Features() string {
	have := []string{}
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"AVX2", cpu.X86.HasAVX2}, {"FMA", cpu.X86.HasFMA}, {"AVX-512", cpu.X86.HasAVX512F}, {"AVX512_BF16", cpu.X86.HasAVX512BF16},
		{"AMX_BF16", cpu.X86.HasAMXBF16}, {"NEON", cpu.ARM64.HasASIMD}, {"FEAT_BF16", hasArmBF16},
	} {
		if f.has {
			have = append(have, f.name)
		}
	}
	if len(have) == 0 {
		return "no vector unit known to the kernels"
	}
	return strings.Join(have, " ")
}
