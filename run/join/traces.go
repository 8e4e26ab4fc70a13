package join

import (
	"fmt"
	"strconv"
	"time"

	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/internal/monitor"
)

// spanOf is a span of a chunk's trace. The trace is named after the chunk's content, so
// that the machines that tell of it need not agree on a name. Its first span, of the
// player, is the parent of the others.
func spanOf(sum, name string, start time.Time, bytes int) monitor.Span {
	s := monitor.Span{Trace: sum[:32], Parent: sum[32:48], Name: name, Start: start, End: time.Now(), Attributes: map[string]string{"chunk.bytes": strconv.Itoa(bytes)}}
	s.ID = fleet.SumOf(fmt.Append(nil, sum, name, start.UnixNano()))[:16]
	if name == spanPlayed {
		s.ID, s.Parent = s.Parent, ""
	}
	return s
}

// Spans of a chunk: from its first game until the run has settled it; from its first
// delivery until then; in the run, from its arrival until the player is told; and from then
// on until the first batch that may hold positions of it is trained on.
const (
	spanPlayed    = "chunk"
	spanDelivered = "deliver"
	spanTaken     = "ingest"
	spanTrained   = "train"
)
