package catalogue

import "time"

// Catalogue is all that the file holds.
type Catalogue struct {
	Nets      []Net       `json:"nets"`      // oldest first
	Matches   []Match     `json:"matches"`   // in the order of their files
	Ratings   []Rating    `json:"ratings"`   // by group, the strongest first
	Published []Published `json:"published"` // oldest first
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
	Name     string    `json:"name"`
	State    string    `json:"state"`
	Path     string    `json:"path"`              // of its file, below the run; empty = the file is gone
	Bytes    int64     `json:"bytes"`             // of the file
	Modified time.Time `json:"modified,omitzero"` // of the file, UTC: when it was written. A net without a file: when the gatekeeper decided
	SHA256   string    `json:"sha256"`            // of the file, hexadecimal
	NetID    string    `json:"net_id"`            // of the tensors
	Arch     string    `json:"arch"`
	Params   int64     `json:"params"`
	Job      string    `json:"job"`
	Weights  string    `json:"weights"` // raw or swa
	Step     int64     `json:"step"`    // optimizer steps
	Samples  int64     `json:"samples"` // rows trained on
	Rows     int64     `json:"rows"`    // positions that had been played
	Parent   string    `json:"parent"`  // the net before it of the same job and training; empty = the first
	Program  string    `json:"program"` // that wrote it
	Problem  string    `json:"problem"` // why the file cannot be used; empty = it can
	Gate     Gate      `json:"gate,omitzero"`
}

// Gate is what the gatekeeper decided about a net, from the net's side.
type Gate struct {
	Decision string    `json:"decision"`       // accepted or rejected; empty = it was not asked
	Baseline string    `json:"baseline"`       // opponent; empty = there was no match
	Games    int       `json:"games"`          // of the match
	Points   float64   `json:"points"`         // 1 for a win, 1/2 for a draw
	Elo      *float64  `json:"elo"`            // difference; nil = infinite or unknown
	Error    *float64  `json:"error"`          // half the 95 % interval; nil = infinite or unknown
	Reason   string    `json:"reason"`         // in words
	Ended    time.Time `json:"ended,omitzero"` // UTC; zero = it was not asked
}

// Kinds of matches.
const (
	GateMatch   = "gate"
	RatingMatch = "rating"
)

// Match is a match whose log lies in the run. Figures are player 1's.
type Match struct {
	Path     string    `json:"path"` // of the log, below the run
	Kind     string    `json:"kind"`
	Bytes    int64     `json:"bytes"`             // of the log
	Modified time.Time `json:"modified,omitzero"` // of the log, UTC
	Player1  string    `json:"player1"`
	Player2  string    `json:"player2"`
	SHA1     string    `json:"sha1"` // SHA-256 of player 1's net file; empty = it has none
	SHA2     string    `json:"sha2"`
	Settings string    `json:"settings"` // of both, how they search
	Wins     int       `json:"wins"`
	Draws    int       `json:"draws"`
	Losses   int       `json:"losses"`
	Pairs    [5]int    `json:"pairs"` // by player 1's points in them: 0, 1/2, 1, 3/2, 2
	Plies    int64     `json:"plies"` // of all games
	Ends     string    `json:"ends"`  // games by how they ended: "checkmate 31, repetition 9"
	Program  string    `json:"program"`
	Began    time.Time `json:"began,omitzero"` // UTC
	Problem  string    `json:"problem"`        // why it does not count for the ratings; empty = it does
}

// Rating is a player's place in the rating list.
type Rating struct {
	Name   string  `json:"name"`
	Kind   string  `json:"kind"` // net, random-mover or engine
	Elo    float64 `json:"elo"`
	Error  float64 `json:"error"` // standard error
	Games  int     `json:"games"`
	Points float64 `json:"points"`
	Draws  int     `json:"draws"`
	Group  int     `json:"part"`   // Elo can be compared within a group only
	Anchor bool    `json:"anchor"` // its Elo is the zero of the list
	Prior  bool    `json:"prior"`  // its distance to most others is at least so large; the games alone have no answer
}

// Published is a file that an export left in its place.
type Published struct {
	Training string `json:"training"` // TRAININGNAME
	Path     string `json:"path"`     // below the run where it lies there
	NetID    string `json:"net_id"`   // of the tensors
	Exporter string `json:"exporter"` // name and settings
	Bytes    int64  `json:"bytes"`
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
