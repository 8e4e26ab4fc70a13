package syzygy

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/chessbrain/chessbrain/chess"
)

// written says how the tests' own table writer stores an ending.
type written struct {
	name  string
	dtz   bool
	side  uint8   // DTZ: the side to move that is stored
	flags byte    // DTZ: flagMapped, flagWide, flagWinPlies, flagLossPlies
	ranks [2]byte // places of the factors
	order []man   // order of the men
	span  uint8   // log2
}

// writeTable writes a table file of a solved ending. Unlike real tables it stores
// true values also where a capture is as good; it shares the index with the reader
// (which other tests and the real tables hold), but none of the file format.
func writeTable(e *Endgames, w written) []byte {
	men, err := parseMaterial(w.name)
	if err != nil {
		panic(err)
	}
	x := e.solved[men.key()]
	files, sides := 1, 2
	if men.hasPawns() {
		files = 4
	}
	if w.dtz || men == men.swapped() {
		sides = 1
	}
	out := slices.Clone(magicWDL[:])
	if w.dtz {
		out = slices.Clone(magicDTZ[:])
	}
	flags := byte(men.men() << 4)
	if men != men.swapped() {
		flags |= 1
	}
	if men.hasPawns() {
		flags |= 2
	}
	out = append(out, flags)
	both := men[0][chess.Pawn] > 0 && men[1][chess.Pawn] > 0
	for range files {
		out = append(out, w.ranks[0]*17)
		if both {
			out = append(out, w.ranks[1]*17)
		}
		for _, m := range w.order {
			out = append(out, (m.side<<3|uint8(m.piece)+1)*17)
		}
	}
	if len(out)%2 == 1 {
		out = append(out, 0)
	}
	var parts []*packed
	for file := range files {
		for side := range sides {
			l, err := newLayout(men, w.order, [2]int{int(w.ranks[0]), int(w.ranks[1])}, file)
			if err != nil {
				panic(err)
			}
			stm := uint8(side)
			if w.dtz {
				stm = w.side
			}
			values, lists := x.stored(w, &l, stm, file)
			parts = append(parts, pack(w, values, lists))
		}
	}
	return assemble(out, parts)
}

// stored returns the values of a part and the lists they are places in.
func (t *ending) stored(w written, l *layout, stm uint8, file int) ([]uint16, [4][]uint16) {
	values := make([]uint16, l.size)
	var lists [4][]uint16
	for i, v := range t.values {
		s := t.place(i)
		if v == valueIllegal || s.mover != stm {
			continue
		}
		var p placement
		for k := range s.n {
			p[s.side[k]][s.kind[k]] |= 1 << s.sq[k]
		}
		if l.pawns && p.leadFile(t.men.leadSide()) != file {
			continue
		}
		at := &values[l.index(&p)]
		wdl := result(v)
		if !w.dtz {
			*at = uint16(wdl + 2)
			continue
		}
		if wdl == Draw {
			continue
		}
		d := distanceOf(v)
		*at = uint16(d*sign(d) - 1)
		if wdl == Win && w.flags&flagWinPlies == 0 || wdl == Loss && w.flags&flagLossPlies == 0 {
			*at /= 2
		}
		if w.flags&flagMapped != 0 {
			list := &lists[map[int]int{Win: 0, Loss: 1}[wdl]]
			k := slices.Index(*list, *at)
			if k < 0 {
				k = len(*list)
				*list = append(*list, *at)
			}
			*at = uint16(k)
		}
	}
	return values, lists
}

// packed is a compressed part.
type packed struct {
	head, sparse, lengths, blocks []byte
	lists                         [4][]uint16
	flags                         byte
}

// token is a run of 1<<level equal values.
type token struct {
	value uint16
	level int
}

// pack compresses values: symbols are runs of 1, 2, 4, ... 64 equal values.
func pack(w written, values []uint16, lists [4][]uint16) *packed {
	p := &packed{lists: lists}
	if w.dtz {
		p.flags = w.flags | w.side
	}
	if slices.Min(values) == slices.Max(values) {
		p.flags |= flagOneValue
		p.head = []byte{p.flags, byte(values[0])}
		return p
	}
	var tokens []token
	uses := map[token]int{}
	for i := 0; i < len(values); {
		value, n := values[i], 1
		for i+n < len(values) && values[i+n] == value {
			n++
		}
		i += n
		for n > 0 {
			level := 0
			for level < 6 && 2<<level <= n {
				level++
			}
			k := token{value, level}
			tokens = append(tokens, k)
			uses[k]++
			n -= 1 << level
		}
	}
	numbers, lengths := canonical(uses)
	const blockBits = 5
	p.head = p.symbols(numbers, lengths, blockBits, w.span)
	p.fill(tokens, numbers, lengths, 1<<blockBits, len(values), 1<<w.span)
	binary.LittleEndian.PutUint32(p.head[4:], uint32(len(p.lengths)/2))
	return p
}

// canonical gives each symbol a Huffman length and a number, longer codes first;
// parts of used symbols that are not used themselves come last, with length 0.
func canonical(uses map[token]int) (numbers map[token]int, lengths map[token]int) {
	type node struct {
		count int
		of    []token
	}
	lengths = map[token]int{}
	var nodes []node
	for k, n := range uses {
		nodes = append(nodes, node{n, []token{k}})
		for level := range k.level {
			lengths[token{k.value, level}] += 0
		}
	}
	for len(nodes) > 1 {
		sort.Slice(nodes, func(i, j int) bool { return nodes[i].count < nodes[j].count })
		merged := node{nodes[0].count + nodes[1].count, append(slices.Clone(nodes[0].of), nodes[1].of...)}
		for _, k := range merged.of {
			lengths[k]++
		}
		nodes = append([]node{merged}, nodes[2:]...)
	}
	var order []token
	for k := range lengths {
		order = append(order, k)
	}
	sort.Slice(order, func(i, j int) bool {
		a, b := order[i], order[j]
		if lengths[a] != lengths[b] {
			return lengths[a] > lengths[b]
		}
		return a.value<<3+uint16(a.level) < b.value<<3+uint16(b.level)
	})
	numbers = map[token]int{}
	for i, k := range order {
		numbers[k] = i
	}
	return numbers, lengths
}

// symbols writes the head of a part.
func (p *packed) symbols(numbers, lengths map[token]int, blockBits, span byte) []byte {
	shortest, longest := 99, 0
	for _, n := range lengths {
		if n > 0 {
			shortest, longest = min(shortest, n), max(longest, n)
		}
	}
	head := []byte{p.flags, blockBits, span, 0, 0, 0, 0, 0, byte(longest), byte(shortest)}
	for n := shortest; n <= longest; n++ {
		lowest := 0
		for _, m := range lengths {
			if m > n {
				lowest++
			}
		}
		head = binary.LittleEndian.AppendUint16(head, uint16(lowest))
	}
	head = binary.LittleEndian.AppendUint16(head, uint16(len(numbers)))
	tree := make([]byte, 3*len(numbers))
	for k, i := range numbers {
		left, right := int(k.value), noPair
		if k.level > 0 {
			left = numbers[token{k.value, k.level - 1}]
			right = left
		}
		tree[3*i], tree[3*i+1], tree[3*i+2] = byte(left), byte(left>>8|right<<4), byte(right>>4)
	}
	head = append(head, tree...)
	if len(numbers)%2 == 1 {
		head = append(head, 0)
	}
	return head
}

// fill writes the blocks, their lengths and the sparse index.
func (p *packed) fill(tokens []token, numbers, lengths map[token]int, blockSize, size, span int) {
	atLength := map[int]int{} // symbols of a length
	longest := 0
	for _, n := range lengths {
		atLength[n]++
		longest = max(longest, n)
	}
	first, lowest := map[int]int{longest: 0}, map[int]int{longest: 0} // code and symbol
	for n := longest - 1; n > 0; n-- {
		first[n] = (first[n+1] + atLength[n+1]) / 2
		lowest[n] = lowest[n+1] + atLength[n+1]
	}
	var starts []int // first index of each block
	bit, held, total := 0, 0, 0
	block := make([]byte, blockSize)
	flush := func() {
		p.blocks = append(p.blocks, block...)
		p.lengths = binary.LittleEndian.AppendUint16(p.lengths, uint16(held-1))
		starts = append(starts, total-held)
		block, bit, held = make([]byte, blockSize), 0, 0
	}
	for _, k := range tokens {
		n := lengths[k]
		if bit+n > 8*blockSize || held+1<<k.level > 1<<16 {
			flush()
		}
		code := first[n] + numbers[k] - lowest[n]
		for j := n - 1; j >= 0; j-- {
			block[bit/8] |= byte(code>>j&1) << (7 - bit%8)
			bit++
		}
		held += 1 << k.level
		total += 1 << k.level
	}
	flush()
	for at := 0; at < size; at += span {
		b := sort.SearchInts(starts, at+span/2+1) - 1
		p.sparse = binary.LittleEndian.AppendUint32(p.sparse, uint32(b))
		p.sparse = binary.LittleEndian.AppendUint16(p.sparse, uint16(at+span/2-starts[b]))
	}
}

// assemble joins head and parts into a file.
func assemble(out []byte, parts []*packed) []byte {
	for _, p := range parts {
		out = append(out, p.head...)
	}
	mapped := false
	for _, p := range parts {
		if p.flags&flagMapped == 0 {
			continue
		}
		mapped = true
		if p.flags&flagWide != 0 && len(out)%2 == 1 {
			out = append(out, 0)
		}
		for _, list := range p.lists {
			for _, v := range append([]uint16{uint16(len(list))}, list...) {
				if p.flags&flagWide != 0 {
					out = binary.LittleEndian.AppendUint16(out, v)
				} else {
					out = append(out, byte(v))
				}
			}
		}
	}
	if mapped && len(out)%2 == 1 {
		out = append(out, 0)
	}
	for _, p := range parts {
		out = append(out, p.sparse...)
	}
	for _, p := range parts {
		out = append(out, p.lengths...)
	}
	for _, p := range parts {
		for len(out)%64 != 0 {
			out = append(out, 0)
		}
		out = append(out, p.blocks...)
	}
	for len(out)%64 != 0 {
		out = append(out, 0)
	}
	return append(out, make([]byte, checksumSize)...)
}
