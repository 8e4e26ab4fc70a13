package api

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// exportServer is the service Exporter over a stage.Exporter, which writes into a
// directory of its own that is emptied onto the stream.
type exportServer struct {
	pluginpb.UnimplementedExporterServer
	in *instance
}

type exportServerStream = grpc.BidiStreamingServer[pluginpb.ExportRequest, pluginpb.ExportReply]

// Export receives a checkpoint, exports it and sends the files.
func (s *exportServer) Export(stream exportServerStream) error {
	e, err := opened[stage.Exporter](s.in)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "chessbrain-export-")
	if err != nil {
		return refuse(codes.Internal, err)
	}
	defer os.RemoveAll(dir)
	in := &checkpointReader{}
	defer func() { in.games.close() }()
	c, err := in.read(stream)
	if err != nil {
		return err
	}
	var files []string
	err = s.in.call(stream.Context(), func() (err error) { files, err = e.Export(stream.Context(), c, dir); return err })
	if err != nil {
		return refuse(codes.Unknown, err)
	}
	for _, path := range files {
		if err := sendFile(stream, dir, path); err != nil {
			return refuse(codes.Internal, err)
		}
	}
	return nil
}

// sendFile sends a file that the stage wrote into dir.
func sendFile(stream exportServerStream, dir, path string) error {
	name := filepath.Base(path)
	if filepath.Dir(filepath.Clean(path)) != filepath.Clean(dir) {
		return fmt.Errorf("the stage wrote %s, which is not in the directory that it was given", path)
	}
	f, err := fsx.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum, piece := sha256.New(), make([]byte, pieceBytes)
	for {
		n, err := io.ReadFull(f, piece)
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		sum.Write(piece[:n])
		reply := &pluginpb.ExportReply{Name: name, Data: piece[:n]}
		if last {
			reply.Sha256 = sum.Sum(nil)
		}
		if err := stream.Send(reply); err != nil || last {
			return err
		}
	}
}

// checkpointReader puts a checkpoint together from its parts.
type checkpointReader struct {
	header *pluginpb.ExportHeader
	c      stage.Checkpoint
	wanted []uint64 // floats of each tensor
	tensor int      // the one whose pieces come
	games  *spool   // nil: there are none to be had
}

// read receives a checkpoint until the requests end. Errors are gRPC statuses.
func (r *checkpointReader) read(stream exportServerStream) (*stage.Checkpoint, error) {
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			if err := r.finish(); err != nil {
				return nil, wrongRequest("checkpoint: %s", err)
			}
			return &r.c, nil
		}
		if err != nil {
			return nil, err
		}
		if err := r.part(request); err != nil {
			return nil, wrongRequest("checkpoint: %s", err)
		}
	}
}

// part takes one message.
func (r *checkpointReader) part(request *pluginpb.ExportRequest) error {
	if h := request.GetHeader(); h != nil && r.header == nil {
		return r.begin(h)
	}
	switch {
	case r.header == nil:
		return errors.New("want the header first")
	case request.GetTensor() != nil:
		return r.piece(request.GetTensor())
	case request.GetGames() != nil && r.games != nil:
		for _, p := range request.GetGames().GetGames() {
			g, err := decodeGame(p)
			if err != nil {
				return err
			}
			if err := r.games.add(g); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("a part that does not belong there")
}

// begin takes the header.
func (r *checkpointReader) begin(h *pluginpb.ExportHeader) error {
	r.header = h
	r.c = stage.Checkpoint{
		Net:  stage.NetInfo{Name: h.GetName(), ID: h.GetId(), Step: h.GetStep(), Samples: h.GetSamples(), Rows: h.GetRows()},
		Arch: h.GetArch(), Metadata: h.GetMetadata(),
	}
	for _, info := range h.GetTensors() {
		t, floats := stage.Tensor{Name: info.GetName()}, uint64(1)
		for _, n := range info.GetShape() {
			if n > math.MaxInt32 || n > 0 && floats > math.MaxInt32/n {
				return fmt.Errorf("tensor %s: shape %v is too large", info.GetName(), info.GetShape())
			}
			floats *= n
			t.Shape = append(t.Shape, int(n))
		}
		r.c.Tensors, r.wanted = append(r.c.Tensors, t), append(r.wanted, floats)
	}
	if !h.GetHasGames() {
		return nil
	}
	file, err := os.CreateTemp("", "chessbrain-games-")
	if err != nil {
		return err
	}
	r.games = &spool{file: file, w: bufio.NewWriterSize(file, 1<<18)}
	r.c.Games = r.games.all
	return nil
}

// piece appends to a tensor. Memory grows with what has come, not with the shape.
func (r *checkpointReader) piece(p *pluginpb.TensorPiece) error {
	i := int(p.GetTensor())
	if i < r.tensor || i >= len(r.c.Tensors) {
		return fmt.Errorf("a piece of tensor %d after one of %d, of %d tensors", i, r.tensor, len(r.c.Tensors))
	}
	r.tensor = i
	t, data := &r.c.Tensors[i], p.GetData()
	if len(data)%4 != 0 || uint64(len(t.Data))+uint64(len(data)/4) > r.wanted[i] {
		return fmt.Errorf("tensor %s: a piece of %d bytes after %d floats, want %d floats in all", t.Name, len(data), len(t.Data), r.wanted[i])
	}
	for ; len(data) > 0; data = data[4:] {
		t.Data = append(t.Data, math.Float32frombits(binary.LittleEndian.Uint32(data)))
	}
	return nil
}

// finish checks that everything has come.
func (r *checkpointReader) finish() error {
	if r.header == nil {
		return errors.New("it has no header")
	}
	for i, t := range r.c.Tensors {
		if uint64(len(t.Data)) != r.wanted[i] {
			return fmt.Errorf("tensor %s: %d floats, want %d", t.Name, len(t.Data), r.wanted[i])
		}
	}
	if r.games != nil {
		return r.games.w.Flush()
	}
	return nil
}

// spool holds games on disk in the order in which they came, for a stage that may
// go through them more than once: a window does not fit into memory. Each game is
// its length, 4 bytes little-endian, and its bytes of package record.
type spool struct {
	file *os.File
	w    *bufio.Writer
	buf  []byte
	size int64
}

// add appends a game, which must be valid.
func (s *spool) add(g *record.Game) error {
	buf, err := record.Append(append(s.buf[:0], 0, 0, 0, 0), g)
	if err != nil {
		return err
	}
	s.buf = buf
	binary.LittleEndian.PutUint32(buf, uint32(len(buf)-4))
	n, err := s.w.Write(buf)
	s.size += int64(n)
	return err
}

// all yields the games, after a Flush of w. Any number of times, also at a time.
func (s *spool) all(yield func(*record.Game, error) bool) {
	r := bufio.NewReaderSize(io.NewSectionReader(s.file, 0, s.size), 1<<18)
	var size [4]byte
	for {
		if _, err := io.ReadFull(r, size[:]); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			yield(nil, fmt.Errorf("read games: %w", err))
			return
		}
		buf := make([]byte, binary.LittleEndian.Uint32(size[:])) // a game may alias its bytes
		if _, err := io.ReadFull(r, buf); err != nil {
			yield(nil, fmt.Errorf("read games: %w", err))
			return
		}
		g, _, err := record.Decode(buf)
		if !yield(g, err) || err != nil {
			return
		}
	}
}

// close removes it, if there is one.
func (s *spool) close() {
	if s != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}
