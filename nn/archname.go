package nn

import (
	"fmt"
	"strconv"
	"strings"
)

// Suffixes of an architecture's name.
const (
	suffixSE        = "se"
	suffixNoSE      = "plain"
	suffixNoML      = "noml"
	defaultSERatio  = 4
	suffixSeparator = "-"
)

// String returns filters x blocks and what differs from the default, for
// instance "32x4-se", "64x6-plain", "64x6-se8-mish-scalar-noml". Sizes of the
// value and moves-left heads are not in it.
func (a Arch) String() string {
	parts := []string{fmt.Sprintf("%dx%d", a.Filters, a.Blocks)}
	switch a.SERatio {
	case 0:
		parts = append(parts, suffixNoSE)
	case defaultSERatio:
		parts = append(parts, suffixSE)
	default:
		parts = append(parts, suffixSE+strconv.Itoa(a.SERatio))
	}
	for _, choice := range [][2]string{{a.Activation, ReLU}, {a.PolicyHead, PolicyConvolutional}, {a.ValueHead, ValueWDL}} {
		if choice[0] != choice[1] {
			parts = append(parts, choice[0])
		}
	}
	if !a.MovesLeft {
		parts = append(parts, suffixNoML)
	}
	return strings.Join(parts, suffixSeparator)
}

// ParseArch returns the architecture of a name: "64x6" (filters x blocks) or a
// kind "b6c64" (blocks, filters), with SE and the default heads, followed by any
// of String's suffixes. Errors wrap ErrArch.
func ParseArch(s string) (Arch, error) {
	parts := strings.Split(s, suffixSeparator)
	filters, blocks, ok := parseSize(parts[0])
	if !ok {
		return Arch{}, fmt.Errorf("%w: %q: want filters x blocks like 64x6, or a kind like b6c64", ErrArch, s)
	}
	a := towerArch(filters, blocks)
	for _, p := range parts[1:] {
		if !a.applySuffix(p) {
			return Arch{}, fmt.Errorf("%w: %q: unknown suffix %q (want se, se<ratio>, plain, mish, classical, scalar or noml)", ErrArch, s, p)
		}
	}
	if err := a.Validate(); err != nil {
		return Arch{}, fmt.Errorf("%q: %w", s, err)
	}
	return a, nil
}

// parseSize reads "64x6" or "b6c64".
func parseSize(s string) (filters, blocks int, ok bool) {
	first, second, found := strings.Cut(s, "x")
	if rest, isKind := strings.CutPrefix(s, "b"); isKind {
		second, first, found = strings.Cut(rest, "c")
	}
	filters, ok1 := parseCount(first)
	blocks, ok2 := parseCount(second)
	return filters, blocks, found && ok1 && ok2
}

// parseCount reads a plain decimal number: no sign, no leading zero.
func parseCount(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil && s[0] != '0'
}

func (a *Arch) applySuffix(p string) bool {
	switch p {
	case suffixSE:
		a.SERatio = defaultSERatio
	case suffixNoSE:
		a.SERatio = 0
	case Mish:
		a.Activation = Mish
	case PolicyClassical:
		a.PolicyHead = PolicyClassical
	case ValueScalar:
		a.ValueHead = ValueScalar
	case suffixNoML:
		a.MovesLeft, a.MLChannels, a.MLHidden = false, 0, 0
	default:
		ratio, ok := parseCount(strings.TrimPrefix(p, suffixSE))
		if !ok || !strings.HasPrefix(p, suffixSE) {
			return false
		}
		a.SERatio = ratio
	}
	return true
}
