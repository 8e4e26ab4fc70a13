package main

// format is how numbers are stored.
type format int

const (
	floats    format = iota // fp32
	halfRows                // bf16; as words, two channels of a row
	halfTiles               // bf16 [channel][4 tiles of a board], or [output channel][4 input channels]
)

func (s format) suffix() string { return [...]string{"", "Half", "HalfTiles"}[s] }

// bytes returns what n bytes of floats of one row, or of one tile, take.
func (s format) bytes(n int) int { return [...]int{n, n / 2, 2 * n}[s] }

// load reads consecutive quads, floats or an even number of halfRows, as floats.
func (s format) load(f *fn, vs []vec, base gp, disp int) {
	if s == floats {
		f.load(vs, base, disp)
		return
	}
	var odd []vec // each takes what becomes two quads
	for i := 1; i < len(vs); i += 2 {
		odd = append(odd, vs[i])
	}
	f.load(odd, base, disp)
	for i := 0; i < len(vs); i += 2 {
		f.convert("shll", vs[i], vs[i+1])
		f.convert("shll2", vs[i+1], vs[i+1])
	}
}

// add moves p on by so many bytes of floats, in numbers of the format: floats or halfRows.
func (s format) add(f *fn, p, floatBytes gp) {
	if s == floats {
		f.add(p, p, floatBytes)
		return
	}
	f.ins("ADD %v>>1, %v, %v", floatBytes, p, p)
}

// packer stores points, a quad of channels of one tile at a time, in a format. The tiles
// of halfTiles come in order and wait for the last one.
type packer struct {
	*fn
	format format
	pairs  [2][]vec // [6 points] of tiles 0 and 1, and of 2 and 3
}

func newPacker(f *fn, s format) *packer {
	p := &packer{fn: f, format: s}
	if s == halfTiles {
		p.pairs = [2][]vec{f.vecs(6), f.vecs(6)}
	}
	return p
}

// store writes point i of a tile to where the code of to points. It destroys x.
func (p *packer) store(x vec, tile, i int, to func() gp) {
	switch {
	case p.format == floats:
		p.fn.store([]vec{x}, to(), 0)
	case p.format == halfRows:
		p.convert("bfcvtn", x, x)
		p.ins("FMOVD F%d, (%v)", x, to())
	case tile%2 == 0:
		p.convert("bfcvtn", p.pairs[tile/2][i], x)
	default:
		a, b := p.pairs[0][i], p.pairs[1][i]
		p.convert("bfcvtn2", p.pairs[tile/2][i], x)
		if tile == 1 {
			return
		}
		p.zip(1, "H8", x, a, b) // tiles 0 and 2 of each channel
		p.zip(2, "H8", b, a, b) // tiles 1 and 3
		p.zip(1, "H8", a, x, b)
		p.zip(2, "H8", b, x, b)
		p.fn.store([]vec{a, b}, to(), 0)
	}
}
