package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor"
)

// The numbers of a run without a name are labelled with the job that it has.
func TestPrometheusJob(t *testing.T) {
	e, err := config.Resolve(config.Input{Overrides: []string{"metrics.addr=127.0.0.1:0", "run_dir=" + filepath.Join(t.TempDir(), "night")}})
	if err != nil {
		t.Fatal(err)
	}
	s := &session{effective: e}
	address, err := s.serveMetrics()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := s.readers[0].Handle(&monitor.Episode{Episode: 1}); err != nil {
		t.Fatal(err)
	}
	page, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	if text, err := io.ReadAll(page.Body); err != nil || !strings.Contains(string(text), `chessbrain_episodes{job_id="night"} 1`) {
		t.Errorf("%v:\n%s", err, text)
	}
}
