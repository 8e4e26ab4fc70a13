package monitor

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// eventsPrefix begins the name of every TensorBoard event file.
const eventsPrefix = "events.out.tfevents."

// eventsSuffix ends it: a job may have the name of a sort of files, such as pgn.
const eventsSuffix = ".v2"

// boardVersion is the first event of every file.
const boardVersion = "brain.Event:2"

// tensorBoard writes the scalars of events as a TensorBoard event file.
type tensorBoard struct {
	file      *appendFile
	msg, data []byte // reused
}

// openBoard opens the event file that the state knows, cut to its offset. Where
// that cannot be, a new file is filled from metrics.jsonl, which must be cut
// already.
func openBoard(opt FilesOptions, state FilesState, metrics string) (*tensorBoard, error) {
	if state.EventsFile != "" && state.EventsFile == filepath.Base(state.EventsFile) && strings.HasPrefix(state.EventsFile, eventsPrefix) {
		path := filepath.Join(opt.Dir, state.EventsFile)
		if _, statErr := os.Stat(path); statErr == nil {
			file, err := openAppend(path, state.EventsOffset)
			if err == nil {
				return &tensorBoard{file: file}, nil
			}
			if !errors.Is(err, errShort) {
				return nil, err
			}
			if err := fsx.OS.Remove(path); err != nil { // all that it held is in metrics.jsonl
				return nil, fmt.Errorf("remove a cut event file: %w", err)
			}
		}
	}
	path := filepath.Join(opt.Dir, fmt.Sprintf("%s%010d.%s%s", eventsPrefix, opt.Now().Unix(), cmp.Or(opt.Job, "chessbrain"), eventsSuffix))
	file, err := openAppend(path, 0)
	if err != nil {
		return nil, err
	}
	b := &tensorBoard{file: file}
	if err := b.rebuild(metrics, opt.Now()); err != nil {
		return nil, errors.Join(err, file.close())
	}
	return b, nil
}

// rebuild writes the version event and the scalars of everything in
// metrics.jsonl.
func (b *tensorBoard) rebuild(metrics string, now time.Time) error {
	if err := b.write(&tfEvent{wallTime: wallTime(now), version: boardVersion}); err != nil {
		return err
	}
	in, err := fsx.Open(metrics)
	if err != nil {
		return fmt.Errorf("read metrics: %w", err)
	}
	defer in.Close()
	_, err = Replay(in, b.Handle)
	return err
}

// Handle implements Sink.
func (b *tensorBoard) Handle(e Event) error {
	x, scalars := Scalars(e)
	if len(scalars) == 0 {
		return nil
	}
	return b.write(&tfEvent{wallTime: wallTime(e.Head().Time), step: x, scalars: scalars})
}

func (b *tensorBoard) write(e *tfEvent) error {
	b.msg = e.append(b.msg[:0])
	b.data = appendRecord(b.data[:0], b.msg)
	_, err := b.file.Write(b.data)
	return err
}

func wallTime(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

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
