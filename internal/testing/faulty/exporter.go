package faulty

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
)

// Export writes the tensors to <name>.tensors and a text to <name>.txt.
func (s *server) Export(stream grpc.BidiStreamingServer[pluginpb.ExportRequest, pluginpb.ExportReply]) error {
	name, tensors := "", []byte(nil)
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if h := request.GetHeader(); h != nil {
			name = h.GetName()
		}
		tensors = append(tensors, request.GetTensor().GetData()...)
	}
	strikes, err := s.call(stream.Context(), nil)
	if err != nil {
		return err
	}
	mode := None
	if strikes {
		mode = s.plan.Mode
	}
	if mode == TooFew {
		return nil // not a single file
	}
	if err := sendFile(stream, name+".txt", fmt.Appendf(nil, "%d bytes of tensors\n", len(tensors))); err != nil {
		return err
	}
	return s.sendSpoilt(stream, mode, name+".tensors", tensors)
}

// exportStream is what an exporter sends files on.
type exportStream = grpc.BidiStreamingServer[pluginpb.ExportRequest, pluginpb.ExportReply]

// pieceBytes is the size of a file's pieces.
const pieceBytes = 1 << 20

// sendFile sends a file as it should be.
func sendFile(stream exportStream, name string, data []byte) error {
	sum := sha256.Sum256(data)
	for len(data) > pieceBytes {
		if err := stream.Send(&pluginpb.ExportReply{Name: name, Data: data[:pieceBytes]}); err != nil {
			return err
		}
		data = data[pieceBytes:]
	}
	return stream.Send(&pluginpb.ExportReply{Name: name, Data: data, Sha256: sum[:]})
}

// sendSpoilt sends the second file in the way that a mode wants.
func (s *server) sendSpoilt(stream exportStream, mode Mode, name string, data []byte) error {
	sum := sha256.Sum256(data)
	switch mode {
	case Huge:
		return stream.Send(&pluginpb.ExportReply{Name: name, Data: make([]byte, hugeBytes), Sha256: sum[:]})
	case Endless:
		for {
			if err := stream.Send(&pluginpb.ExportReply{Name: name, Data: data[:1]}); err != nil {
				return err
			}
		}
	case BadName:
		return sendFile(stream, "../escaped", data)
	case BadHash:
		return stream.Send(&pluginpb.ExportReply{Name: name, Data: data[1:], Sha256: sum[:]})
	case CutFile:
		return stream.Send(&pluginpb.ExportReply{Name: name, Data: data[:1]})
	}
	return sendFile(stream, name, data)
}
