package tools

import (
	"path/filepath"
	"strings"
	"testing"
)

// A file's content says what it is: each format under the name of another.
func TestOpenNetByContent(t *testing.T) {
	want, err := OpenNet("random-weights:5:4x1-plain", NetForms)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"safetensors", "lc0"} {
		path := filepath.Join(t.TempDir(), "net.onnx")
		if err := (&NetWriter{Format: format, Encoding: 4}).Write(path, want); err != nil {
			t.Fatal(err)
		}
		got, err := OpenNet(path, NetForms)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Arch.Equal(want.Arch) || got.Get("value.fc1.weight")[5] != want.Get("value.fc1.weight")[5] || got.Name != "net.onnx" {
			t.Errorf("%s: %s, a net %s", format, got.Name, got.Arch)
		}
	}
	path := filepath.Join(t.TempDir(), "net.safetensors")
	if err := (&NetWriter{Format: "onnx"}).Write(path, want); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenNet(path, NetForms); !isInput(err) || !strings.Contains(err.Error(), "ONNX") {
		t.Errorf("an ONNX model: %v", err)
	}
}
