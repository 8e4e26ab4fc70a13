package monitor

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
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
const (
	recordHead    = 12
	recordTail    = 4
	maxRecordData = 1 << 24
)

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

// isTorn says whether a file of records just ends too early.
func isTorn(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }

// readRecords calls fn with the data of each record and the offset behind it. A
// torn last record ends it with io.ErrUnexpectedEOF, a damaged one with a
// *CorruptError.
func readRecords(r io.Reader, fn func(data []byte, end int64) error) error {
	in := bufio.NewReader(r)
	var at int64
	for {
		var head [recordHead]byte
		if n, err := io.ReadFull(in, head[:]); errors.Is(err, io.EOF) && n == 0 {
			return nil
		} else if err != nil {
			return err
		}
		length := binary.LittleEndian.Uint64(head[:8])
		if maskedCRC(head[:8]) != binary.LittleEndian.Uint32(head[8:]) || length > maxRecordData {
			return &CorruptError{Offset: at, Reason: "checksum of a record's length"}
		}
		body := make([]byte, length+recordTail)
		if _, err := io.ReadFull(in, body); err != nil {
			return io.ErrUnexpectedEOF
		}
		data := body[:length]
		if maskedCRC(data) != binary.LittleEndian.Uint32(body[length:]) {
			return &CorruptError{Offset: at, Reason: "checksum of a record"}
		}
		at += recordHead + int64(len(body))
		if err := fn(data, at); err != nil {
			return err
		}
	}
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

var errWire = errors.New("not a protobuf message")

// fields calls fn with each field of a protobuf message: number, and the value
// as an integer or bytes.
func fields(b []byte, fn func(field int, n uint64, data []byte) error) error {
	for len(b) > 0 {
		key, size := binary.Uvarint(b)
		if size <= 0 || key>>3 > math.MaxInt32 {
			return errWire
		}
		b = b[size:]
		var n uint64
		var data []byte
		switch key & 7 {
		case wireVarint:
			if n, size = binary.Uvarint(b); size <= 0 {
				return errWire
			}
		case wire64:
			if size = 8; len(b) < size {
				return errWire
			}
			n = binary.LittleEndian.Uint64(b)
		case wire32:
			if size = 4; len(b) < size {
				return errWire
			}
			n = uint64(binary.LittleEndian.Uint32(b))
		case wireBytes:
			length, head := binary.Uvarint(b)
			if head <= 0 || length > uint64(len(b)-head) {
				return errWire
			}
			size = head + int(length)
			data = b[head:size]
		default:
			return errWire
		}
		if err := fn(int(key>>3), n, data); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}

// decodeTFEvent reads what append wrote; fields that it does not know are
// skipped.
func decodeTFEvent(b []byte) (e tfEvent, err error) {
	err = fields(b, func(field int, n uint64, data []byte) error {
		switch field {
		case 1:
			e.wallTime = math.Float64frombits(n)
		case 2:
			e.step = int64(n)
		case 3:
			e.version = string(data)
		case 5:
			return fields(data, func(field int, _ uint64, data []byte) error {
				var s Scalar
				err := fields(data, func(field int, n uint64, data []byte) error {
					switch field {
					case 1:
						s.Tag = string(data)
					case 2:
						s.Value = float64(math.Float32frombits(uint32(n)))
					}
					return nil
				})
				e.scalars = append(e.scalars, s)
				return err
			})
		}
		return nil
	})
	if err != nil {
		return e, fmt.Errorf("decode TensorBoard event: %w", err)
	}
	return e, nil
}
