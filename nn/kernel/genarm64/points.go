package main

import "fmt"

// Matrix products of bf16. BFMMLA multiplies two rows of four numbers with two columns of
// four: a row's four are two words, and packed weights are [k/2][16 columns][2 words] for
// k words of a sum. Each element adds word by word in the order of the sum, so that it
// depends neither on the row that shares its register nor on the shape of the tile.

// addFields adds a field to each register; tmp is free.
func addFields(f *fn, rs []gp, fields []string, tmp gp) {
	for i, r := range rs {
		f.into(tmp, fields[i])
		f.add(r, r, tmp)
	}
}

// genPoints emits the products of Winograd's points in bf16.
func genPoints(o *output) {
	points(o)
	pointGrad(o)
}

// points emits y[p][r] = sum over k of x[p][r][k] * w[p][k] for all points p and rows r, 16
// columns wide: tiles of 8 rows and a last one of 4. What follows the product is not
// fetched ahead: on no arm64 was it measured whether that pays.
func points(o *output) {
	o.kernel("point8x16BF16", "pointArgs", "computes the products of points, 16 columns wide.", func(f *fn) {
		t := &halfTile{fn: f, registers: f.vecs(32), rows: f.gps(8)}
		x, y, stride, left := f.field("x"), f.field("y"), f.gp(), f.gp()
		t.w, t.x, t.y = f.field("w"), f.gp(), f.gp()
		t.panel, t.k, t.yp, t.tmp = f.gp(), f.gp(), f.gp(), f.gp()
		numPoints := f.field("points")
		f.loop("point", numPoints, func() {
			f.move(t.x, x)
			f.move(t.y, y)
			f.into(left, "rows")
			f.ins("LSR $2, %v, %v", left, left)
			f.chunked("rows", left, 2, func() { t.compute(8) }, func() { t.compute(4) })
			addFields(f, []gp{x, y, t.w}, []string{"xPoint", "yPoint", "wPoint"}, stride)
		})
	})
}

// halfTile is the register plan of a product of bf16. 16 accumulators hold 2 rows by 2
// columns each: 8 rows go over the panel in two passes of 8 columns, 4 rows in one. A
// step of four words takes a register for each row, and its weights go through a ring.
type halfTile struct {
	*fn
	registers []vec // all
	rows      []gp  // [8] pointers into the rows of x
	w         gp    // first panel of the point
	x, y      gp    // first row of the tile and its result
	panel, k  gp
	yp, tmp   gp

	acc  [][]vec // [row pairs][column pairs]
	in   []vec   // [rows]: for each pair of rows their words 0 and 1, and their words 2 and 3
	ring []vec
	next int // place in the ring
}

// compute emits a tile of mr rows, 8 or, as the last one, 4. It moves x and y behind 8.
func (t *halfTile) compute(mr int) {
	columns := 32 / mr // pairs of a pass
	t.acc = nil
	for i := range mr / 2 {
		t.acc = append(t.acc, t.registers[i*columns:][:columns])
	}
	t.in, t.ring, t.next = t.registers[16:][:mr], t.registers[24:], 0
	for pass := range 8 / columns {
		t.sum(pass*columns*quadBytes, mr)
		t.finish(pass * columns / 2 * quadBytes)
	}
	if mr == 8 {
		t.move(t.y, t.yp)
		t.into(t.tmp, "xRow")
		t.ins("ADD %v<<3, %v, %v", t.tmp, t.x, t.x)
	}
}

// sum emits the products with the columns from disp on.
func (t *halfTile) sum(disp, mr int) {
	f := t.fn
	for _, row := range t.acc {
		f.zero(row...)
	}
	f.into(t.tmp, "xRow")
	f.move(t.rows[0], t.x)
	for i := 1; i < mr; i++ {
		f.add(t.rows[i], t.rows[i-1], t.tmp)
	}
	f.move(t.panel, t.w)
	f.into(t.k, "k")
	label := fmt.Sprintf("k%dx%d", mr, disp)
	f.label(label)
	for half := range 2 {
		t.four(half*4*panelBytes + disp)
	}
	f.advance(8*panelBytes, t.panel)
	f.ins("SUBS $8, %v, %v", t.k, t.k)
	f.ins("BNE %s", label)
}

// four emits four words of the sum, whose weights begin at disp.
func (t *halfTile) four(disp int) {
	for i := 0; i < len(t.in); i += 2 {
		a, b := t.ring[i%len(t.ring)], t.ring[i%len(t.ring)+1]
		t.ins("FMOVQ.P 16(%v), F%d", t.rows[i], a)
		t.ins("FMOVQ.P 16(%v), F%d", t.rows[i+1], b)
		t.zip(1, "D2", t.in[i], a, b)
		t.zip(2, "D2", t.in[i+1], a, b)
	}
	for pair := range 2 {
		for j := 0; j < len(t.acc[0]); j += 2 {
			w := t.ring[t.next : t.next+2]
			t.next = (t.next + 2) % len(t.ring)
			t.load(w, t.panel, disp+pair*2*panelBytes+j*quadBytes)
			for i, acc := range t.acc {
				t.halves("bfmmla", acc[j], t.in[2*i+pair], w[0])
				t.halves("bfmmla", acc[j+1], t.in[2*i+pair], w[1])
			}
		}
	}
}

// finish emits the stores of a pass to the columns from disp on. It leaves yp behind them.
func (t *halfTile) finish(disp int) {
	f := t.fn
	f.into(t.tmp, "yRow")
	f.move(t.yp, t.y)
	for _, acc := range t.acc {
		storeRows(f, acc, t.ring, t.yp, t.tmp, disp)
	}
}

// storeRows writes two rows, whose elements acc holds two by two, to p+disp, and moves p
// behind them by twice the stride. free are at least as many registers as acc's.
func storeRows(f *fn, acc, free []vec, p, stride gp, disp int) {
	n := len(acc) / 2
	for half := range 2 {
		row := free[half*n:][:n]
		for j := range row {
			f.zip(1+half, "D2", row[j], acc[2*j], acc[2*j+1])
		}
		f.store(row, p, disp)
		f.add(p, p, stride)
	}
}

// pointGrad emits dst[p][i][j] = sum over s of a[p][s][i] * b[p][s][j] for all points p, 4
// rows by 16 columns a block. Two words of the sum, the tiles of a board, stand together:
// a and b are [length/2][channels][2 words].
func pointGrad(o *output) {
	o.kernel("pointGrad4x16BF16", "pointGradArgs", "computes sums of outer products of points in blocks of 4 rows by 16 columns.", func(f *fn) {
		acc, av, bv := f.grid(2, 8), f.vecs(4), f.vecs(12)
		dstPoint, aPoint, bPoint, numPoints := f.field("dst"), f.field("a"), f.field("b"), f.field("points")
		dst, a, ap, bp, left, blocks, stride := f.gp(), f.gp(), f.gp(), f.gp(), f.gp(), f.gp(), f.gp()
		aStep, bStep, dstRow := f.field("aStep"), f.field("bStep"), f.field("dstRow")
		ring := 0
		board := func(u int) {
			x := av[2*u:][:2]
			f.load(x, ap, 0)
			for j := 0; j < len(acc[0]); j += 2 {
				b := bv[ring:][:2]
				ring = (ring + 2) % len(bv)
				f.load(b, bp, j*quadBytes)
				for i := range acc {
					f.halves("bfmmla", acc[i][j], x[i], b[0])
					f.halves("bfmmla", acc[i][j+1], x[i], b[1])
				}
			}
			f.ins("ADD %v<<1, %v, %v", aStep, ap, ap)
			f.ins("ADD %v<<1, %v, %v", bStep, bp, bp)
		}
		f.loop("point", numPoints, func() {
			f.move(dst, dstPoint)
			f.move(a, aPoint)
			f.into(blocks, "blocks")
			f.loop("block", blocks, func() {
				for _, row := range acc {
					f.zero(row...)
				}
				f.move(ap, a)
				f.move(bp, bPoint)
				f.into(left, "length")
				f.ins("LSR $1, %v, %v", left, left)
				f.chunked("sum", left, 2, func() { board(0); board(1) }, func() { board(0) })
				for _, row := range acc {
					storeRows(f, row, bv, dst, dstRow, 0)
				}
				f.advance(2*quadBytes, a)
			})
			addFields(f, []gp{dstPoint, aPoint, bPoint}, []string{"dstPoint", "aPoint", "bPoint"}, stride)
		})
	})
}
