// Package builtin holds the net inside the program, so that it plays without a run. It
// was trained from random weights on this program's own games: docs/SPEEDRUN.md says how
// to repeat that, and how strong it is.
package builtin

import (
	"bytes"
	_ "embed"
	"fmt"

	"github.com/chessbrain/chessbrain/nn"
)

//go:embed builtin.safetensors
var file []byte

// Net returns a copy of the net and the metadata of its file.
func Net() (*nn.Net, map[string]string, error) {
	net, meta, err := nn.ReadSafetensors(bytes.NewReader(file))
	if err != nil {
		return nil, nil, fmt.Errorf("the net inside the program: %w", err)
	}
	return net, meta, nil
}
