package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

func TestExporter(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings map[string]string
		says     string // of the error; "" = none
		restarts uint64
	}{
		{"good", nil, "", 0},
		{"one death", map[string]string{"die": "1"}, "", 1},
		{"two deaths", map[string]string{"die": "2"}, "exporter writer: died while it exported net-s5 (exit status 9", 1},
		{"refusal", map[string]string{"refuse": "1"}, "exporter writer: refused: export: not this net", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			temp := shortTemp(t)
			b := newBench(t, []string{"writer"}, nil)
			e, err := b.Exporter(t.Context(), stage.Choice{Name: "writer", Settings: c.settings})
			if err != nil {
				t.Fatal(err)
			}
			dst := t.TempDir()
			checkpoint := &stage.Checkpoint{Net: stage.NetInfo{Name: "net-s5"}, Arch: []byte("{}"),
				Tensors: []stage.Tensor{{Name: "w", Shape: []int{2, 3}, Data: make([]float32, 6)}}}
			files, err := e.Export(inTime(t), checkpoint, dst)
			left, _ := os.ReadDir(dst)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) || len(left) != 0 {
					t.Errorf("error %v, want one with %q; %d files left", err, c.says, len(left))
				}
			} else {
				data, readErr := os.ReadFile(filepath.Join(dst, "net-s5.txt"))
				if err != nil || readErr != nil || len(files) != 1 || files[0] != filepath.Join(dst, "net-s5.txt") || string(data) != "net net-s5" {
					t.Errorf("files %v, %v, %v", files, err, readErr)
				}
			}
			st := b.Stats()[0]
			if st.Restarts != c.restarts || c.says == "" && (st.Calls != 1 || st.Bytes != 10) {
				t.Errorf("statistics %+v", st)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if left, _ := os.ReadDir(temp); len(left) != 0 { // what a process that died in an export left, too
				t.Errorf("%v is left", left)
			}
		})
	}
}

// A disk that refuses the files is not the plugin's fault.
func TestExporterDisk(t *testing.T) {
	b := newBench(t, []string{"writer"}, nil)
	e, err := b.Exporter(t.Context(), stage.Choice{Name: "writer"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	filetest.Write(t, file, "")
	var own *Error
	_, err = e.Export(inTime(t), &stage.Checkpoint{Net: stage.NetInfo{Name: "n"}}, file)
	if err == nil || errors.As(err, &own) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Export(ctx, &stage.Checkpoint{}, file); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if st := b.Stats()[0]; st.Restarts != 0 {
		t.Errorf("%d restarts", st.Restarts)
	}
}
