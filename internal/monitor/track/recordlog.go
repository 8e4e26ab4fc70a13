package track

import (
	"encoding/binary"
	"hash/crc32"
)

// A log of W&B is LevelDB's log format: blocks of 32 KiB that hold chunks, with a header
// of W&B's in the first 7 bytes of the first block. Numbers are little endian.
//
//	file    ":W&B"  magic u16 = 0xBEE1  version u8 = 0   blocks
//	chunk   crc u32  length u16  kind u8                 data
//
// The CRC-32 (IEEE) is that of kind and data. Kind says which part of a record it is. A
// chunk ends with its block; where fewer than 7 bytes of a block are left they are 0.
const (
	logBlock   = 32 << 10
	logHeader  = ":W&B\xe1\xbe\x00"
	chunkBytes = 7 // before the data

	chunkWhole, chunkFirst, chunkMiddle, chunkLast byte = 1, 2, 3, 4
)

// recordLog makes the bytes of a log.
type recordLog struct {
	pending []byte // to be written
	in      int    // bytes of the block that is being filled
}

func newRecordLog() recordLog { return recordLog{[]byte(logHeader), len(logHeader)} }

// append adds a record.
func (l *recordLog) append(data []byte) {
	for first := true; first || len(data) > 0; first = false {
		if left := logBlock - l.in; left < chunkBytes {
			l.pending = append(l.pending, make([]byte, left)...)
			l.in = 0
		}
		n := min(len(data), logBlock-l.in-chunkBytes)
		kind := chunkMiddle
		switch last := n == len(data); {
		case first && last:
			kind = chunkWhole
		case first:
			kind = chunkFirst
		case last:
			kind = chunkLast
		}
		crc := crc32.Update(crc32.ChecksumIEEE([]byte{kind}), crc32.IEEETable, data[:n])
		l.pending = binary.LittleEndian.AppendUint32(l.pending, crc)
		l.pending = binary.LittleEndian.AppendUint16(l.pending, uint16(n))
		l.pending = append(append(l.pending, kind), data[:n]...)
		l.in, data = l.in+chunkBytes+n, data[n:]
	}
}
