package monitor

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// collector is one of OpenTelemetry that keeps what it is sent.
type collector struct {
	mu       sync.Mutex
	messages []string
	status   int
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || r.Method != "POST" || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		c.status = http.StatusBadRequest
	}
	c.messages = append(c.messages, string(body))
	w.WriteHeader(c.status)
}

// TestTraces holds what a collector is sent against OTLP's own example, and what is said
// where none answers.
func TestTraces(t *testing.T) {
	c := &collector{status: 200}
	server := httptest.NewServer(c)
	defer server.Close()
	var log strings.Builder
	x := OpenTraces(server.URL+"/", "v1", "train-7", slog.New(slog.NewTextHandler(&log, nil)))
	at := time.Unix(1544712660, 5)
	x.Add(Span{Trace: "5b8efff798038103d269b633813fc60c", ID: "eee19b7ec3c1b174", Parent: "eee19b7ec3c1b173", Name: "a", Start: at, End: at.Add(time.Second),
		Attributes: map[string]string{"my": "value"}, Failed: "why"})
	x.Add(Span{Trace: "5b8efff798038103d269b633813fc60c", ID: "eee19b7ec3c1b173", Name: "b", Start: at, End: at})
	if err := x.Close(); err != nil || log.Len() > 0 {
		t.Fatal(err, log.String())
	}
	const want = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"chessbrain"}},{"key":"service.instance.id","value":{"stringValue":"train-7"}}]},` +
		`"scopeSpans":[{"scope":{"name":"chessbrain","version":"v1"},"spans":[` +
		`{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","parentSpanId":"eee19b7ec3c1b173","name":"a","kind":1,` +
		`"startTimeUnixNano":"1544712660000000005","endTimeUnixNano":"1544712661000000005","attributes":[{"key":"my","value":{"stringValue":"value"}}],"status":{"code":2,"message":"why"}},` +
		`{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b173","name":"b","kind":1,` +
		`"startTimeUnixNano":"1544712660000000005","endTimeUnixNano":"1544712660000000005","attributes":[],"status":{}}]}]}]}`
	if len(c.messages) != 1 || c.messages[0] != want {
		t.Errorf("the collector has %s\nwant %s", c.messages, want)
	}

	c.status = 503
	x = OpenTraces(server.URL, "v1", "p", slog.New(slog.NewTextHandler(&log, nil)))
	for range tracesRoom + 3 {
		x.Add(Span{Name: "c"})
	}
	if err := x.Close(); err != nil || !strings.Contains(log.String(), "takes no spans") || !strings.Contains(log.String(), "503") {
		t.Error(err, log.String())
	}
	var none *Traces
	none.Add(Span{})
	if err := none.Close(); err != nil || OpenTraces("", "", "", nil) != nil {
		t.Error("no collector, and spans are kept")
	}
}
