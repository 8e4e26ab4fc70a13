package monitor

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"
)

// The reader of TensorBoard event files that shows what the writer made.

const (
	recordHead    = 12
	recordTail    = 4
	maxRecordData = 1 << 24
)

// boardScalar is a point of a curve in a TensorBoard event file.
type boardScalar struct {
	Time time.Time
	X    int64
	Scalar
}

// readBoard reads the scalars of a TensorBoard event file in order. A torn last
// record is left out.
func readBoard(path string) ([]boardScalar, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open event file: %w", err)
	}
	defer f.Close()
	var points []boardScalar
	first := true
	err = readRecords(f, func(data []byte, end int64) error {
		e, err := decodeTFEvent(data)
		if err != nil {
			return &CorruptError{Path: path, Offset: end, Reason: err.Error()}
		}
		if first && e.version != boardVersion {
			return &CorruptError{Path: path, Reason: fmt.Sprintf("version %q", e.version)}
		}
		first = false
		for _, s := range e.scalars {
			points = append(points, boardScalar{Time: time.Unix(0, int64(e.wallTime*1e9)).UTC(), X: e.step, Scalar: s})
		}
		return nil
	})
	if err != nil && !isTorn(err) {
		return nil, err
	}
	return points, nil
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

var errWire = errors.New("not a protobuf message")

// Wire types of protobuf.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

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
