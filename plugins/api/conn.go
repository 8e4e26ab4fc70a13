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
