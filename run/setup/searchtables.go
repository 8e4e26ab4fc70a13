package setup

import (
	"path/filepath"

	"github.com/chessbrain/chessbrain/chess/syzygy"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/mcts"
)

// searchTables opens the endgame tables of mcts.syzygy_path, nil = none, for all
// searches of the process. A file that is broken from the start is refused, as
// what it holds would silently be searched. Errors are *config.Error.
func searchTables(m *config.MCTS) (mcts.Prober, error) {
	path := m.GetSyzygyPath()
	if path == "" {
		return nil, nil
	}
	tables, err := syzygy.Open(filepath.SplitList(path)...)
	if err == nil {
		err = tables.Err()
	}
	if err != nil {
		return nil, &config.Error{Field: "mcts.syzygy_path", Reason: err.Error(), Remedy: "name the directories that hold the tables"}
	}
	return tables, nil
}
