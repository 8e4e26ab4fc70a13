package lc0

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/chessbrain/chessbrain/encoding/lc0/netpb"
	"github.com/chessbrain/chessbrain/nn"
)

const (
	netMagic = 0x1c0
	// maxNetBytes bounds the unpacked file; the largest known nets have 0.8 GB.
	maxNetBytes = 1 << 30
	// A gzipped one may unpack to so many bytes, and to so many more for each packed one:
	// weights hardly shrink, where a file made for that shrinks by 1032.
	unpackedBytes, unpackedShare = 64 << 20, 16
	// maxNetMessages bounds the layers and blocks of a file; two bytes can make one, of
	// a hundred and more. The largest known nets have some thousands.
	maxNetMessages = 1 << 16
	netPiece       = 1 << 20 // is read at once
)

// NetInfo is what a network file says besides the weights.
type NetInfo struct {
	License       string
	MinVersion    [3]uint32 // of the engine: major, minor, patch
	TrainingSteps uint32
	Folded        bool // no convolution has batch norm: it is folded into the weights
	// OtherHeads are those of the file that the net cannot have, such as "policy opponent".
	// ReadNet alone sets it.
	OtherHeads string
}

// IsNet says whether a file that begins with head (16 bytes are enough) may be
// one for ReadNet: gzip, or a protobuf message that begins with Leela's magic.
func IsNet(head []byte) bool {
	return bytes.HasPrefix(head, []byte{0x1f, 0x8b}) || bytes.HasPrefix(head, []byte{0x0d, 0xc0, 0x01, 0, 0})
}

// ReadNet reads a network file, gzipped or not: residual towers with or without
// squeeze-and-excitation, attention bodies with or without smolgen, all input formats,
// convolutional, classical or attention policy, WDL or scalar value, moves left or none,
// all layer encodings, several policy and value heads. The net computes
// what Leela's does, up to rounding. Errors wrap ErrCorrupt, ErrUnsupported, or
// are the reader's.
func ReadNet(r io.Reader) (*nn.Net, *NetInfo, error) {
	data, err := unpack(r)
	if err != nil {
		return nil, nil, fmt.Errorf("read Leela net: %w", err)
	}
	var file netpb.Net
	if !fewMessages(data, file.ProtoReflect().Descriptor(), new(int)) {
		return nil, nil, fmt.Errorf("read Leela net: %w: more than %d layers", ErrCorrupt, maxNetMessages)
	}
	if err := proto.Unmarshal(data, &file); err != nil {
		return nil, nil, fmt.Errorf("read Leela net: %w: %w", ErrCorrupt, err)
	}
	if file.GetMagic() != netMagic {
		return nil, nil, fmt.Errorf("read Leela net: %w: magic %#x, want %#x", ErrCorrupt, file.GetMagic(), netMagic)
	}
	format := networkFormat(&file)
	net, info, err := convert(&file, format)
	if err != nil {
		return nil, nil, fmt.Errorf("read Leela net: %w", err)
	}
	v := file.GetMinVersion()
	info.License, info.TrainingSteps = file.GetLicense(), file.GetTrainingParams().GetTrainingSteps()
	info.MinVersion = [3]uint32{v.GetMajor(), v.GetMinor(), v.GetPatch()}
	return net, info, nil
}

// unpack returns the protobuf bytes.
func unpack(r io.Reader) ([]byte, error) {
	packed := &metered{r: r}
	br := bufio.NewReader(packed)
	if head, _ := br.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return readAll(br, func() int { return maxNetBytes })
	}
	z, err := gzip.NewReader(br)
	if err != nil {
		return nil, gzipError(err)
	}
	data, err := readAll(z, func() int { return min(unpackedBytes+unpackedShare*packed.n, maxNetBytes) })
	return data, gzipError(err)
}

// metered counts what is read through it.
type metered struct {
	r io.Reader
	n int
}

func (c *metered) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// fewMessages says whether a message of the described kind holds at most maxNetMessages
// others, of which n were seen. Whether it is well formed is proto.Unmarshal's to say.
func fewMessages(data []byte, d protoreflect.MessageDescriptor, n *int) bool {
	for len(data) > 0 && *n <= maxNetMessages {
		number, kind, size := protowire.ConsumeTag(data)
		if size < 0 {
			break
		}
		data = data[size:]
		if size = protowire.ConsumeFieldValue(number, kind, data); size < 0 {
			break
		}
		if field := d.Fields().ByNumber(number); kind == protowire.BytesType && field != nil && field.Message() != nil {
			*n++
			inner, _ := protowire.ConsumeBytes(data)
			fewMessages(inner, field.Message(), n)
		}
		data = data[size:]
	}
	return *n <= maxNetMessages
}

// gzipError marks what gzip says of damaged data; other errors stay the reader's.
func gzipError(err error) error {
	var flateError flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.As(err, &flateError) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

// readAll reads to the end, but no more than limit allows, which may grow meanwhile.
func readAll(r io.Reader, limit func() int) ([]byte, error) {
	var data bytes.Buffer
	for {
		_, err := io.CopyN(&data, r, netPiece)
		if most := limit(); err == nil && data.Len() > most || data.Len() > maxNetBytes {
			return nil, fmt.Errorf("%w: more than %d bytes", ErrUnsupported, most)
		}
		if err == io.EOF {
			return data.Bytes(), nil
		}
		if err != nil {
			return data.Bytes(), err
		}
	}
}
