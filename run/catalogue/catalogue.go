package catalogue

import "time"

// Name is the catalogue's file in a run directory.
const Name = "catalogue.sqlite"

// Catalogue is all that the file holds.
type Catalogue struct {
	Nets      []Net       // oldest first
	Matches   []Match     // in the order of their files
	Ratings   []Rating    // by group, the strongest first
	Published []Published // oldest first
}

// States of a net.
const (
	Accepted  = "accepted"  // in models/: it plays
	Candidate = "candidate" // in modelstobetested/
	Rejected  = "rejected"  // in rejectedmodels/
	Extra     = "extra"     // in models_extra/
)

// Net is a net that the run made.
type Net struct {
	Name     string
	State    string
	Path     string    // of its file, below the run; empty = the file is gone
	Bytes    int64     // of the file
	Modified time.Time // of the file, UTC: when it was written. A net without a file: when the gatekeeper decided
	SHA256   string    // of the file, hexadecimal
	NetID    string    // of the tensors
	Arch     string
	Params   int64
	Job      string
	Weights  string // raw or swa
	Step     int64  // optimizer steps
	Samples  int64  // rows trained on
	Rows     int64  // positions that had been played
	Parent   string // the net before it of the same job and training; empty = the first
	Program  string // that wrote it
	Problem  string // why the file cannot be used; empty = it can
	Gate     Gate
}

// Gate is what the gatekeeper decided about a net, from the net's side.
type Gate struct {
	Decision string    // accepted or rejected; empty = it was not asked
	Baseline string    // opponent; empty = there was no match
	Games    int       // of the match
	Points   float64   // 1 for a win, 1/2 for a draw
	Elo      *float64  // difference; nil = infinite or unknown
	Error    *float64  // half the 95 % interval; nil = infinite or unknown
	Reason   string    // in words
	Ended    time.Time // UTC; zero = it was not asked
}

// Kinds of matches.
const (
	GateMatch   = "gate"
	RatingMatch = "rating"
)

// Match is a match whose log lies in the run. Figures are player 1's.
type Match struct {
	Path     string // of the log, below the run
	Kind     string
	Bytes    int64     // of the log
	Modified time.Time // of the log, UTC
	Player1  string
	Player2  string
	SHA1     string // SHA-256 of player 1's net file; empty = it has none
	SHA2     string
	Settings string // of both, how they search
	Wins     int
	Draws    int
	Losses   int
	Pairs    [5]int // by player 1's points in them: 0, 1/2, 1, 3/2, 2
	Plies    int64  // of all games
	Ends     string // games by how they ended: "checkmate 31, repetition 9"
	Program  string
	Began    time.Time // UTC
	Problem  string    // why it does not count for the ratings; empty = it does
}

// Rating is a player's place in the rating list.
type Rating struct {
	Name   string
	Kind   string // net, random-mover or engine
	Elo    float64
	Error  float64 // standard error
	Games  int
	Points float64
	Draws  int
	Group  int  // Elo can be compared within a group only
	Anchor bool // its Elo is the zero of the list
	Prior  bool // its distance to most others is at least so large; the games alone have no answer
}

// Published is a file that an export left in its place.
type Published struct {
	Training string // TRAININGNAME
	Path     string // below the run where it lies there
	NetID    string // of the tensors
	Exporter string // name and settings
	Bytes    int64
}

// Rating returns a player's rating; ok is false where it has none.
func (c *Catalogue) Rating(name string) (r Rating, ok bool) {
	for _, r := range c.Ratings {
		if r.Name == name {
			return r, true
		}
	}
	return Rating{}, false
}
