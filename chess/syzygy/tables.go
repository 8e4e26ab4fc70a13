package syzygy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/chessbrain/chessbrain/chess"
)

// Tables are Syzygy table files of some directories. Files are read when they
// are first asked; what is held of their contents is bounded (64 MiB, and some
// tens of KiB for the head of each table in use). All methods are safe for
// concurrent use.
type Tables struct {
	wdl, dtz map[material]*file // under both orders of the sides
	men      int

	mu     sync.Mutex
	broken []error
}

// Open finds the tables (*.rtbw with results, *.rtbz with distances) in the
// directories; where a table is in several, the first counts. It fails where a
// directory cannot be read or none has a table (ErrNoTables). A file that is
// broken costs that table only: Err names it, at once or when it is first used.
func Open(dirs ...string) (*Tables, error) {
	t := &Tables{wdl: map[material]*file{}, dtz: map[material]*file{}}
	cache := newPageCache(cacheBytes)
	id := uint64(0)
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("open Syzygy tables: %w", err)
		}
		for _, e := range entries {
			id++
			t.add(dir, e.Name(), id, cache)
		}
	}
	if len(t.wdl)+len(t.dtz)+len(t.broken) == 0 {
		return nil, fmt.Errorf("open Syzygy tables in %q: %w: name the directories that hold them", dirs, ErrNoTables)
	}
	return t, nil
}

// add takes in a file if it is named as a table.
func (t *Tables) add(dir, name string, id uint64, cache *pageCache) {
	ext := filepath.Ext(name)
	if ext != ".rtbw" && ext != ".rtbz" {
		return
	}
	path := filepath.Join(dir, name)
	men, err := parseMaterial(strings.TrimSuffix(name, ext))
	if err != nil {
		t.broken = append(t.broken, &TableError{path, -1, err.Error()})
		return
	}
	index := t.wdl
	if ext == ".rtbz" {
		index = t.dtz
	}
	if index[men] != nil {
		return
	}
	f := newFile(path, men, ext == ".rtbz", id, cache)
	info, err := os.Stat(path)
	if err != nil {
		err = f.fault(-1, err.Error())
	} else {
		err = f.check(info.Size())
	}
	if err != nil {
		t.note(f, err)
		return
	}
	index[men], index[men.swapped()] = f, f
	if ext == ".rtbw" {
		t.men = max(t.men, men.men())
	}
}

// Err names the files found broken so far, each once, as *TableError joined; nil
// while there is none. Positions of their endings are answered as unknown.
func (t *Tables) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.broken...)
}

// note keeps the first fault of a file.
func (t *Tables) note(f *file, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !f.broken {
		f.broken = true
		t.broken = append(t.broken, err)
	}
}

// value returns what a file stores of b, and the part that holds it. The side
// to move is side 0 of a table named for its men first; held is false where the
// file holds only the other side to move.
func (f *file) value(b *chess.Board, men material) (p *pairs, v uint16, held bool, err error) {
	if err := f.load(); err != nil {
		return nil, 0, false, err
	}
	side, column := 0, 0
	if men != f.men {
		side = 1
	}
	place := boardPlacement(b, side == 1)
	if men.hasPawns() {
		column = place.leadFile(f.men.leadSide())
	}
	if f.sides() == 2 {
		p = f.parts[side][column]
	} else {
		p = f.parts[0][column]
		symmetric := f.men == f.men.swapped()
		if f.dtz && !symmetric && int(p.flags&flagSide) != side {
			return p, 0, false, nil
		}
	}
	v, err = p.lookup(f, p.index(&place))
	return p, v, true, err
}

// stored returns what the table of b's men, one of results or of distances, says of b;
// decode turns a stored value into that. held is false where the table holds only the
// other side to move.
func (t *Tables) stored(tables map[material]*file, b *chess.Board, decode func(p *pairs, v uint16) (int, error)) (n int, held, ok bool) {
	men := boardMaterial(b)
	f := tables[men]
	if f == nil {
		return 0, false, false
	}
	p, v, held, err := f.value(b, men)
	if err == nil && held {
		if n, err = decode(p, v); err != nil {
			err = f.fault(p.blocksAt, err.Error())
		}
	}
	if err != nil {
		t.note(f, err)
	}
	return n, held, err == nil
}

// result decodes results. The one that a table holds is right only where no
// capture is better (see Tables.result).
func (p *pairs) result(v uint16) (int, error) {
	if v > 4 {
		return 0, fmt.Errorf("result %d, want 0 to 4; get the file again", v)
	}
	return int(v) - 2, nil
}

// distance turns a stored value into plies: values may be places in a list and
// count moves, where the 50-move rule does not need the exact ply. Beyond it
// (wdl = +-1) plies are counted from 100 on.
func (p *pairs) distance(v uint16, wdl int) (int, error) {
	if p.flags&flagMapped != 0 {
		list := p.maps[[5]int{Loss + 2: 1, BlessedLoss + 2: 3, CursedWin + 2: 2, Win + 2: 0}[wdl+2]]
		if int(v) >= len(list) {
			return 0, fmt.Errorf("distance %d of a list of %d; get the file again", v, len(list))
		}
		v = list[v]
	}
	plies := int(v)
	switch {
	case wdl == Win && p.flags&flagWinPlies == 0, wdl == Loss && p.flags&flagLossPlies == 0:
		plies *= 2
	case wdl == CursedWin, wdl == BlessedLoss:
		plies = 2*plies + 100
	}
	plies++
	return plies, nil
}

// ErrNoTables is returned by Open where no directory holds a table file.
var ErrNoTables = errors.New("no Syzygy tables (*.rtbw, *.rtbz)")

// TableError says which table file cannot be used and why. The other tables are
// not affected.
type TableError struct {
	Path   string // of the file
	Offset int64  // in bytes where the fault was seen, -1 where it is the whole file
	Reason string // what is wrong and what to do
}

// Error implements error.
func (e *TableError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("Syzygy table %s: %s", e.Path, e.Reason)
	}
	return fmt.Sprintf("Syzygy table %s: byte %d: %s", e.Path, e.Offset, e.Reason)
}
