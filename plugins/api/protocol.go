package api

import (
	"context"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

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
