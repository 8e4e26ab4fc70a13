package kernel

import (
	"math"
	"slices"
)

// RowBlock is what the width of the rows of a table is a multiple of, in floats: the
// vector kernels keep so many sums in registers.
const RowBlock = 64

// The functions below work on a few rows of a table, those that a list names: of a layer
// whose input is sparse, and of one of whose outputs few are wanted. Row r is
// table[r*stride:][:width], where width is the length of the vector beside it and a
// multiple of RowBlock. A row may be listed more than once. Sums run in the list's order.

// AddRows sets y += the sum of rows, each times its weight where weights is not nil.
func AddRows(y, table []float32, stride int, rows []uint16, weights []float32) {
	if rowsVec(rowsSum, y, Stored{F32: table}, stride, rows, weights) {
		return
	}
	for i, r := range rows {
		w := float32(1)
		if weights != nil {
			w = weights[i]
		}
		Axpy(y, w, table[int(r)*stride:][:len(y)])
	}
}

// PackRows packs a table for [AddPackedRows], in half of its memory. Of each two panels of a
// row, word i has number i of the first one in its lower half, in bf16. The whole word is
// number i of the second one: its upper half is that with which it comes next to it.
func PackRows(table []float32) []Half {
	packed := make([]Half, len(table))
	for b := 0; b < len(table); b += 2 * panel {
		for i := range panel {
			low, bits := halfBits(table[b+i]), math.Float32bits(table[b+panel+i])
			high := uint16(bits >> 16)
			if more := int(low) - int(bits&0xffff); more < -1<<15 {
				high++
			} else if more > 1<<15 && high<<1 != 0 { // zero stays nearly that
				high--
			}
			packed[b+2*i], packed[b+2*i+1] = Half(low), Half(high)
		}
	}
	return packed
}

// AddPackedRows sets y += the sum of rows of a packed table, which are as wide as y.
func AddPackedRows(y []float32, table []Half, rows []uint16) {
	if rowsVec(rowsSum, y, Stored{BF16: table}, len(y), rows, nil) {
		return
	}
	for _, r := range rows {
		row := table[int(r)*len(y):]
		for b := 0; b < len(y); b += 2 * panel {
			for i := range panel {
				low, high := row[b+2*i], row[b+2*i+1]
				y[b+i] += low.Float()
				y[b+panel+i] += math.Float32frombits(uint32(high)<<16 | uint32(low))
			}
		}
	}
}

// AddToRows adds x to rows, times the row's weight.
func AddToRows(table []float32, stride int, rows []uint16, weights, x []float32) {
	if rowsVec(rowsAdd, x, Stored{F32: table}, stride, rows, weights) {
		return
	}
	for i, r := range rows {
		Axpy(table[int(r)*stride:], weights[i], x)
	}
}

// RowDots adds to dots their rows' products with x, which is rounded to bf16 where the table
// is. Each has one row of each list that lies beside dots in rows, list after list.
func RowDots(dots, x []float32, table Stored, stride int, rows []uint16) {
	if len(dots) == 0 || rowsVec(rowsDot, x, table, stride, rows, dots) {
		return
	}
	for i, r := range rows {
		sum := float32(0)
		for j, v := range x {
			if table.half() {
				v = Half(halfBits(v)).Float()
			}
			sum += v * table.float(int(r)*stride+j)
		}
		dots[i%len(dots)] += sum
	}
}

// RowsInBF16 says whether the active tier has kernels for tables in bf16.
func RowsInBF16() bool { return HasBF16() && vectors().rows[1][rowsSum] != nil }

// AddEntries adds to sums their entries of a table, which entries names as RowDots' rows are.
func AddEntries(sums, table []float32, entries []uint16) {
	for ; len(sums) > 0 && len(entries) >= len(sums); entries = entries[len(sums):] {
		for i, e := range entries[:len(sums)] {
			sums[i] += table[e]
		}
	}
}

// SquaredClippedReLU sets y = min(max(x,0),1)^2. y may be x.
func SquaredClippedReLU(y, x []float32) { square(y, x, 1) }

// unlimited is the limit of a square without one.
var unlimited = float32(math.Inf(1))

// square sets y = min(max(x,0),limit)^2. y may be x.
func square(y, x []float32, limit float32) {
	y = y[:len(x)]
	if vecFlat(flatSquare, y, x, nil, limit) {
		return
	}
	for i, v := range x {
		v = min(max(v, 0), limit)
		y[i] = v * v
	}
}

// SquaredClippedReLUBackward sets dx = dy * 2x where 0 < x < 1, else 0. dx may be dy.
func SquaredClippedReLUBackward(dx, dy, x []float32) { squareBackward(dx, dy, x, 1) }

// squareBackward sets dx = dy * 2x where 0 < x < limit, else 0. dx may be dy.
func squareBackward(dx, dy, x []float32, limit float32) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	if vecFlat(flatSquareBackward, dx, dy, x, limit) {
		return
	}
	for i, v := range x {
		g := 2 * v * dy[i]
		if !(v > 0 && v < limit) {
			g = 0
		}
		dx[i] = g
	}
}

// rowsOp names a vector kernel over (x, table, rows, weights).
type rowsOp uint8

const (
	rowsSum rowsOp = iota // x += weight*row
	rowsAdd               // row += weight*x
	rowsDot               // weight += (the sum of its rows)*x
	numRowsOps
)

// one is the weight of rows that have none. It is never written.
var one = []float32{1}

// below says whether some numbers are all less than limit. It looks at four at a time, as
// lanes of one: with 1<<15-limit added, those that are not have their highest bit set.
func below(limit int, of []uint16) bool {
	if limit > 1<<15 {
		return int(slices.Max(of)) < limit
	}
	const highest, ones = 0x8000800080008000, 0x0001000100010001
	seen, add := uint64(0), uint64(1<<15-max(limit, 0))*ones
	for ; len(of) >= 4; of = of[4:] {
		x := uint64(of[0]) | uint64(of[1])<<16 | uint64(of[2])<<32 | uint64(of[3])<<48
		seen |= x | (x + add)
	}
	for _, x := range of {
		seen |= uint64(x) | (uint64(x) + add)
	}
	return seen&highest == 0
}

// rowsVec runs op, whose weights are 1 where nil, or returns false where the tier has no kernel for it.
func rowsVec(op rowsOp, x []float32, table Stored, stride int, rows []uint16, weights []float32) bool {
	if len(x)%RowBlock != 0 || stride < len(x) {
		panic("kernel: rows are not of whole blocks")
	}
	if len(rows) == 0 || len(x) == 0 {
		return true
	}
	if !below((table.len()-len(x)+stride)/stride, rows) { // so many rows it has
		panic("kernel: a row behind the end of its table")
	}
	f := vectors().rows[index(table.half())][op]
	if f == nil || table.half() && !HasBF16() {
		return false
	}
	n, step := len(rows), 0
	switch {
	case weights == nil:
		weights = one
	case op == rowsDot:
		n = len(weights)
	default:
		weights, step = weights[:n], f32
	}
	if len(rows)%n != 0 {
		panic("kernel: lists of rows are not alike")
	}
	a := rowsArgs{
		x: at(x, 0), table: table.at(0), rows: &rows[0], weights: at(weights, 0), step: uintptr(step),
		stride: uintptr(stride * table.size()), n: uintptr(n), blocks: uintptr(len(x) / RowBlock),
		lists: uintptr(len(rows) / n), apart: uintptr(n * 2),
	}
	run(f, &a)
	return true
}
