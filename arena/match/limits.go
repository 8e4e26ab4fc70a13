package match

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/arena"
)

// enginePrefix begins the description of a player that is a UCI engine.
const enginePrefix = "uci:"

// limitPrefixes are those of the flags of limits: both players, or one.
var limitPrefixes = []string{"", "player1.", "player2."}

// limitFlag is one limit or list of options with one prefix.
type limitFlag struct {
	name, kind string
	engines    bool // for engines only
	given      bool
	text       string
	set        func(text string) error
}

func (v *limitFlag) String() string { return v.text }
func (v *limitFlag) Type() string   { return v.kind }

func (v *limitFlag) Set(text string) error {
	if err := v.set(text); err != nil {
		return err
	}
	v.text, v.given = text, true
	return nil
}

// limitSet is what the flags of one prefix say.
type limitSet struct {
	limits  arena.Limits
	options map[string]string
	flags   []*limitFlag
}

// has reports whether the command line has the flag.
func (s *limitSet) has(name string) bool {
	for _, f := range s.flags {
		if f.name == name {
			return f.given
		}
	}
	return false
}

// Limits are the flags of all prefixes.
type Limits map[string]*limitSet

// NewLimits hands the flags of the limits with all prefixes to bind.
func NewLimits(bind Bind) Limits {
	all := Limits{}
	for _, prefix := range limitPrefixes {
		s := &limitSet{options: map[string]string{}}
		all[prefix] = s
		add := func(name, kind, usage string, engines bool, set func(string) error) {
			v := &limitFlag{name: name, kind: kind, engines: engines, set: set}
			s.flags = append(s.flags, v)
			bind(Flag{v, prefix + name, usage, "", prefix != ""})
		}
		add("nodes", "int", "nodes of each move of an engine", true, parseCount(&s.limits.Nodes, 1_000_000_000))
		add("depth", "int", "depth of each move of an engine, in plies", true, parseCount(&s.limits.Depth, 1000))
		add("movetime", "duration", "time for each move", false, parseTime(&s.limits.MoveTime))
		add("tc", "clock", "clock of each player, seconds and what a move adds, as 10+0.1 or 1:30+1", false, func(text string) (err error) {
			s.limits.Base, s.limits.Increment, err = arena.ParseClock(text)
			return err
		})
		add("option", "NAME=VALUE", "UCI option of an engine; may be given several times", true, func(text string) error {
			name, value, _ := strings.Cut(text, "=")
			if name = strings.TrimSpace(name); name == "" {
				return fmt.Errorf("want NAME=VALUE, as in \"Skill Level=0\"")
			}
			s.options[name] = value
			return nil
		})
	}
	return all
}

// parseCount reads a number from 1 up to high.
func parseCount(to *int, high int) func(string) error {
	return func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > high {
			return fmt.Errorf("want 1 to %d", high)
		}
		*to = n
		return nil
	}
}

// parseTime reads a duration of at least a millisecond.
func parseTime(to *time.Duration) func(string) error {
	return func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < time.Millisecond || d > time.Hour {
			return fmt.Errorf("want 1ms to 1h, as in 100ms")
		}
		*to = d
		return nil
	}
}

// given returns the name of a flag of a prefix that the command line has, or "";
// with engines only one that nets do not have.
func (f Limits) given(prefix string, engines bool) string {
	for _, v := range f[prefix].flags {
		if v.given && (v.engines || !engines) {
			return "--" + prefix + v.name
		}
	}
	return ""
}

// of returns the limits and the engine's options of a player (1 or 2): a flag of
// the player goes before one of both. A time of the player, of either kind, takes
// the place of both players' times.
func (f Limits) of(player int, margin time.Duration) (arena.Limits, map[string]string) {
	both, own := f[""], f[fmt.Sprintf("player%d.", player)]
	l := both.limits
	if own.has("nodes") {
		l.Nodes = own.limits.Nodes
	}
	if own.has("depth") {
		l.Depth = own.limits.Depth
	}
	if own.has("movetime") || own.has("tc") {
		l.MoveTime, l.Base, l.Increment = own.limits.MoveTime, own.limits.Base, own.limits.Increment
	}
	l.Margin = margin
	options := maps.Clone(both.options)
	maps.Copy(options, own.options)
	return l, options
}
