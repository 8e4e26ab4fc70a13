package daemon

import (
	"encoding/json"
	"io"
	"os"

	"github.com/chessbrain/chessbrain/run"
)

// maxResult is the largest result of a match that is read, in bytes.
const maxResult = 1 << 20

// gates watches the matches of a run's gatekeeper, which is another process:
// each leaves RUN/gatekeeper/<net>/result.json when it has decided.
type gates struct {
	dir  run.Dir
	seen map[string]bool // nets whose result is known
}

// open begins with what is decided already, which is not told again.
func (g *gates) open(root string) {
	*g = gates{dir: run.Dir{Root: root}, seen: map[string]bool{}}
	g.fresh()
}

// fresh returns the results that are new, by the nets' names. One that is not
// there yet, or not JSON, is looked for again.
func (g *gates) fresh() (results []json.RawMessage) {
	nets, err := os.ReadDir(g.dir.Gates())
	if err != nil {
		return nil // there is no gatekeeper, or not yet
	}
	for _, net := range nets {
		if g.seen[net.Name()] {
			continue
		}
		data, err := readSmall(g.dir.GateResult(net.Name()))
		if err != nil || !json.Valid(data) {
			continue
		}
		g.seen[net.Name()] = true
		results = append(results, data)
	}
	return results
}

// readSmall reads a file of at most maxResult bytes; of a larger one it returns
// the beginning, which is not JSON.
func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxResult))
}
