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
	if a.Sparse() {
		return a.sparseName()
	}
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
// of String's suffixes; or a sparse net "sparse256" (accumulators). Errors wrap ErrArch.
func ParseArch(s string) (Arch, error) {
	parts := strings.Split(s, suffixSeparator)
	if rest, ok := strings.CutPrefix(parts[0], BodySparse); ok {
		return parseSparse(s, rest, parts[1:])
	}
	filters, blocks, ok := parseSize(parts[0])
	if !ok {
		return Arch{}, fmt.Errorf("%w: %q: want filters x blocks like 64x6, a kind like b6c64, or sparse256", ErrArch, s)
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

// sparseName is a sparse net's String: "sparse256", "sparse256-v16-p128-noml" for other
// value and policy units than the usual.
func (a Arch) sparseName() string {
	usual := SparseArch(a.Accumulators)
	name := BodySparse + strconv.Itoa(a.Accumulators)
	if a.ValueHidden != usual.ValueHidden {
		name += suffixSeparator + "v" + strconv.Itoa(a.ValueHidden)
	}
	if a.PolicyUnits != usual.PolicyUnits {
		name += suffixSeparator + "p" + strconv.Itoa(a.PolicyUnits)
	}
	if !a.MovesLeft {
		name += suffixSeparator + suffixNoML
	}
	return name
}

// parseSparse reads what sparseName wrote: s, accumulators and suffixes.
func parseSparse(s, accumulators string, suffixes []string) (Arch, error) {
	n, ok := parseCount(accumulators)
	a := SparseArch(n)
	for _, p := range suffixes {
		units, good := 0, false
		if p == suffixNoML {
			a.MovesLeft, good = false, true
		} else if rest, found := strings.CutPrefix(p, "v"); found {
			units, good = parseCount(rest)
			a.ValueHidden = units
		} else if rest, found := strings.CutPrefix(p, "p"); found {
			units, good = parseCount(rest)
			a.PolicyUnits = units
		}
		ok = ok && good
	}
	if !ok {
		return Arch{}, fmt.Errorf("%w: %q: want accumulators like sparse256, with -v<value units>, -p<policy units> or -noml", ErrArch, s)
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
