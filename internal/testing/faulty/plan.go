package faulty

import (
	"fmt"
	"net/url"
	"os"
	"strconv"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Name is what the stage calls itself: the program has to lie under that name.
const Name = "faulty"

// Mode is a way to misbehave.
type Mode string

// The modes of the start.
const (
	CrashAtStart     Mode = "crash-at-start"    // ends before it said anything
	GarbageHandshake Mode = "garbage-handshake" // says something else than a handshake
	SilentStart      Mode = "silent-start"      // says nothing and does not end
	WrongVersion     Mode = "wrong-version"     // speaks version 99 of the protocol
	WrongCore        Mode = "wrong-core"        // speaks version 9 of go-plugin's own
	WrongTransport   Mode = "wrong-transport"   // speaks net/rpc
	DeadSocket       Mode = "dead-socket"       // names a socket on which nobody listens
	HangDescribe     Mode = "hang-describe"     // does not say what it is
	BadDescription   Mode = "bad-description"   // is of a kind that there is not
	RefuseOpen       Mode = "refuse-open"       // refuses its settings
)

// The modes of a call. Where a kind is named, others do not have the mode.
const (
	None     Mode = ""          // behaves well
	Exit     Mode = "exit"      // ends in the middle of the call
	Panic    Mode = "panic"     // panics in the middle of the call
	Status   Mode = "status"    // ends the call with an error
	Hang     Mode = "hang"      // does not answer
	Drip     Mode = "drip"      // answers one byte at a time
	Endless  Mode = "endless"   // does not stop answering
	Huge     Mode = "huge"      // answers with a message of 40 MiB
	TooFew   Mode = "too-few"   // one outcome, row or file less than asked for
	TooMany  Mode = "too-many"  // one outcome or row more
	BadBatch Mode = "bad-batch" // answers another batch: rescorer, sampler
	NaN      Mode = "nan"       // a weight that is no number: rescorer, sampler
	BadIndex Mode = "bad-index" // points at what is not there: a policy entry, a game
	BadSum   Mode = "bad-sum"   // a policy whose sum is not 1: rescorer
	BadMove  Mode = "bad-move"  // another move: rescorer
	BadGame  Mode = "bad-game"  // the id of another game: rescorer
	BadValue Mode = "bad-value" // a value beyond its range: rescorer
	BadPly   Mode = "bad-ply"   // a ply that is no row: sampler
	BadName  Mode = "bad-name"  // a file outside of the directory: exporter
	BadHash  Mode = "bad-hash"  // a file that differs from its hash: exporter
	CutFile  Mode = "cut-file"  // a file without its end: exporter
)

// Plan says what the program is and how it misbehaves.
type Plan struct {
	Kind stage.Kind
	Mode Mode

	// Call is the first call of a process in which it misbehaves, from 1; 0 = 1.
	// Calls are batches of games, draws and exports.
	Call int

	// Game restricts a rescorer's faults to batches that hold the game with this
	// ordinal; nil = all batches.
	Game *uint64

	// Once names a file that does not exist: the first process that misbehaves
	// makes it, and where it is there none does. "" = every process does.
	Once string

	// Starts names a file to which each process adds a line when it starts, with
	// its process id; "" = none.
	Starts string
}

// variable is the environment variable that holds a plan.
const variable = "CHESSBRAIN_FAULTY"

// Env returns the plan as an assignment for the environment.
func (p Plan) Env() string {
	v := url.Values{"kind": {string(p.Kind)}, "mode": {string(p.Mode)}, "call": {strconv.Itoa(p.Call)}, "once": {p.Once}, "starts": {p.Starts}}
	if p.Game != nil {
		v.Set("game", strconv.FormatUint(*p.Game, 10))
	}
	return variable + "=" + v.Encode()
}

// FromEnv returns the plan in the environment and whether there is one.
func FromEnv() (Plan, bool) {
	text, ok := os.LookupEnv(variable)
	if !ok {
		return Plan{}, false
	}
	v, err := url.ParseQuery(text)
	p := Plan{Kind: stage.Kind(v.Get("kind")), Mode: Mode(v.Get("mode")), Once: v.Get("once"), Starts: v.Get("starts")}
	if err == nil {
		p.Call, err = strconv.Atoi(v.Get("call"))
	}
	if game := v.Get("game"); err == nil && game != "" {
		var ordinal uint64
		ordinal, err = strconv.ParseUint(game, 10, 64)
		p.Game = &ordinal
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s=%q: %v\n", variable, text, err)
		os.Exit(2)
	}
	return p, true
}

// strikes says whether this is the moment to misbehave: in the given call, with
// the given games.
func (p Plan) strikes(call int, games []*pluginpb.Game) bool {
	if p.Mode == None || call < p.Call {
		return false
	}
	if p.Game != nil {
		found := false
		for _, g := range games {
			found = found || g.GetOrdinal() == *p.Game
		}
		if !found {
			return false
		}
	}
	if p.Once == "" {
		return true
	}
	f, err := os.OpenFile(p.Once, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	f.Close()
	return true
}
