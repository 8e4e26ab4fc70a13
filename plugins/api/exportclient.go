package api

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/grpc"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

type exportStream = grpc.BidiStreamingClient[pluginpb.ExportRequest, pluginpb.ExportReply]

// Export has a plugin that is open export a checkpoint: it sends it, the games too where
// the plugin needs them and there are any, and writes the files that come back into dst
// of fsys. Each is complete and durable under its name when nil is returned; after an
// error none is there. A bad file name, a file without its end or of another hash wraps
// ErrAnswer.
func (c *Conn) Export(ctx context.Context, d *stage.Definition, fsys fsx.FS, of *stage.Checkpoint,
	dst string) ([]string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stream, err := pluginpb.NewExporterClient(c.cc).Export(ctx, callOptions()...)
	if err != nil {
		return nil, explain("export", err)
	}
	sent := make(chan error, 1)
	go func() {
		err := sendCheckpoint(stream, d, of)
		if errors.Is(err, io.EOF) {
			err = nil // the plugin has ended the stream: the answer says why
		}
		if err != nil {
			cancel(err)
		}
		sent <- err
	}()
	files := &incoming{fsys: fsys, dst: dst}
	err = receiveFiles(stream, files)
	if err != nil {
		cancel(err)
	}
	if sendErr := <-sent; sendErr != nil && context.Cause(ctx) == sendErr {
		err = sendErr // it came first: what was received is its consequence
	}
	if err != nil {
		files.discard()
		return nil, err
	}
	return files.commit()
}

// sendCheckpoint sends a checkpoint. io.EOF: the plugin ended the stream.
func sendCheckpoint(stream exportStream, d *stage.Definition, c *stage.Checkpoint) error {
	withGames := d.Has(stage.NeedsGames) && c.Games != nil
	header := &pluginpb.ExportHeader{
		Name: c.Net.Name, Id: c.Net.ID, Step: c.Net.Step, Samples: c.Net.Samples, Rows: c.Net.Rows,
		Arch: c.Arch, Metadata: c.Metadata, HasGames: withGames,
	}
	for _, t := range c.Tensors {
		info := &pluginpb.TensorInfo{Name: t.Name}
		for _, n := range t.Shape {
			info.Shape = append(info.Shape, uint64(n))
		}
		header.Tensors = append(header.Tensors, info)
	}
	if err := stream.Send(&pluginpb.ExportRequest{Part: &pluginpb.ExportRequest_Header{Header: header}}); err != nil {
		return explainSend(err)
	}
	piece := make([]byte, 0, pieceBytes)
	for i, t := range c.Tensors {
		for data := range slices.Chunk(t.Data, pieceBytes/4) {
			var err error
			if piece, err = binary.Append(piece[:0], binary.LittleEndian, data); err != nil {
				return err
			}
			part := &pluginpb.ExportRequest_Tensor{Tensor: &pluginpb.TensorPiece{Tensor: uint32(i), Data: piece}}
			if err := stream.Send(&pluginpb.ExportRequest{Part: part}); err != nil {
				return explainSend(err)
			}
		}
	}
	if withGames {
		if err := sendGames(stream, c, d.Has(stage.NeedsLegalMoves)); err != nil {
			return err
		}
	}
	return explain("export", stream.CloseSend())
}

// sendGames sends the games in batches, legal: with the legal moves.
func sendGames(stream exportStream, c *stage.Checkpoint, legal bool) error {
	var pool []*pluginpb.Game // reused from batch to batch
	n, bytes := 0, 0
	flush := func() error {
		batch := &pluginpb.GameBatch{Games: pool[:n]}
		n, bytes = 0, 0
		return explainSend(stream.Send(&pluginpb.ExportRequest{Part: &pluginpb.ExportRequest_Games{Games: batch}}))
	}
	for g, err := range c.Games {
		if err != nil {
			return fmt.Errorf("export: games: %w", err)
		}
		size := GameSize(g)
		if n > 0 && bytes+size > BatchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		if n == len(pool) {
			pool = append(pool, new(pluginpb.Game))
		}
		if err := encodeFor(pool[n], g, legal); err != nil {
			return fmt.Errorf("export: game %x: %w", g.ID, err)
		}
		n, bytes = n+1, bytes+size
	}
	if n == 0 {
		return nil
	}
	return flush()
}

// explainSend leaves io.EOF as it is.
func explainSend(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return explain("export", err)
}

// receiveFiles writes what the plugin sends until it ends the stream.
func receiveFiles(stream exportStream, files *incoming) error {
	for {
		reply, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return files.finish()
		}
		if err != nil {
			return explain("export", err)
		}
		if err := files.piece(reply); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
}
