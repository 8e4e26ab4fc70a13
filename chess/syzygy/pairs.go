package syzygy

import (
	"encoding/binary"
	"fmt"
)

// Flags of a part of a table.
const (
	flagSide       = 1   // DTZ: the side to move that the part holds
	flagMapped     = 2   // DTZ: values are places in a list, one list a result
	flagWinPlies   = 4   // DTZ: wins are in plies, not in moves
	flagLossPlies  = 8   // DTZ: losses are in plies
	flagWide       = 16  // DTZ: the lists have 16-bit entries
	flagOneValue   = 128 // one value for all indices
	maxCodeLength  = 32  // bits of a symbol's code
	noPair         = 0xfff
	sparseSize     = 6 // bytes of an entry of the sparse index: block u32, place u16
	maxBlockBits   = 16
	maxSpanBits    = 32
	maxSymbolCount = 4096
)

// pairs is one part of a table: the values of one side to move and, with pawns,
// of one file of the leading pawn, compressed by recursive pairing. A symbol is a
// value or a pair of symbols; the symbols are Huffman coded, most significant bit
// first, in blocks of one size; longer codes have lower numbers and the code of a
// length starts at base.
//
//	sparse index   every span indices: block and place in it of the index span/2 on
//	block lengths  u16 a block: number of its values less one
//	blocks         each blockSize bytes
type pairs struct {
	layout
	flags uint8
	value uint16 // of all indices with flagOneValue

	blockSize  int64
	span       uint64
	numBlocks  uint64
	numLengths uint64 // block lengths stored, a few more than blocks

	minLength int      // bits of the shortest code
	base      []uint64 // [lengths] first code of a length, left-aligned in 64 bits
	lowest    []uint16 // [lengths] its symbol
	symbols   []symbol

	maps [4][]uint16 // DTZ with flagMapped: wins, losses, cursed wins, blessed losses

	sparseAt, lengthsAt, blocksAt int64 // places in the file
}

// symbol is a pair of symbols, or a value in left where right is noPair.
type symbol struct {
	left, right uint16
	values      uint32 // how many values it stands for
}

// readPairs reads the head of a part.
func readPairs(r *headReader, p *pairs) error {
	p.flags = r.byte()
	if p.flags&flagOneValue != 0 {
		p.value = uint16(r.byte())
		return r.err
	}
	blockBits, spanBits := r.byte(), r.byte()
	padding := uint64(r.byte())
	p.numBlocks = uint64(r.uint32())
	p.numLengths = p.numBlocks + padding
	maxLength := int(r.byte())
	p.minLength = int(r.byte())
	switch {
	case r.err != nil:
		return r.err
	case blockBits > maxBlockBits || spanBits > maxSpanBits:
		return fmt.Errorf("blocks of 2^%d bytes, index every 2^%d, at most 2^%d and 2^%d exist", blockBits, spanBits, maxBlockBits, maxSpanBits)
	case p.minLength < 1 || maxLength < p.minLength || maxLength > maxCodeLength:
		return fmt.Errorf("codes of %d to %d bits, want 1 to %d", p.minLength, maxLength, maxCodeLength)
	}
	p.blockSize, p.span = 1<<blockBits, 1<<spanBits
	p.lowest = make([]uint16, maxLength-p.minLength+1)
	for i := range p.lowest {
		p.lowest[i] = r.uint16()
	}
	p.setBase()
	return p.readSymbols(r)
}

// setBase derives the first code of each length: half of the codes of the next
// length that are in use come before it.
func (p *pairs) setBase() {
	last := len(p.lowest) - 1
	p.base = make([]uint64, last+1)
	for i := last - 1; i >= 0; i-- {
		p.base[i] = (p.base[i+1] + uint64(p.lowest[i]) - uint64(p.lowest[i+1])) / 2
	}
	for i := range p.base {
		p.base[i] <<= 64 - p.minLength - i
	}
}

// readSymbols reads the symbols, three bytes each: left 12 bits, right 12 bits.
func (p *pairs) readSymbols(r *headReader) error {
	n := int(r.uint16())
	if n > maxSymbolCount {
		return fmt.Errorf("%d symbols, at most %d exist", n, maxSymbolCount)
	}
	p.symbols = make([]symbol, n)
	for i := range p.symbols {
		a, b, c := uint16(r.byte()), uint16(r.byte()), uint16(r.byte())
		p.symbols[i] = symbol{left: a | b&15<<8, right: c<<4 | b>>4}
	}
	r.skip(n & 1)
	if r.err != nil {
		return r.err
	}
	for i := range p.symbols {
		if _, err := p.countValues(i, 0); err != nil {
			return err
		}
	}
	return nil
}

// countValues sets and returns the number of values of symbol i. depth ends
// symbols that contain themselves.
func (p *pairs) countValues(i, depth int) (uint32, error) {
	if i >= len(p.symbols) || depth > len(p.symbols) {
		return 0, fmt.Errorf("symbol %d is no tree", i)
	}
	s := &p.symbols[i]
	if s.values > 0 {
		return s.values, nil
	}
	if s.right == noPair {
		s.values = 1
		return 1, nil
	}
	left, err := p.countValues(int(s.left), depth+1)
	if err != nil {
		return 0, err
	}
	right, err := p.countValues(int(s.right), depth+1)
	if err != nil {
		return 0, err
	}
	if s.values = left + right; s.values > 1<<16 {
		return 0, fmt.Errorf("symbol %d stands for %d values, a block has at most 65536", i, s.values)
	}
	return s.values, nil
}

// lookup returns the stored value of an index.
func (p *pairs) lookup(f *file, index uint64) (uint16, error) {
	if index >= p.size {
		return 0, f.fault(-1, fmt.Sprintf("index %d of %d", index, p.size))
	}
	if p.flags&flagOneValue != 0 {
		return p.value, nil
	}
	block, place, err := p.find(f, index)
	if err != nil {
		return 0, err
	}
	at := p.blocksAt + int64(block)*p.blockSize
	data, err := f.read(at, min(p.blockSize, f.size-at))
	if err != nil {
		return 0, err
	}
	value, ok := p.unpack(data, uint32(place))
	if !ok {
		return 0, f.fault(at, "block does not decode; get the file again")
	}
	return value, nil
}

// find returns the block that holds an index and the place in it.
func (p *pairs) find(f *file, index uint64) (block uint64, place int64, err error) {
	entry, err := f.read(p.sparseAt+int64(index/p.span)*sparseSize, sparseSize)
	if err != nil {
		return 0, 0, err
	}
	block = uint64(binary.LittleEndian.Uint32(entry))
	place = int64(binary.LittleEndian.Uint16(entry[4:])) + int64(index%p.span) - int64(p.span/2)
	for place < 0 && block > 0 && block <= p.numLengths {
		block--
		n, err := p.blockValues(f, block)
		if err != nil {
			return 0, 0, err
		}
		place += n
	}
	for place >= 0 && block < p.numBlocks {
		n, err := p.blockValues(f, block)
		if err != nil {
			return 0, 0, err
		}
		if place < n {
			return block, place, nil
		}
		place -= n
		block++
	}
	return 0, 0, f.fault(p.sparseAt, fmt.Sprintf("the block lengths do not reach index %d; get the file again", index))
}

// blockValues returns the number of values of a block.
func (p *pairs) blockValues(f *file, block uint64) (int64, error) {
	b, err := f.read(p.lengthsAt+int64(block)*2, 2)
	if err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint16(b)) + 1, nil
}

// unpack decodes the value at a place of a block. Bits past its end are 0.
func (p *pairs) unpack(data []byte, place uint32) (uint16, bool) {
	var window uint64 // the next bits, left-aligned
	held, at := 0, 0  // bits in window, bytes read
	for {
		for ; held <= 56; held += 8 {
			if at < len(data) {
				window |= uint64(data[at]) << (56 - held)
			}
			at++
		}
		k := 0
		for window < p.base[k] { // ends: the last base is 0
			k++
		}
		length := p.minLength + k
		code := (window-p.base[k])>>(64-length) + uint64(p.lowest[k])
		if code >= uint64(len(p.symbols)) {
			return 0, false
		}
		s := &p.symbols[code]
		if place < s.values {
			return p.descend(s, place), true
		}
		place -= s.values
		window <<= length
		held -= length
	}
}

// descend returns the value at a place of a symbol. countValues has checked the
// tree.
func (p *pairs) descend(s *symbol, place uint32) uint16 {
	for s.right != noPair {
		left := &p.symbols[s.left]
		if place < left.values {
			s = left
			continue
		}
		place -= left.values
		s = &p.symbols[s.right]
	}
	return s.left
}
