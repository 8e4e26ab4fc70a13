package plugintest

import (
	"path/filepath"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/faulty"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// exporterFaults are the modes of an exporter's call, with words of what the
// host says of them.
var exporterFaults = map[faulty.Mode]string{
	faulty.Exit: "exit status 7", faulty.Panic: "panicking in the middle of a call", faulty.Status: "no luck today",
	faulty.Hang: "no answer within 1s", faulty.Drip: "no answer within 1s", faulty.Endless: "no answer within 1s",
	faulty.Huge: "larger than max", faulty.TooFew: "no file", faulty.BadName: `"../escaped"`,
	faulty.BadHash: "SHA-256", faulty.CutFile: "has no end",
}

// tryExporter makes the faulty exporter of a plan.
func tryExporter(t *testing.T, plan faulty.Plan) (*trial, stage.Exporter) {
	t.Helper()
	r := try(t, plan, func(o *host.Options) {
		if plan.Mode == faulty.Endless {
			o.CallTimeout = short // nothing else ends a file that grows and grows
		}
	})
	s, err := r.Exporter(t.Context(), stage.Choice{Name: faulty.Name})
	if err != nil {
		t.Fatal(err)
	}
	return r, s
}

// TestExporterFaultsOnce lets the first process misbehave in each way: the files
// of the export are whole all the same, and so are those of the next one.
func TestExporterFaultsOnce(t *testing.T) {
	c := Checkpoint(freshSeed(t), nil)
	size := 0
	for _, tensor := range c.Tensors {
		size += 4 * len(tensor.Data)
	}
	for mode, words := range exporterFaults {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			plan := faulty.Plan{Kind: stage.KindExporter, Mode: mode, Once: filepath.Join(t.TempDir(), "once")}
			r, s := tryExporter(t, plan)
			e := &exporting{suite: &suite{ctx: t.Context()}}
			for _, dst := range []string{"first", "second"} {
				dst = filepath.Join(t.TempDir(), dst)
				files, err := e.export(Stage{Exporter: s, FS: fsx.OS}, c, dst)
				for try := 0; err != nil && r.o.CallTimeout == short && try < 5; try++ { // on a busy machine
					files, err = e.export(Stage{Exporter: s, FS: fsx.OS}, c, dst)
				}
				if err != nil {
					t.Fatalf("%s export: %v", dst, err)
				}
				if n := len(files[c.Net.Name+".tensors"]); n != size || len(files) != 2 {
					t.Errorf("%s export: %d files, %d bytes of tensors, want 2 and %d", dst, len(files), n, size)
				}
			}
			r.wantFailure(stage.KindExporter, words)
		})
	}
}

// TestExporterFaults lets every process misbehave in each way: the error names
// the plugin and what it did, and no file is left.
func TestExporterFaults(t *testing.T) {
	c := Checkpoint(freshSeed(t), nil)
	for mode, words := range exporterFaults {
		if mode == faulty.Drip {
			continue // as Hang: twice its deadline
		}
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			_, s := tryExporter(t, faulty.Plan{Kind: stage.KindExporter, Mode: mode})
			root := t.TempDir()
			_, err := s.Export(t.Context(), c, filepath.Join(root, "out"))
			wantError(t, err, stage.KindExporter, words)
			if files, err := tree(fsx.OS, root); err != nil || len(files) > 0 {
				t.Errorf("after the error there are %d files, %v", len(files), err)
			}
		})
	}
}
