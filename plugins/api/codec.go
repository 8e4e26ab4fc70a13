package api

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec that replyCodec stands on
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
)

// maxGames is the number of games that a message may hold. A game has more than
// BatchBytes/maxGames bytes, so that no batch comes to it.
const maxGames = 1 << 15

// replyCodec is gRPC's codec, but it does not decode an answer of more than maxGames
// outcomes, or maxAhead batches. MaxMessage bytes of empty ones would take more than a
// GiB of memory.
type replyCodec struct{ encoding.CodecV2 }

func newReplyCodec() replyCodec { return replyCodec{encoding.GetCodecV2("proto")} }

// Unmarshal decodes one message.
func (c replyCodec) Unmarshal(data mem.BufferSlice, v any) error {
	var parts string
	var field protowire.Number
	var most int
	switch v.(type) {
	case *pluginpb.RescoreReply:
		parts, field, most = "outcomes", 2, maxGames
	case *pluginpb.SampleReply:
		parts, field, most = "batches", 1, maxAhead
	default:
		return c.CodecV2.Unmarshal(data, v)
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	if n := countFields(buffer.ReadOnlyData(), field); n > most {
		return fmt.Errorf("%d %s in a message, at most %d", n, parts, most)
	}
	return proto.Unmarshal(buffer.ReadOnlyData(), v.(proto.Message))
}

// countFields counts the fields of a number in a message, up to where the message
// is broken.
func countFields(message []byte, number protowire.Number) (n int) {
	for len(message) > 0 {
		got, _, size := protowire.ConsumeField(message)
		if size < 0 {
			return n
		}
		if got == number {
			n++
		}
		message = message[size:]
	}
	return n
}
