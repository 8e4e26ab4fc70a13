package main

import "fmt"

// genGemm emits the row-by-panel products. A tile of mr rows and np panels is
// y[r] = max(floor, bias + sum over segments and k of x[r][k] * w[k]); every
// accumulator adds in the same (segment, k) order whatever mr and np are, so a
// row is bit-identical in every tile shape.
func genGemm(o *output) {
	gemm(o, 8, 1)
	gemm(o, 4, 1)
	gemm(o, 1, 4)
	gemm(o, 1, 1)
}

// tile is the register plan of a product kernel. Full tiles of 8 rows go over
// the panel in two passes of 8 columns: 16 accumulators (four pipes with a
// latency of four are full), 8 quads of x (four k of each row, multiplied by
// element) and 8 quads of w make the 32 vector registers, and 64 multiply-adds
// need 12 load instructions. Lower tiles go over all columns in one pass.
type tile struct {
	*fn
	mr, np  int
	quads   int     // quads of columns of a pass
	acc     [][]vec // [mr][quads]
	x       []vec   // [mr] four k of a row
	w       []vec   // ring of weight quads
	next    int     // place in the ring
	rows    []gp    // [mr] pointers into the rows of x
	panels  []gp    // [np] pointers into the panels of w
	xTile   gp      // first row of the tile
	y       gp      // first result of the tile
	tmp, yp gp
}

func gemm(o *output, mr, np int) {
	name := fmt.Sprintf("gemm%dx%d", mr, np*16)
	doc := fmt.Sprintf("computes tiles of %d rows by %d columns.", mr, np*16)
	o.kernel(name, "gemmArgs", doc, func(f *fn) {
		t := &tile{fn: f, mr: mr, np: np, quads: np * panelQuads}
		if mr > 4 {
			t.quads = 2
		}
		t.acc, t.x, t.w = f.grid(mr, t.quads), f.vecs(mr), f.vecs(8)
		t.rows, t.panels = f.gps(mr), f.gps(np)
		t.xTile, t.y, t.tmp, t.yp = f.field("x"), f.field("y"), f.gp(), f.gp()
		tiles := f.field("tiles")
		f.loop("tile", tiles, func() {
			for pass := range np * panelQuads / t.quads {
				t.sum(pass)
				t.finish(pass)
			}
			f.into(t.tmp, "xTile")
			f.add(t.xTile, t.xTile, t.tmp)
			f.into(t.tmp, "yTile")
			f.add(t.y, t.y, t.tmp)
		})
	})
}

// sum emits the products of one pass over the columns.
func (t *tile) sum(pass int) {
	f := t.fn
	for _, row := range t.acc {
		f.zero(row...)
	}
	seg, k, xs, stride := f.gp(), f.gp(), f.gp(), f.gp()
	f.into(t.panels[0], "w")
	f.into(stride, "wPanel")
	if pass > 0 {
		f.advance(pass*t.quads*quadBytes, t.panels[0])
	}
	for p := 1; p < t.np; p++ {
		f.add(t.panels[p], t.panels[p-1], stride)
	}
	f.into(seg, "segs")
	f.move(xs, t.xTile)
	f.into(stride, "xRow")
	f.loop(fmt.Sprintf("segment%d", pass), seg, func() {
		f.move(t.rows[0], xs)
		for i := 1; i < t.mr; i++ {
			f.add(t.rows[i], t.rows[i-1], stride)
		}
		f.into(k, "kseg")
		f.chunked(fmt.Sprintf("k%d", pass), k, 4, t.four, t.one)
		f.into(t.tmp, "xSeg")
		f.add(xs, xs, t.tmp)
	})
	f.numGP -= 4 // free seg, k, xs, stride
}

// four emits four steps of k.
func (t *tile) four() {
	for i, r := range t.rows {
		t.ins("FMOVQ.P 16(%v), F%d", r, t.x[i])
	}
	for lane := range 4 {
		t.step(lane)
	}
	t.advance(4*panelBytes, t.panels...)
}

// one emits one step of k.
func (t *tile) one() {
	for i, r := range t.rows {
		t.ins("FMOVS.P 4(%v), F%d", r, t.x[i])
	}
	t.step(0)
	t.advance(panelBytes, t.panels...)
}

// step emits the products of lane k of x with row k of the panels.
func (t *tile) step(k int) {
	for j := 0; j < t.quads; j += 2 {
		w := t.w[t.next : t.next+2]
		t.next = (t.next + 2) % len(t.w)
		t.load(w, t.panels[j/panelQuads], k*panelBytes+j%panelQuads*quadBytes)
		for i := range t.mr {
			for h, v := range w {
				t.lane("fmla", t.acc[i][j+h], v, t.x[i], k)
			}
		}
	}
}

// finish emits bias, floor and the stores of one pass.
func (t *tile) finish(pass int) {
	f, disp := t.fn, pass*t.quads*quadBytes
	done := fmt.Sprintf("nobias%d", pass)
	f.into(t.tmp, "bias")
	f.ins("CBZ %v, %s", t.tmp, done)
	for j := 0; j < t.quads; j += 2 {
		b := t.w[:2]
		f.load(b, t.tmp, disp+j*quadBytes)
		for i := range t.acc {
			f.op("fadd", t.acc[i][j], t.acc[i][j], b[0])
			f.op("fadd", t.acc[i][j+1], t.acc[i][j+1], b[1])
		}
	}
	f.label(done)
	floor := t.w[0]
	f.into(t.tmp, "floor")
	f.ins("VDUP %v, V%d.S4", t.tmp, floor)
	f.into(t.tmp, "yRow")
	f.move(t.yp, t.y)
	for i, row := range t.acc {
		for _, a := range row {
			f.op("fmax", a, a, floor)
		}
		f.store(row, t.yp, disp)
		if i < t.mr-1 {
			f.add(t.yp, t.yp, t.tmp)
		}
	}
}
