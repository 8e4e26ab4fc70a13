package daemon

import (
	"math"

	"github.com/chessbrain/chessbrain/replay/loader"
)

// loaderMetrics is the JSON form of lczero's DataLoaderMetricsProto: field names
// as in its schema, nothing that is not in it, for its reader refuses that.
type loaderMetrics struct {
	Stages []stageMetrics `json:"stage_metrics"`
}

type stageMetrics struct {
	Name   string         `json:"name"`
	Queues []queueMetrics `json:"queue_metrics,omitempty"`
	Counts []countMetric  `json:"count_metrics,omitempty"`
	Gauges []gaugeMetric  `json:"gauge_metrics,omitempty"`
}

type queueMetrics struct {
	Name     string    `json:"name"`
	Puts     uint64    `json:"put_count"`
	Gets     uint64    `json:"get_count"`
	Drops    uint64    `json:"drop_count"`
	Fullness *fullness `json:"queue_fullness,omitempty"`
	Capacity uint64    `json:"queue_capacity"`
}

// fullness is StatisticsProtoInt64 of one look.
type fullness struct {
	Min    int64 `json:"min"`
	Max    int64 `json:"max"`
	Sum    int64 `json:"sum"`
	Count  int64 `json:"count"`
	Latest int64 `json:"latest"`
}

type countMetric struct {
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

type gaugeMetric struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

// metricsOf are the loader's counters since its start, or what passed the queues in the
// last complete second. Of that second the loader keeps what got into each queue and
// stayed; so many are given as put and as got.
func metricsOf(s *loader.Stats, total bool) *loaderMetrics {
	m := &loaderMetrics{Stages: []stageMetrics{}}
	for _, st := range s.Stages {
		one := stageMetrics{Name: st.Name}
		for _, o := range st.Outputs {
			q := queueMetrics{Name: o.Name, Fullness: look(o.Length), Capacity: uint64(o.Capacity)}
			if total {
				q.Puts, q.Gets, q.Drops = o.Puts, o.Gets, o.Drops
			} else if len(o.Passed) > 0 {
				q.Puts, q.Gets = o.Passed[0], o.Passed[0]
			}
			one.Queues = append(one.Queues, q)
		}
		for _, c := range st.Counters {
			switch {
			case !total:
			case c.Gauge:
				one.Gauges = append(one.Gauges, gaugeMetric{c.Name, whole(c.Value)})
			default:
				one.Counts = append(one.Counts, countMetric{c.Name, whole(c.Value)})
			}
		}
		m.Stages = append(m.Stages, one)
	}
	return m
}

func look(fill int) *fullness {
	n := int64(fill)
	return &fullness{Min: n, Max: n, Sum: n, Count: 1, Latest: n}
}

// whole rounds a counter; lczero's are whole and not negative.
func whole(v float64) uint64 {
	if !(v > 0) || v > math.MaxInt64 {
		return 0
	}
	return uint64(math.Round(v))
}
