package api

import (
	"context"
	"fmt"
	"maps"

	"google.golang.org/grpc"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Conn is the host's side of a connection to one plugin process. It is safe for
// concurrent use; what is made from it says otherwise where it is not.
type Conn struct {
	stage    pluginpb.StageClient
	rescorer pluginpb.RescorerClient
	sampler  pluginpb.SamplerClient
	exporter pluginpb.ExporterClient
	options  []grpc.CallOption
}

// NewConn returns the host's side of a connection.
func NewConn(cc grpc.ClientConnInterface) *Conn {
	return &Conn{
		stage: pluginpb.NewStageClient(cc), rescorer: pluginpb.NewRescorerClient(cc),
		sampler: pluginpb.NewSamplerClient(cc), exporter: pluginpb.NewExporterClient(cc),
		options: callOptions(),
	}
}

// Describe asks what the plugin is. The definition is validated; it has no New
// functions. Any number of calls, before Open or after it.
func (c *Conn) Describe(ctx context.Context) (*stage.Definition, error) {
	d, err := c.stage.Describe(ctx, &pluginpb.DescribeRequest{}, grpc.MaxCallRecvMsgSize(maxDescription))
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
	_, err := c.stage.Open(ctx, &pluginpb.OpenRequest{Settings: maps.Clone(settings)}, c.options...)
	return explain("open", err)
}

// State is a sampler's saved state.
type State struct {
	Name    string // of the section, as a rule the stage's name
	Version int    // of the layout of Data
	Data    []byte
}

// Seed starts the random sequence (seed, stream) of the plugin's sampler.
func (c *Conn) Seed(ctx context.Context, seed, stream uint64) error {
	_, err := c.sampler.Seed(ctx, &pluginpb.SeedRequest{Seed: seed, Stream: stream}, c.options...)
	return explain("seed", err)
}

// Save returns the state of the plugin's sampler.
func (c *Conn) Save(ctx context.Context) (State, error) {
	p, err := c.sampler.Save(ctx, &pluginpb.SaveRequest{}, c.options...)
	if err != nil {
		return State{}, explain("save its state", err)
	}
	return decodeState(p)
}

// Load replaces the state of the plugin's sampler. On error the state is as it
// was, unless the plugin is gone.
func (c *Conn) Load(ctx context.Context, s State) error {
	if len(s.Data) > MaxState {
		return fmt.Errorf("load a state: %d bytes, at most %d", len(s.Data), MaxState)
	}
	_, err := c.sampler.Load(ctx, encodeState(s), c.options...)
	return explain("load a state", err)
}
