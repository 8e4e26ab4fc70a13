package nn

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/encoding"
)

// Suffixes of an architecture's name, besides those of heads.
const (
	suffixSE        = "se"
	suffixNoSE      = "plain"
	suffixNoML      = "noml"
	suffixAuxiliary = "aux"
	suffixDense     = "dense"
	suffixSmolgen   = "smolgen"
	suffixInput     = "input"
	suffixFeatures  = "features"
	suffixSeparator = "-"
)

// String returns filters x blocks and what differs from the default, for
// instance "32x4-se", "64x6-plain", "64x6-se8-mish-scalar-noml", a sparse net's
// accumulators and units, "sparse128-v16-p128-noml", or an attention net's width, encoders
// and heads, "256x10x8h-smolgen-mish". "input3" names another input format. Sizes inside
// encoders are not in it, nor are those of heads but a sparse net's. A further head has its
// name there, "q", and its kind and sizes have not.
func (a Arch) String() string {
	if len(a.Blocks) == 0 || blockKinds[a.Blocks[0].Kind] == nil || blockKinds[a.Blocks[0].Kind].name == nil {
		return fmt.Sprintf("net of %d blocks", len(a.Blocks))
	}
	parts := blockKinds[a.Blocks[0].Kind].name(a.Blocks)
	if a.Activation != ReLU {
		parts = append(parts, a.Activation)
	}
	if f := a.InputFormat(); f != encoding.FormatClassical {
		parts = append(parts, suffixInput+strconv.Itoa(int(f)))
	}
	for _, h := range a.Heads {
		if h.Name != "" {
			continue
		}
		if h.Form == ValueScalar {
			parts = append(parts, h.Form)
		}
		if k := headKinds[h.Kind]; k == nil || h.Kind != a.usualKind(h.Output, k) {
			parts = append(parts, h.Kind)
		}
	}
	for _, h := range slices.Backward(a.Heads) {
		for _, s := range suffixed(h) {
			if v := *s.of(&h); v != s.usual {
				parts = append(parts, s.suffix+strconv.Itoa(v))
			}
		}
	}
	if a.Head(MovesLeft) == nil {
		parts = append(parts, suffixNoML)
	}
	for _, h := range a.Heads {
		if h.Name != "" {
			parts = append(parts, h.Name)
		}
	}
	if a.Head(Auxiliary) != nil {
		parts = append(parts, suffixAuxiliary)
	}
	return strings.Join(parts, suffixSeparator)
}

// sparseName is the beginning of a sparse net's name.
func sparseName(blocks []Block) []string {
	b := blocks[0]
	parts := []string{BlockSparse + strconv.Itoa(b.Width)}
	if f := encoding.SparseFeatures(b.Features); f != encoding.SparseAttackers {
		parts = append(parts, suffixFeatures+strconv.Itoa(b.Features))
	}
	return parts
}

// towerName is the beginning of a tower's name.
func towerName(blocks []Block) []string {
	se := suffixSE
	switch ratio := blocks[len(blocks)-1].SERatio; ratio {
	case 0:
		se = suffixNoSE
	case usualSERatio:
	default:
		se += strconv.Itoa(ratio)
	}
	return []string{fmt.Sprintf("%dx%d", blocks[0].Width, len(blocks)-1), se}
}

// usualKind returns the kind of head that needs no word in the net's name, of those that
// take the place of one of kind k.
func (a Arch) usualKind(output string, k *headKind) string {
	if output == Policy && a.Attention() {
		return PolicyAttention
	}
	for kind, other := range headKinds {
		if other.usual && other.takes == k.takes && slices.Contains(other.outputs, output) {
			return kind
		}
	}
	return ""
}

// suffixed lists the sizes of a head that stand in the net's name.
func suffixed(h Head) (list []size[Head]) {
	if k := headKinds[h.Kind]; k != nil && h.Output != Auxiliary && h.Name == "" {
		list = slices.DeleteFunc(slices.Clone(k.sizes), func(s size[Head]) bool { return s.suffix == "" })
	}
	return list
}

// ParseArch returns the architecture of a name: "64x6" (filters x blocks) or a
// kind "b6c64" (blocks, filters), with SE and the default heads, or a sparse net
// "sparse256" (accumulators), followed by any of String's suffixes. Errors wrap ErrArch.
func ParseArch(s string) (Arch, error) {
	parts := strings.Split(s, suffixSeparator)
	var a Arch
	if rest, ok := strings.CutPrefix(parts[0], BlockSparse); ok {
		if n, ok := parseCount(rest); ok {
			a = SparseArch(n)
		}
	} else if filters, blocks, heads, ok := parseSize(parts[0]); ok {
		if blocks > maxBlocks {
			return Arch{}, fmt.Errorf("%w: %q: blocks is %d, want 1 to %d", ErrArch, s, blocks, maxBlocks)
		}
		if a = Tower(filters, blocks); heads > 0 {
			a = AttentionArch(filters, blocks, heads)
		}
	}
	if a.Blocks == nil {
		return Arch{}, fmt.Errorf("%w: %q: want filters x blocks like 64x6, a kind like b6c64, sparse256, or width x encoders x heads like 256x10x8h", ErrArch, s)
	}
	slices.SortStableFunc(parts[1:], func(x, y string) int { // further heads last: they are like the main ones
		return strings.Compare(outputOf(x), outputOf(y))
	})
	for _, p := range parts[1:] {
		if !a.applySuffix(p) {
			return Arch{}, fmt.Errorf("%w: %q: unknown suffix %q (want %s)", ErrArch, s, p, suffixes())
		}
	}
	if err := a.Validate(); err != nil {
		return Arch{}, fmt.Errorf("%q: %w", s, err)
	}
	return a, nil
}

// suffixes says which there are.
func suffixes() string {
	words := []string{suffixSE, suffixSE + "<ratio>", suffixNoSE, Mish, ValueScalar, suffixInput + "<format>"}
	for _, kind := range slices.Sorted(maps.Keys(headKinds)) {
		if !headKinds[kind].usual {
			words = append(words, kind)
		}
	}
	words = slices.Concat(words, HeadNames(Policy), HeadNames(Value))
	return strings.Join(words, ", ") + ", " + suffixAuxiliary + " or " + suffixNoML + ", of a sparse net v<value units>, p<policy units>, " + suffixFeatures + "0 or " + suffixNoML +
		", of an attention net " + suffixDense + " or " + suffixSmolgen
}

// parseSize reads "64x6" or "b6c64", or "256x10x8h"; heads is 0 without.
func parseSize(s string) (filters, blocks, heads int, ok bool) {
	if size, isAttention := strings.CutSuffix(s, "h"); isAttention {
		last := max(0, strings.LastIndex(size, "x"))
		if heads, ok = parseCount(strings.TrimPrefix(size[last:], "x")); !ok || heads == 0 {
			return 0, 0, 0, false
		}
		s = size[:last]
	}
	first, second, found := strings.Cut(s, "x")
	if rest, isKind := strings.CutPrefix(s, "b"); isKind {
		second, first, found = strings.Cut(rest, "c")
	}
	filters, ok1 := parseCount(first)
	blocks, ok2 := parseCount(second)
	return filters, blocks, heads, found && ok1 && ok2
}

// parseCount reads a plain decimal number: no sign, no leading zero.
func parseCount(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil && s[0] != '0'
}

// applySuffix changes a as a suffix says; false: there is none of that name. Whether it
// suits the net is Validate's to say.
func (a *Arch) applySuffix(p string) bool {
	switch p {
	case suffixSE:
		return a.setSE(usualSERatio)
	case suffixNoSE:
		return a.setSE(0)
	case Mish:
		a.Activation = Mish
		return true
	case ValueScalar:
		a.Head(Value).Form = ValueScalar
		return true
	case suffixNoML:
		a.Heads = slices.DeleteFunc(a.Heads, func(h Head) bool { return h.Output == MovesLeft })
		return true
	case suffixAuxiliary:
		*a = a.WithAuxiliary()
		return true
	case suffixDense, suffixSmolgen:
		return a.extend(p)
	}
	if ratio, ok := parseCount(strings.TrimPrefix(p, suffixSE)); ok && strings.HasPrefix(p, suffixSE) {
		return a.setSE(ratio)
	}
	if f, ok := parseCount(strings.TrimPrefix(p, suffixInput)); ok && strings.HasPrefix(p, suffixInput) {
		a.Blocks[0].InputFormat = f
		return true
	}
	if f, found := strings.CutPrefix(p, suffixFeatures); found && a.Sparse() {
		n, err := strconv.ParseUint(f, 10, 8)
		a.Blocks[0].Features = int(n)
		return err == nil
	}
	if output := outputOf(p); output != "" {
		*a = a.WithHead(output, p)
		return !a.Sparse()
	}
	kind := headKinds[p]
	for i := range a.Heads {
		h := &a.Heads[i]
		if kind != nil && slices.Contains(kind.outputs, h.Output) && (!kind.usual || p != a.usualKind(h.Output, kind)) {
			if h.Kind = p; h.Output == Policy { // the sizes of the other kind are not this one's
				*h = Head{Output: Policy, Kind: p}
			}
			if h.Attends() {
				h.Channels, h.Hidden = a.Width(), a.Width()
			}
			if p == PolicyEncoded {
				h.Encoders, h.EncoderHidden, h.Heads, h.HeadWidth = 1, 2*a.Width(), usualPolicyHeads, max(1, a.Width()/usualPolicyHeads)
			}
			return true
		}
		for _, s := range suffixed(*h) {
			if n, ok := parseCount(strings.TrimPrefix(p, s.suffix)); ok && strings.HasPrefix(p, s.suffix) {
				*s.of(h) = n
				return true
			}
		}
	}
	return false
}

// setSE gives all residual blocks a ratio; false: there are none.
func (a *Arch) setSE(ratio int) bool {
	for i := range a.Blocks[1:] {
		a.Blocks[1+i].SERatio = ratio
	}
	return len(a.Blocks) > 1
}
