package daemon

import (
	"encoding/json"
	"os"

	"github.com/chessbrain/chessbrain/run"
)

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
		data, err := os.ReadFile(g.dir.GateResult(net.Name()))
		if err != nil || !json.Valid(data) {
			continue
		}
		g.seen[net.Name()] = true
		results = append(results, data)
	}
	return results
}
