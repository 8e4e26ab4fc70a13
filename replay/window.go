package replay

import (
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/plugins/stage/follow"
	"github.com/chessbrain/chessbrain/record"
)

// Window holds the newest games in memory, bounded in rows; the oldest leave
// first, in the order of Add. Games are shared and never changed. Safe for
// concurrent use.
type Window struct {
	mu      sync.RWMutex
	maxRows int
	entries entries // the games are entries[head:]; never changed in place, so that views stay whole
	head    int
	ids     map[[16]byte]struct{}
	nextSeq uint64
	nextRow uint64 // counts the rows that ever came in
	version uint64 // counts changes
}

// entry is a game of the window with its sums. StartRow runs on also where Load fills the
// window anew, so that a number means one row for as long as the window lives.
type entry = follow.Rows[*record.Game]

type entries = follow.Games[*record.Game]

// rowWeight returns the integer weight of a position, 0 if it is not meant for
// training. Weights above 65536 count as that.
func rowWeight(p *record.Ply) uint64 {
	if !p.Trained() {
		return 0
	}
	return max(1, uint64(min(float64(p.Weight), 1<<16)*stage.WeightUnit+0.5))
}

// NewWindow returns a window that holds games with at most maxRows rows in all,
// but always at least the newest game.
func NewWindow(maxRows int) *Window {
	return &Window{maxRows: maxRows, ids: map[[16]byte]struct{}{}}
}

func (w *Window) resize(maxRows int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.maxRows = maxRows
}

// Add puts a game in as the newest and drops the oldest ones that no longer
// fit. It returns false, and does nothing, for a game that is in the window
// already (by id) or has no row meant for training.
func (w *Window) Add(g *record.Game) bool {
	e := &entry{Game: g}
	sum := uint64(0)
	for i := range g.Plies {
		if weight := rowWeight(&g.Plies[i]); weight > 0 {
			sum += weight
			e.Plies = append(e.Plies, int32(i))
			e.Sums = append(e.Sums, sum)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.ids[g.ID]; ok || e.Plies == nil {
		return false
	}
	if n := len(w.entries); n > w.head {
		e.StartWeight = w.entries[n-1].EndWeight()
	}
	e.StartRow = w.nextRow
	w.nextRow += uint64(len(e.Plies))
	e.Seq = w.nextSeq
	w.nextSeq++
	w.version++
	w.ids[g.ID] = struct{}{}
	w.entries = append(w.entries, e)
	for len(w.entries)-w.head > 1 && w.entries[w.head:].NumRows() > w.maxRows {
		delete(w.ids, w.entries[w.head].Game.ID)
		w.head++
	}
	if w.head > 64 && w.head > len(w.entries)/8 {
		// A new array lets go of the old games as soon as no view needs them.
		w.entries = append(make([]*entry, 0, 2*(len(w.entries)-w.head)), w.entries[w.head:]...)
		w.head = 0
	}
	return true
}

// View returns the window as it is now; later changes do not show in it.
func (w *Window) View() *View {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return &View{entries: w.entries[w.head:len(w.entries):len(w.entries)], version: w.version}
}

// Rows returns the rows meant for training.
func (w *Window) Rows() int { return w.View().NumRows() }

// Games returns the number of games.
func (w *Window) Games() int { return w.View().NumGames() }

// Version counts the changes of the window.
func (w *Window) Version() uint64 { return w.View().version }

// Section is the window as a list of game ids. Load fills it with the games
// that lookup returns (ScanDir has them); if some are missing it
// returns *MissingGamesError and leaves the window as it was.
//
// Layout: next seq u64, number of games u64, ids of 16 bytes, oldest first; little
// endian.
func (w *Window) Section(name string, lookup func(id [16]byte) *record.Game) stage.Section {
	return BytesSection(name, "window section", 1, w.save, func(data []byte) error { return w.load(data, lookup) })
}

func (w *Window) save() ([]byte, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	entries, next := w.entries[w.head:], w.nextSeq
	data := le.AppendUint64(nil, next)
	data = le.AppendUint64(data, uint64(len(entries)))
	for _, e := range entries {
		data = append(data, e.Game.ID[:]...)
	}
	return data, nil
}

func (w *Window) load(data []byte, lookup func(id [16]byte) *record.Game) error {
	next, ids, err := readWindow(data)
	if err != nil {
		return err
	}
	w.mu.RLock()
	fresh := NewWindow(w.maxRows)
	w.mu.RUnlock()
	fresh.nextSeq = next - uint64(len(ids))
	missing := &MissingGamesError{Wanted: len(ids)}
	for _, id := range ids {
		g := lookup(id)
		if g == nil {
			if missing.Missing == 0 {
				missing.First = id
			}
			missing.Missing++
			continue
		}
		if g.ID != id || !fresh.Add(g) {
			return fmt.Errorf("window section: game %x does not fit", id)
		}
	}
	if missing.Missing > 0 {
		return missing
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range fresh.entries {
		e.StartRow += w.nextRow
	}
	w.entries, w.head, w.ids, w.nextSeq = fresh.entries, fresh.head, fresh.ids, fresh.nextSeq
	w.nextRow += fresh.nextRow
	w.version++
	return nil
}

// ReadWindowSection returns the game ids that a saved window section lists,
// oldest first, and the number that its next game gets.
func ReadWindowSection(r io.Reader) (next uint64, ids [][16]byte, err error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return 0, nil, fmt.Errorf("window section: %w", err)
	}
	return readWindow(data)
}

func readWindow(data []byte) (next uint64, ids [][16]byte, err error) {
	d := Decoder{Data: data}
	next = d.U64()
	count := d.U64()
	for d.More() {
		var id [16]byte
		copy(id[:], d.Take(len(id)))
		ids = append(ids, id)
	}
	if d.Err != nil || count > next || uint64(len(ids)) != count {
		return 0, nil, fmt.Errorf("window section of %d bytes says %d games of %d", len(data), count, next)
	}
	return next, ids, nil
}

// Split keeps validation games out of training: each game goes as a whole into
// one of two windows, by record.IsValidation of its id, so that positions of
// one game are never on both sides and a restart decides the same.
type Split struct {
	Train, Validation *Window
	share             float64
}

// NewSplit returns two empty windows, that for training of so many rows. share of the
// games, 0..1, go to the validation window, which holds as many rows as are held out while
// the other fills, so that both cover the same games: older ones would measure how far the
// net has come from those that played them.
func NewSplit(rows int, share float64) *Split {
	s := &Split{Train: NewWindow(0), Validation: NewWindow(0), share: share}
	s.Resize(rows)
	return s
}

// Resize changes how many rows the window for training holds, and the other in proportion.
// What does not fit any more leaves with the next Add.
func (s *Split) Resize(rows int) {
	s.Train.resize(rows)
	s.Validation.resize(max(1, int(math.Round(float64(rows)*s.share/(1-s.share)))))
}

// Window returns the window that a game belongs to.
func (s *Split) Window(id [16]byte) *Window {
	if record.IsValidation(id, s.share) {
		return s.Validation
	}
	return s.Train
}
