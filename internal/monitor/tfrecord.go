package monitor

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
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

// append encodes the event.
func (e *tfEvent) append(dst []byte) []byte {
	dst = protowire.AppendFixed64(protowire.AppendTag(dst, 1, protowire.Fixed64Type), math.Float64bits(e.wallTime))
	dst = protowire.AppendVarint(protowire.AppendTag(dst, 2, protowire.VarintType), uint64(e.step))
	if e.version != "" {
		return protowire.AppendString(protowire.AppendTag(dst, 3, protowire.BytesType), e.version)
	}
	var summary, value []byte
	for _, s := range e.scalars {
		value = protowire.AppendString(protowire.AppendTag(value[:0], 1, protowire.BytesType), s.Tag)
		value = protowire.AppendFixed32(protowire.AppendTag(value, 2, protowire.Fixed32Type), math.Float32bits(float32(s.Value)))
		summary = protowire.AppendBytes(protowire.AppendTag(summary, 1, protowire.BytesType), value)
	}
	return protowire.AppendBytes(protowire.AppendTag(dst, 5, protowire.BytesType), summary)
}
