package api

import (
	"context"
	"fmt"
	"maps"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec that replyCodec stands on
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

const (
	// ProtocolVersion is the version of plugin.proto and of what it refers to: the
	// numbers of record's enums and flags, and the order in which package chess
	// generates moves.
	ProtocolVersion = 3

	// BatchBytes is what the games of a message add up to, about; a bigger game
	// travels alone.
	BatchBytes = 1 << 20

	// MaxMessage is the limit of a message in both directions, on both sides.
	MaxMessage = 32 << 20

	// MaxState is the size of the largest state of a sampler.
	MaxState = 31 << 20

	// MaxDraw is the number of rows of the largest draw of a Sampler.
	MaxDraw = 1 << 20

	// pieceBytes is the size of the pieces that tensors and files travel in.
	pieceBytes = 1 << 20

	// flowWindow is how much may be under way on a stream or connection before the
	// receiver has read it: several batches.
	flowWindow = 8 << 20

	// ioBuffer is gRPC's buffer for reading and writing a connection.
	ioBuffer = 256 << 10
)

// Handshake is what host and plugin must agree on before they speak. The cookie
// only tells a program that it was started as a plugin: it is no secret.
var Handshake = goplugin.HandshakeConfig{
	ProtocolVersion:  ProtocolVersion,
	MagicCookieKey:   "CHESSBRAIN_PLUGIN",
	MagicCookieValue: "chessbrain",
}

// ServerOptions are for the plugin's gRPC server: message limits and buffers.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage),
		grpc.InitialWindowSize(flowWindow), grpc.InitialConnWindowSize(flowWindow),
		grpc.ReadBufferSize(ioBuffer), grpc.WriteBufferSize(ioBuffer),
	}
}

// DialOptions are for the host's connection: message limits and buffers.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(callOptions()...),
		grpc.WithInitialWindowSize(flowWindow), grpc.WithInitialConnWindowSize(flowWindow),
		grpc.WithReadBufferSize(ioBuffer), grpc.WithWriteBufferSize(ioBuffer),
	}
}

// callOptions are the message limits of one call. Each call of a Conn has them
// itself, because go-plugin's client sets limits of its own on the connection.
func callOptions() []grpc.CallOption {
	return []grpc.CallOption{grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)}
}

// PluginName is the key of the one plugin in a Set.
const PluginName = "stage"

// Set returns go-plugin's set of plugins for both sides. The plugin serves d; the
// host gives nil, and what its client dispenses is a *Conn.
func Set(d *stage.Definition) goplugin.PluginSet {
	return goplugin.PluginSet{PluginName: &stagePlugin{definition: d}}
}

// stagePlugin is a stage in go-plugin's terms.
type stagePlugin struct {
	goplugin.NetRPCUnsupportedPlugin
	definition *stage.Definition
}

var _ goplugin.GRPCPlugin = (*stagePlugin)(nil)

// GRPCServer is called on the plugin's side.
func (p *stagePlugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	Register(s, p.definition)
	return nil
}

// GRPCClient is called on the host's side.
func (p *stagePlugin) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, cc *grpc.ClientConn) (any, error) {
	return NewConn(cc), nil
}

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

// Conn is the host's side of a connection to one plugin process. It is safe for
// concurrent use; what is made from it says otherwise where it is not.
type Conn struct{ cc grpc.ClientConnInterface }

// NewConn returns the host's side of a connection.
func NewConn(cc grpc.ClientConnInterface) *Conn { return &Conn{cc} }

// Describe asks what the plugin is. The definition is validated; it has no New
// functions. Any number of calls, before Open or after it.
func (c *Conn) Describe(ctx context.Context) (*stage.Definition, error) {
	d, err := pluginpb.NewStageClient(c.cc).Describe(ctx, &pluginpb.DescribeRequest{}, grpc.MaxCallRecvMsgSize(maxDescription))
	if err != nil {
		return nil, explain("describe itself", err)
	}
	return decodeDefinition(d)
}

// Open makes the one instance of the plugin's process, once. The settings are
// checked against d, which Describe returned, before the plugin sees them.
func (c *Conn) Open(ctx context.Context, d *stage.Definition, settings map[string]string) error {
	if _, err := d.Values(settings); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	_, err := pluginpb.NewStageClient(c.cc).Open(ctx, &pluginpb.OpenRequest{Settings: maps.Clone(settings)}, callOptions()...)
	return explain("open", err)
}
