package main

// rowQuads is quads of a block of a row, kernel.RowBlock floats.
const rowQuads = 16

// genSparse emits what works on the rows of a table that a list names. Rows come by four
// quads, so that a block of x stays in registers.
func genSparse(o *output) {
	rowBlocks(o, "rowsSum", "adds the rows of a list, times their weights, to x.", true, func(f *fn, x, t []vec, row, weights gp) {
		w := loadWeight(f, weights)
		for i := 0; i < rowQuads; i += len(t) {
			f.load(t, row, i*quadBytes)
			for j, r := range t {
				f.op("fmla", x[i+j], r, w)
			}
		}
	})
	rowBlocks(o, "rowsAdd", "adds x, times their weights, to the rows of a list.", false, func(f *fn, x, t []vec, row, weights gp) {
		w := loadWeight(f, weights)
		for i := 0; i < rowQuads; i += len(t) {
			f.load(t, row, i*quadBytes)
			for j, r := range t {
				f.op("fmla", r, x[i+j], w)
			}
			f.store(t, row, i*quadBytes)
		}
	})
	rowBlocks(o, "rowsDot", "adds the products of the rows of a list with x to weights.", false, func(f *fn, x, t []vec, row, weights gp) {
		sums := f.vecs(2)
		f.zero(sums...)
		for i := 0; i < rowQuads; i += len(t) {
			f.load(t, row, i*quadBytes)
			for j, r := range t {
				f.op("fmla", sums[j%2], x[i+j], r)
			}
		}
		f.op("fadd", sums[0], sums[0], sums[1])
		f.op("faddp", sums[0], sums[0], sums[0])
		f.op("faddp", sums[0], sums[0], sums[0])
		f.ins("FMOVS (%v), F%d", weights, sums[1])
		f.ins("FADDS F%d, F%d, F%d", sums[1], sums[0], sums[0])
		f.ins("FMOVS F%d, (%v)", sums[0], weights)
	})
}

// loadWeight broadcasts the float32 at a pointer.
func loadWeight(f *fn, at gp) vec {
	w, bits := f.vec(), f.gp()
	f.ins("MOVWU (%v), %v", at, bits)
	f.ins("VDUP %v, V%d.S4", bits, w)
	return w
}

// rowBlocks emits body for each row of a list, within each block of the width, of which x
// has that block in registers, and writes x back if store. t are four free registers, and
// weights points to the row's.
func rowBlocks(o *output, name, doc string, store bool, body func(f *fn, x, t []vec, row, weights gp)) {
	o.kernel(name, "rowsArgs", doc, func(f *fn) {
		table, x, stride, step, blocks := f.field("table"), f.field("x"), f.field("stride"), f.field("step"), f.field("blocks")
		list, weights, left, row := f.gp(), f.gp(), f.gp(), f.gp()
		registers, t := f.vecs(rowQuads), f.vecs(4)
		f.loop("block", blocks, func() {
			f.into(list, "rows")
			f.into(weights, "weights")
			f.into(left, "n")
			f.load(registers, x, 0)
			f.loop("row", left, func() {
				f.ins("MOVHU (%v), %v", list, row)
				f.ins("MUL %v, %v, %v", stride, row, row)
				f.add(row, row, table)
				body(f, registers, t, row, weights)
				f.advance(2, list)
				f.add(weights, weights, step)
			})
			if store {
				f.store(registers, x, 0)
			}
			f.advance(rowQuads*quadBytes, table, x)
		})
	})
}
