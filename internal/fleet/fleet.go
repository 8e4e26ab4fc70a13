package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Protocol is the version of what Posts and Inboxes say to each other. Sides of different
// versions refuse each other in words.
const Protocol = 1

// MaxChunk is the largest chunk that is delivered, in bytes: what a NATS server takes by
// default, without room for headers.
const MaxChunk = 1<<20 - 1<<12

// NetRef names a net by its content.
type NetRef struct {
	Name   string `json:"name"`   // as the run calls it
	SHA256 string `json:"sha256"` // of the .safetensors file, hexadecimal
	Bytes  int64  `json:"bytes"`
}

// NewNetRef returns the reference of a net file with the given content.
func NewNetRef(name string, file []byte) NetRef {
	return NetRef{Name: name, SHA256: SumOf(file), Bytes: int64(len(file))}
}

// SumOf identifies content: its SHA-256, hexadecimal.
func SumOf(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// Player says who asks: the member whose key the connection has, and which of the
// machines that use it.
type Player struct {
	Member   string // public key
	Instance string // random, made at a player's first start
}

// Hello asks to join.
type Hello struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"` // of the program
	Host     string `json:"host"`    // name of the machine, for people
	CPU      string `json:"cpu"`     // the kernels' tier, for people
}

// Welcome is the answer to a Hello.
type Welcome struct {
	Refused string `json:"refused,omitempty"` // why not, and what to do; the rest is empty then
	Job     string `json:"job"`               // of the run
	Process uint64 `json:"process"`           // number of the player among the run's processes, its own for ever
	Seed    uint64 `json:"seed"`              // of the run
	Config  string `json:"config"`            // textproto: how games are played
	State   State  `json:"state"`
}

// Beat says that a player is there, and what it does.
type Beat struct {
	Net     string `json:"net"`     // that plays
	Games   int64  `json:"games"`   // of this player in all
	Waiting int    `json:"waiting"` // chunks that the run has not confirmed

	// Arithmetic is how the player computes: device, kernels and precision.
	Arithmetic string `json:"arithmetic"`
}

// State is the answer to a Beat: what holds for all players now.
type State struct {
	Refused string `json:"refused,omitempty"`
	Net     NetRef `json:"net"`               // to play with
	Drain   bool   `json:"drain,omitempty"`   // stop, once all is delivered
	Rest    bool   `json:"rest,omitempty"`    // begin no games: more wait than are trained on
	Matches bool   `json:"matches,omitempty"` // there are games of matches for those who lease them
}

// Task is a lease of some games of a match, for a player that computes as the run does.
// It holds as long as the player's beats come.
type Task struct {
	ID    uint64          `json:"id"` // 0 = there is none
	Nets  [2]NetRef       `json:"nets"`
	Match json.RawMessage `json:"match"` // what the games are functions of, besides the nets
	Games []int           `json:"games"` // their numbers
}

// Outcome is what became of a task.
type Outcome struct {
	ID     uint64          `json:"id"`
	Games  json.RawMessage `json:"games,omitempty"`
	Failed string          `json:"failed,omitempty"` // why there are none: others play them
}

// Chunk is a sealed file of games on its way.
type Chunk struct {
	Player Player
	Data   []byte // the file
}

// Sum identifies a chunk by its content.
func (c *Chunk) Sum() string { return SumOf(c.Data) }

// Verdict is what became of a chunk.
type Verdict struct {
	Sum      string `json:"sum"`
	Games    int    `json:"games"`              // of it that are counted; those that the run had before are not
	Rejected string `json:"rejected,omitempty"` // why none is
}

// Post is a player's side. All methods may be called concurrently.
type Post interface {
	// Join asks to play. An error means that nobody answered.
	Join(ctx context.Context, h Hello) (Welcome, error)
	// Beat tells that the player is there. It is asked for every BeatEvery.
	Beat(ctx context.Context, b Beat) (State, error)
	// Fetch returns the file of a net, whose hash it has checked.
	Fetch(ctx context.Context, r NetRef) ([]byte, error)
	// Lease asks for a task. Finish hands it back, with its games.
	Lease(ctx context.Context) (Task, error)
	Finish(ctx context.Context, o Outcome) error
	// Deliver puts a chunk into the mailbox. ErrFull says to try again later. nil says
	// nothing yet about the run: its verdict does. attempt tells repeated deliveries of a
	// chunk apart, from 0.
	Deliver(ctx context.Context, data []byte, attempt int) error
	// Verdicts hands out what became of delivered chunks. One that is not taken for long
	// may be dropped; the chunk is delivered again then.
	Verdicts() <-chan Verdict
	Close() error
}

// Handler answers players, several at a time.
type Handler interface {
	Join(p Player, h Hello) Welcome
	Beat(p Player, b Beat) State
	Lease(p Player) Task
	Finish(p Player, o Outcome)
}

// Delivery is a chunk in the hands of the run, until it is committed or rejected. One
// that is neither comes again.
type Delivery struct {
	Chunk
	Settle func(v Verdict) error // what Commit and Reject call
}

// Commit takes the chunk out of the mailbox and tells its player that so many games of it
// are counted. They must be on stable storage.
func (d *Delivery) Commit(games int) error { return d.Settle(Verdict{Sum: d.Sum(), Games: games}) }

// Reject takes the chunk out of the mailbox and tells its player why it is not counted.
func (d *Delivery) Reject(reason string) error {
	return d.Settle(Verdict{Sum: d.Sum(), Rejected: reason})
}

// Inbox is the side of the run. All methods may be called concurrently.
type Inbox interface {
	// Next waits for a delivery.
	Next(ctx context.Context) (*Delivery, error)
	// Publish makes a net known by its content, to play with. Older nets stay for a while.
	Publish(ctx context.Context, r NetRef, file []byte) error
	// Store is Publish of a net of matches: the one to play with stays.
	Store(ctx context.Context, r NetRef, file []byte) error
	Close() error
}

const (
	// BeatEvery is the time between two beats, and MissingAfter when a player without
	// one is missing.
	BeatEvery    = 10 * time.Second
	MissingAfter = 3 * BeatEvery
	// KeptNets is how many nets stay, and the one to play with.
	KeptNets = 6
)

// ErrFull says that the mailbox takes nothing more at the moment.
var ErrFull = errors.New("the mailbox of the run is full: the trainer does not keep up, or is not there")

// ErrTooLarge says that a chunk is larger than MaxChunk.
var ErrTooLarge = fmt.Errorf("chunk of more than %d bytes", MaxChunk)

// ErrNoAnswer says that the run does not answer.
var ErrNoAnswer = errors.New("the run does not answer")

// ErrNoNet says that a net is not to be had any more.
var ErrNoNet = errors.New("the net is not there any more")

// CheckProtocol says why a Hello of another protocol is refused, "" where it is not.
func CheckProtocol(h Hello, version string) string {
	switch {
	case h.Protocol < Protocol:
		return fmt.Sprintf("this run speaks protocol %d of the fleet, the player %d: install chessbrain %s or newer on the player's machine", Protocol, h.Protocol, version)
	case h.Protocol > Protocol:
		return fmt.Sprintf("this run speaks protocol %d of the fleet, the player %d: install chessbrain %s or newer on the trainer's machine", Protocol, h.Protocol, h.Version)
	}
	return ""
}

// checkFile holds the file of a net against its reference.
func checkFile(r NetRef, file []byte) error {
	if got := SumOf(file); got != r.SHA256 {
		return fmt.Errorf("net %s: SHA-256 %.12s..., want %.12s...", r.Name, got, r.SHA256)
	}
	return nil
}

// fetched is what a Fetch returns that has read the file, or could not.
func fetched(r NetRef, file []byte, err error) ([]byte, error) {
	if err == nil {
		err = checkFile(r, file)
	}
	if err != nil {
		return nil, fmt.Errorf("fetch net %s: %w", r.Name, err)
	}
	return file, nil
}

// keptNets are the nets that stay, by their hashes.
type keptNets struct {
	order  []string // the newest last
	toPlay string
}

// add adds a net, or makes it the newest, and says which ones do not stay.
func (k *keptNets) add(sum string, toPlay bool) (gone []string) {
	k.order = append(slices.DeleteFunc(k.order, func(s string) bool { return s == sum }), sum)
	if toPlay {
		k.toPlay = sum
	}
	old := len(k.order) - KeptNets
	k.order = slices.DeleteFunc(k.order, func(s string) bool {
		if old--; old < 0 || s == k.toPlay {
			return false
		}
		gone = append(gone, s)
		return true
	})
	return gone
}

// verdictRoom is how many verdicts wait for a player; more are dropped.
const verdictRoom = 1024

// hand hands a verdict over without waiting.
func hand(to chan<- Verdict, v Verdict) {
	select {
	case to <- v:
	default:
	}
}

// checkSize refuses chunks that a server may not take.
func checkSize(data []byte) error {
	if len(data) > MaxChunk {
		return fmt.Errorf("%w: %d", ErrTooLarge, len(data))
	}
	return nil
}
