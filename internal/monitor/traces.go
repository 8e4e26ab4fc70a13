package monitor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Span is a piece of work of which several processes tell: a part of a trace. Its ids are
// hexadecimal, as OpenTelemetry has them.
type Span struct {
	Trace, ID, Parent string // of 16, 8 and 8 bytes; Parent "" = none
	Name              string
	Start, End        time.Time
	Attributes        map[string]string
	Failed            string // "" = it did not
}

// Traces sends spans to a collector of OpenTelemetry: OTLP 1.0 over HTTP, in JSON
// (opentelemetry.io/docs/specs/otlp). Those that cannot be sent are dropped. A nil *Traces
// drops all. Its methods may be called concurrently.
type Traces struct {
	url, version, instance string
	log                    *slog.Logger
	client                 http.Client
	stop                   chan struct{}
	done                   sync.WaitGroup

	mu      sync.Mutex
	spans   []Span
	dropped int
	failed  bool // the newest try to send; that was said
}

const (
	tracesEvery = 2 * time.Second // between two messages
	tracesTime  = 2 * time.Second // for an answer
	tracesRoom  = 4096            // spans that wait
)

// OpenTraces returns the traces of a process, whose name is for people, for the collector at
// an address such as http://127.0.0.1:4318. "" = none.
func OpenTraces(address, version, instance string, log *slog.Logger) *Traces {
	if address == "" {
		return nil
	}
	t := &Traces{url: strings.TrimSuffix(address, "/") + "/v1/traces", version: version, instance: instance, log: log, client: http.Client{Timeout: tracesTime}, stop: make(chan struct{})}
	t.done.Go(func() {
		for open := true; open; {
			select {
			case <-time.After(tracesEvery):
			case <-t.stop:
				open = false
			}
			t.flush()
		}
	})
	return t
}

// Close sends what waits.
func (t *Traces) Close() error {
	if t != nil {
		close(t.stop)
		t.done.Wait()
	}
	return nil
}

// Add takes a span.
func (t *Traces) Add(s Span) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.spans) == tracesRoom {
		t.dropped++
		return
	}
	t.spans = append(t.spans, s)
}

// flush sends what waits, and says once that it cannot.
func (t *Traces) flush() {
	t.mu.Lock()
	spans := t.spans
	t.spans = nil
	t.mu.Unlock()
	if len(spans) == 0 {
		return
	}
	err := t.send(spans)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.dropped += len(spans)
	}
	switch {
	case err != nil && !t.failed:
		t.log.Warn("the collector of traces takes no spans; they are dropped", "error", err)
	case err == nil && t.dropped > 0:
		t.log.Info("the collector of traces takes spans", "dropped_before", t.dropped)
		t.dropped = 0
	}
	t.failed = err != nil
}

func (t *Traces) send(spans []Span) error {
	body, err := json.Marshal(otlpOf(t.version, t.instance, spans))
	if err != nil {
		return err
	}
	r, err := t.client.Post(t.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(r.Body, 1<<16))
	if r.StatusCode/100 != 2 {
		err = fmt.Errorf("the collector answers %s", r.Status)
	}
	return errors.Join(err, r.Body.Close())
}

// otlp is the part of an ExportTraceServiceRequest that is used.
type otlp struct {
	ResourceSpans [1]struct {
		Resource   otlpAttributes `json:"resource"`
		ScopeSpans [1]struct {
			Scope otlpScope  `json:"scope"`
			Spans []otlpSpan `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

type otlpScope struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type otlpSpan struct {
	TraceID string `json:"traceId"`
	SpanID  string `json:"spanId"`
	Parent  string `json:"parentSpanId,omitempty"`
	Name    string `json:"name"`
	Kind    int    `json:"kind"`
	Start   string `json:"startTimeUnixNano"`
	End     string `json:"endTimeUnixNano"`
	otlpAttributes
	Status struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	} `json:"status"`
}

type otlpAttributes struct {
	Attributes []otlpAttribute `json:"attributes"`
}

type otlpAttribute struct {
	Key   string `json:"key"`
	Value struct {
		Text string `json:"stringValue"`
	} `json:"value"`
}

const (
	spanInternal = 1
	spanError    = 2
)

func (a *otlpAttributes) add(key, value string) {
	x := otlpAttribute{Key: key}
	x.Value.Text = value
	a.Attributes = append(a.Attributes, x)
}

// otlpOf is the message that says so.
func otlpOf(version, instance string, spans []Span) (m otlp) {
	r := &m.ResourceSpans[0]
	r.Resource.add("service.name", "chessbrain")
	r.Resource.add("service.instance.id", instance)
	r.ScopeSpans[0].Scope = otlpScope{"chessbrain", version}
	nano := func(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
	for i := range spans {
		s := &spans[i]
		o := otlpSpan{TraceID: s.Trace, SpanID: s.ID, Parent: s.Parent, Name: s.Name, Kind: spanInternal, Start: nano(s.Start), End: nano(s.End)}
		o.Attributes = []otlpAttribute{}
		for key, value := range s.Attributes {
			o.add(key, value)
		}
		if s.Failed != "" {
			o.Status.Code, o.Status.Message = spanError, s.Failed
		}
		r.ScopeSpans[0].Spans = append(r.ScopeSpans[0].Spans, o)
	}
	return m
}
