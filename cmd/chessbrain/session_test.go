package main

import (
	"errors"
	"io"
	"net"
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

// TestPortInUse: an address that somebody else listens on is named once, and the remedy
// is another one.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, field := range []string{"metrics.addr", "metrics.web"} {
		e, err := config.Resolve(config.Input{Overrides: []string{field + "=" + l.Addr().String(), "run_dir=" + filepath.Join(t.TempDir(), "night")}})
		if err != nil {
			t.Fatal(err)
		}
		s := &session{effective: e}
		_, metrics := s.serveMetrics()
		_, page := s.serveWeb()
		err = errors.Join(metrics, page)
		if err == nil || strings.Count(err.Error(), "listen tcp") != 1 || !strings.Contains(err.Error(), "; take another port ") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
