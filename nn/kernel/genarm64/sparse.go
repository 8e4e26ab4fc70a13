package main

// rowQuads is quads of a block of a row, kernel.RowBlock floats.
const rowQuads = 16

// genSparse emits what works on the rows of a table that a list names. Rows come by four
// quads, so that a block of x stays in registers.
func genSparse(o *output) {
	rowList(o, "rowsSum", "adds the rows of a list, times their weights, to x.", true, func(f *fn, x, t []vec, row gp, w vec) {
		for i := 0; i < rowQuads; i += len(t) {
			f.load(t, row, i*quadBytes)
			for j, r := range t {
				f.op("fmla", x[i+j], r, w)
			}
		}
	})
	rowList(o, "rowsAdd", "adds x, times their weights, to the rows of a list.", false, func(f *fn, x, t []vec, row gp, w vec) {
		for i := 0; i < rowQuads; i += len(t) {
			f.load(t, row, i*quadBytes)
			for j, r := range t {
				f.op("fmla", r, x[i+j], w)
			}
			f.store(t, row, i*quadBytes)
		}
	})
	o.kernel("rowsDot", "rowsArgs", "adds the products of sums of rows, one of each list, with x to weights.", func(f *fn) {
		apart, table, stride := f.field("apart"), f.field("table"), f.field("stride")
		at, lists, row := f.gp(), f.gp(), f.gp()
		sums, t := f.vecs(4), f.vecs(4)
		rowBlocks(f, table, false, func(x []vec, list, weights gp) {
			f.zero(sums...)
			f.move(at, list)
			f.into(lists, "lists")
			f.loop("list", lists, func() {
				rowAt(f, row, at, table, stride)
				for i := 0; i < rowQuads; i += len(t) {
					f.load(t, row, i*quadBytes)
					for j, r := range t {
						f.op("fmla", sums[j], x[i+j], r)
					}
				}
				f.add(at, at, apart)
			})
			f.op("fadd", sums[0], sums[0], sums[1])
			f.op("fadd", sums[2], sums[2], sums[3])
			f.op("fadd", sums[0], sums[0], sums[2])
			f.op("faddp", sums[0], sums[0], sums[0])
			f.op("faddp", sums[0], sums[0], sums[0])
			f.ins("FMOVS (%v), F%d", weights, sums[1])
			f.ins("FADDS F%d, F%d, F%d", sums[1], sums[0], sums[0])
			f.ins("FMOVS F%d, (%v)", sums[0], weights)
			f.advance(4, weights)
		})
	})
}

// rowList emits a pass over the rows of a list, with a block of x in registers, for each
// block of their width. t are four free registers. store says that the block is changed,
// and written at the end.
func rowList(o *output, name, doc string, store bool, op func(f *fn, x, t []vec, row gp, weight vec)) {
	o.kernel(name, "rowsArgs", doc, func(f *fn) {
		step, table, stride := f.field("step"), f.field("table"), f.field("stride")
		row, t := f.gp(), f.vecs(4)
		w, bits := f.vec(), f.gp()
		rowBlocks(f, table, store, func(x []vec, list, weights gp) {
			rowAt(f, row, list, table, stride)
			f.ins("MOVWU (%v), %v", weights, bits)
			f.ins("VDUP %v, V%d.S4", bits, w)
			op(f, x, t, row, w)
			f.add(weights, weights, step)
		})
	})
}

// rowAt sets row to the one that the next number of a list names.
func rowAt(f *fn, row, list, table, stride gp) {
	f.ins("MOVHU (%v), %v", list, row)
	f.ins("MUL %v, %v, %v", stride, row, row)
	f.add(row, row, table)
}

// rowBlocks emits body for each row of a list, within each block of the width, of which x
// has that block in registers, and writes x back if store. body goes on with the weights.
func rowBlocks(f *fn, table gp, store bool, body func(x []vec, list, weights gp)) {
	x, blocks := f.field("x"), f.field("blocks")
	list, weights, left := f.gp(), f.gp(), f.gp()
	registers := f.vecs(rowQuads)
	f.loop("block", blocks, func() {
		f.into(list, "rows")
		f.into(weights, "weights")
		f.into(left, "n")
		f.load(registers, x, 0)
		f.loop("row", left, func() {
			body(registers, list, weights)
			f.advance(2, list)
		})
		if store {
			f.store(registers, x, 0)
		}
		f.advance(rowQuads*quadBytes, table, x)
	})
}
