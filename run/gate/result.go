package gate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Names in the directory of a match, gatekeeper/<net>.
const (
	LogName    = "match.jsonl" // arena.Log
	GamesName  = "games.pgn"
	ResultName = run.GateResultName
)

// matchFiles are those of a match, the decision last: without it the match is open.
var matchFiles = []string{LogName, GamesName, ResultName}

// RandomNet is the name of the baseline while no net is accepted: random weights.
const RandomNet = "random"

// Label is a net's name for people, who would take RandomNet for random moves.
func Label(name string) string {
	if name == RandomNet {
		return "random weights"
	}
	return name
}

const resultVersion = 1

// Result is result.json: what the gatekeeper decided about a net. Figures are the
// candidate's; a net that was rejected without a match has no games.
type Result struct {
	Version         int    `json:"version"`
	Candidate       string `json:"candidate"`
	Baseline        string `json:"baseline,omitempty"` // RandomNet, or the accepted net; empty = there was no match
	CandidateSHA256 string `json:"candidate_sha256"`   // of the files, hexadecimal
	BaselineSHA256  string `json:"baseline_sha256,omitempty"`
	CandidateNetID  string `json:"candidate_net_id,omitempty"`
	BaselineNetID   string `json:"baseline_net_id,omitempty"`

	Games       int `json:"games"`       // finished
	GamesWanted int `json:"games_asked"` // of the whole match
	arena.Count
	Points      float64           `json:"points"`
	Pentanomial arena.Pentanomial `json:"pentanomial"` // of the finished pairs
	Elo         arena.Figure      `json:"elo"`         // null = infinite or unknown
	EloError    arena.Figure      `json:"elo_error"`   // half of the 95 % interval
	SPRT        *arena.SPRTReport `json:"sprt,omitempty"`

	Accepted bool      `json:"accepted"`
	Reason   string    `json:"reason"`
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended"`
	Program  string    `json:"program"`

	// Files are all files of the net, by their base names. Placed is where they
	// went, below the run directory where that holds them; empty until they are
	// there.
	Files  []File `json:"files"`
	Placed string `json:"placed,omitempty"`
}

// File is one file of a net.
type File struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// maxResult bounds what is read of the file, in bytes.
const maxResult = 1 << 20

// ReadResult reads the decision in the directory of a match. fs.ErrNotExist says
// that there is none yet; one that cannot be understood is a
// *checkpoint.CorruptError.
func ReadResult(dir string) (*Result, error) {
	path := filepath.Join(dir, ResultName)
	data, err := fsx.ReadUpTo(fsx.OS, path, maxResult)
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	r, err := decodeResult(data)
	if err != nil {
		return nil, &checkpoint.CorruptError{Path: path, Reason: err.Error() + "; remove it, and the net is tested again"}
	}
	return r, nil
}

// Played returns the decisions that rest on a match, the newest first, of a directory of
// matches. One that cannot be read is left out: chessbrain verify names it.
func Played(dir string) ([]*Result, error) {
	entries, err := fsx.Entries(fsx.OS, dir)
	var all []*Result
	for _, e := range entries {
		if r, err := ReadResult(filepath.Join(dir, e.Name())); err == nil && r.Games > 0 {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *Result) int {
		return cmp.Or(b.Ended.Compare(a.Ended), cmp.Compare(b.Candidate, a.Candidate))
	})
	return all, err
}

// decodeResult reads a decision. What it accepts names plain files of the candidate
// only: they are moved.
func decodeResult(data []byte) (*Result, error) {
	if len(data) > maxResult {
		return nil, fmt.Errorf("more than %d bytes", maxResult)
	}
	r := new(Result)
	switch err := json.Unmarshal(data, r); {
	case err != nil:
		return nil, err
	case r.Version != resultVersion:
		return nil, fmt.Errorf("version %d, this program reads %d", r.Version, resultVersion)
	case !plainName(r.Candidate):
		return nil, fmt.Errorf("candidate %q", r.Candidate)
	}
	for _, f := range r.Files {
		if !plainName(f.Name) || !strings.HasPrefix(f.Name, r.Candidate) {
			return nil, fmt.Errorf("file %q of %s", f.Name, r.Candidate)
		}
	}
	r.estimate()
	return r, nil
}

// plainName says whether a name is that of an entry of a directory.
func plainName(name string) bool {
	return name != "" && name == filepath.Base(name) && filepath.IsLocal(name) && name != "."
}

// estimate fills in the figures that JSON cannot hold when they are infinite.
func (r *Result) estimate() {
	e := arena.EstimateElo(r.Pentanomial).Of(r.Count)
	r.Elo, r.EloError = e.Elo, e.Error()
}

// write makes the decision durable.
func (r *Result) write(dir string) error {
	if err := run.WriteJSON(filepath.Join(dir, ResultName), r); err != nil {
		return fmt.Errorf("result of the match: %w", err)
	}
	return nil
}

// Verdict is the decision in a word, as events and the catalogue have it.
func (r *Result) Verdict() string {
	if r.Accepted {
		return "accepted"
	}
	return "rejected"
}

// String is the result in one line.
func (r *Result) String() string {
	if r.Games == 0 {
		return fmt.Sprintf("%s %s: %s", r.Candidate, r.Verdict(), r.Reason)
	}
	return fmt.Sprintf("%s %s against %s: %s; +%d =%d -%d, Elo %s", r.Candidate, r.Verdict(), Label(r.Baseline), r.Reason,
		r.Wins, r.Draws, r.Losses, arena.EloText(r.Elo, r.EloError))
}

// Page is the state of a gatekeeper, as its control socket answers. What Match points
// to is never changed.
type Page struct {
	Job      string    `json:"job"`
	State    string    `json:"state"` // waiting, playing
	Match    *Standing `json:"match,omitempty"`
	Accepted int       `json:"accepted"` // nets, since the start
	Rejected int       `json:"rejected"`
}

// Standing is where a match stands, from the candidate's side.
type Standing struct {
	Candidate string `json:"candidate"`
	Baseline  string `json:"baseline"`
	Games     int    `json:"games"` // finished
	Of        int    `json:"of"`
	arena.Count
	Elo      arena.Figure `json:"elo"`
	EloError arena.Figure `json:"elo_error"`
}

// standing is where the match stands now.
func (c *contest) standing() *Standing {
	e := arena.EstimateElo(c.last.All).Of(c.last.Count)
	return &Standing{Candidate: c.sides[0].name, Baseline: c.sides[1].name, Games: c.last.Games(), Of: c.g.want.Games,
		Count: c.last.Count, Elo: e.Elo, EloError: e.Error()}
}

// Summary is what a gatekeeper decided.
type Summary struct {
	Results []*Result // in order
}

func (s *Summary) counts() (accepted, rejected int) {
	for _, r := range s.Results {
		if r.Accepted {
			accepted++
		} else {
			rejected++
		}
	}
	return accepted, rejected
}

// Write writes a line for each net.
func (s *Summary) Write(w io.Writer) error {
	if len(s.Results) == 0 {
		_, err := fmt.Fprintln(w, "No net was decided about.")
		return err
	}
	var b strings.Builder
	for _, r := range s.Results {
		fmt.Fprintln(&b, r)
	}
	accepted, rejected := s.counts()
	fmt.Fprintf(&b, "%s accepted, %d rejected\n", monitor.Count(accepted, "net"), rejected)
	_, err := io.WriteString(w, b.String())
	return err
}
