package monitor

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// A TFRecord is, little endian:
//
//	length   u64   bytes of data
//	crc      u32   masked CRC-32C of the 8 bytes of length
//	data     length bytes
//	crc      u32   masked CRC-32C of data
//
// mask(c) = (c >> 15 | c << 17) + 0xa282ead8 (TensorFlow, lib/io/record_writer).
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func maskedCRC(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// appendRecord frames data.
func appendRecord(dst, data []byte) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(data)))
	dst = binary.LittleEndian.AppendUint32(dst, maskedCRC(dst[at:at+8]))
	dst = append(dst, data...)
	return binary.LittleEndian.AppendUint32(dst, maskedCRC(data))
}

// tfEvent is the part of TensorFlow's message Event that scalars need.
type tfEvent struct {
	wallTime float64  // field 1, seconds since 1970
	step     int64    // field 2
	version  string   // field 3, first event only
	scalars  []Scalar // field 5: Summary {1 repeated Value {1 tag, 2 simple_value float32}}
}

// Wire types of protobuf.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

func appendTag(dst []byte, field, wire int) []byte {
	return binary.AppendUvarint(dst, uint64(field<<3|wire))
}

func appendBytes[T string | []byte](dst []byte, field int, b T) []byte {
	dst = appendTag(dst, field, wireBytes)
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

// append encodes the event.
func (e *tfEvent) append(dst []byte) []byte {
	dst = appendTag(dst, 1, wire64)
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(e.wallTime))
	dst = appendTag(dst, 2, wireVarint)
	dst = binary.AppendUvarint(dst, uint64(e.step))
	if e.version != "" {
		return appendBytes(dst, 3, e.version)
	}
	var summary, value []byte
	for _, s := range e.scalars {
		value = appendBytes(value[:0], 1, s.Tag)
		value = appendTag(value, 2, wire32)
		value = binary.LittleEndian.AppendUint32(value, math.Float32bits(float32(s.Value)))
		summary = appendBytes(summary, 1, value)
	}
	return appendBytes(dst, 5, summary)
}
