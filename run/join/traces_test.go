package join

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
)

// TestTraces: what a player, the run and its training tell of a chunk comes together in one
// trace.
func TestTraces(t *testing.T) {
	type span struct{ TraceID, SpanID, ParentSpanID, Name string }
	var mu sync.Mutex
	spans := map[string][]span{} // by trace
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var m struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []span }
			}
		}
		if err == nil {
			err = json.Unmarshal(body, &m)
		}
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, s := range m.ResourceSpans[0].ScopeSpans[0].Spans {
			spans[s.TraceID] = append(spans[s.TraceID], s)
		}
	}))
	defer server.Close()
	log := runtest.LogTo(&said{})
	of := func(name string) *monitor.Traces { return monitor.OpenTraces(server.URL, "v1", name, log) }
	hosts, players := of("host"), of("player")
	dir, batches := t.TempDir()+"/run", NewBatches(hosts)
	link, _, closeHost := startHost(t, HostOptions{Effective: runtest.Resolve(t, dir, ""), Listen: "127.0.0.1:0", Traces: hosts, Batches: batches})
	if _, text, err := playTraced(t, t.Context(), link, filepath.Join(t.TempDir(), "a"), 3, players); err != nil {
		t.Fatal(err, text)
	}
	closeHost()
	for _, g := range gamesOf(t, dir, "p100001") {
		batches.Handle(&monitor.Episode{GameID: fmt.Sprintf("%x", g.ID)})
		batches.Handle(&monitor.Step{Step: 1})
	}
	if len(batches.waiting) > 0 {
		t.Errorf("games wait for a first batch: %v", batches.waiting)
	}
	hosts.Close()
	players.Close()
	if len(spans) == 0 {
		t.Error("nobody tells of a chunk")
	}
	for trace, list := range spans {
		names, root := []string{}, ""
		for _, s := range list {
			names = append(names, s.Name)
			if s.ParentSpanID == "" {
				root = s.SpanID
			}
		}
		slices.Sort(names)
		if !slices.Equal(names, []string{spanPlayed, spanDelivered, spanTaken, spanTrained}) || root == "" {
			t.Errorf("trace %s has the spans %v", trace, names)
		}
		for _, s := range list {
			if s.SpanID != root && s.ParentSpanID != root {
				t.Errorf("trace %s: span %s is not below the first", trace, s.Name)
			}
		}
	}
}
