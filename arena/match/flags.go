package match

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/mcts"
)

// Value is the value of a flag, as the flag packages want it.
type Value interface {
	String() string
	Set(text string) error
	Type() string
}

// Flag is a flag that a command should have.
type Flag struct {
	Value  Value
	Name   string
	Usage  string
	Alone  string // what the flag without a value means; "" = it needs one
	Hidden bool   // from the help: the forms with a prefix
}

// tuning is what the flags say of a player.
type tuning struct {
	arena.Settings                   // of a net
	limits         arena.Limits      // of time; of an engine, all
	options        map[string]string // of an engine
}

// defaults are those of a player without flags whose net has a search.
func defaults(search mcts.Config) tuning {
	s := arena.Settings{Search: search, TreeReuse: true, TemperaturePlies: 20}
	s.Search.Simulations = 100
	return tuning{Settings: s, options: map[string]string{}}
}

// forWhom says which players have a knob.
type forWhom int

const (
	forNets forWhom = iota
	forSearchers
	forEngines
)

// knob is a setting or limit of a player. It has a flag for both players and one for
// each player, of a net also one for each colour.
type knob struct {
	name, kind, usage string
	forWhom           forWhom
	read              func(text string) (set func(*tuning), err error) // checks the range
	get               func(*tuning) string
}

// MaxVisits bounds a search; its tree takes about a kilobyte a visit.
const MaxVisits = 1_000_000

// knobs lists the knobs in the order in which they are told and applied.
func knobs() []knob {
	return []knob{
		intKnob(forNets, "visits", "visits of each move, those of the reused tree included", 1, MaxVisits, func(t *tuning) *int { return &t.Search.Simulations }),
		floatKnob("cpuct", "exploration constant of PUCT", 0, 1000, func(t *tuning) *float64 { return &t.Search.CPUCT }),
		floatKnob("cpuct-stdev", "standard deviation of the values below a node at which cpuct is as given: it grows and falls with that; 0 = never", 0, 10, func(t *tuning) *float64 { return &t.Search.CPUCTStdev }),
		floatKnob("lcb", "PUCT plays the move with the highest value less so many standard errors; 0 = the most visited move", 0, 100, func(t *tuning) *float64 { return &t.Search.LCB }),
		floatKnob("policy-temperature", "the net's priors to the power of its inverse: above 1 a search looks at more moves; 0 = as they are", 0, 100, func(t *tuning) *float64 { return &t.Search.PolicyTemperature }),
		floatKnob("fpu-reduction", "how much lower than its parent a move without visits is valued", -10, 10, func(t *tuning) *float64 { return &t.Search.FPUReduction }),
		boolKnob("gumbel", "Gumbel search (sequential halving, completed Q, no noise) instead of PUCT", func(t *tuning) *bool { return &t.Search.Gumbel.Enabled }),
		intKnob(forNets, "gumbel-candidates", "root moves that the sequential halving starts from", 1, 1000, func(t *tuning) *int { return &t.Search.Gumbel.Candidates }),
		floatKnob("gumbel-value-scale", "c_scale of Gumbel's completed Q", 0, 1000, func(t *tuning) *float64 { return &t.Search.Gumbel.ValueScale }),
		floatKnob("gumbel-visit-init", "c_visit of Gumbel's completed Q", 0, 1e6, func(t *tuning) *float64 { return &t.Search.Gumbel.MaxVisitInit }),
		boolKnob("gumbel-rescale", "stretch Gumbel's completed Q to [0,1] (with a value scale of 0.1)", func(t *tuning) *bool { return &t.Search.Gumbel.Rescale }),
		boolKnob("smart-pruning", "end a search whose other visits cannot change the move", func(t *tuning) *bool { return &t.Search.Stop.SmartPruning }),
		floatKnob("kld-gain", "end a search that gains less than so many nats a visit; 0 = never", 0, 1000, func(t *tuning) *float64 { return &t.Search.Stop.KLDGain }),
		boolKnob("tree-reuse", "keep the subtree of the moves played", func(t *tuning) *bool { return &t.TreeReuse }),
		floatKnob("temperature", "of the moves after the opening, for --temperature-plies; 0 = always the best move", 0, 100, func(t *tuning) *float64 { return &t.Temperature }),
		intKnob(forNets, "temperature-plies", "plies after the opening that the temperature holds for", 0, 1000, func(t *tuning) *int { return &t.TemperaturePlies }),
		intKnob(forEngines, "nodes", "nodes of each move of an engine", 1, 1_000_000_000, func(t *tuning) *int { return &t.limits.Nodes }),
		intKnob(forEngines, "depth", "depth of each move of an engine, in plies", 1, 1000, func(t *tuning) *int { return &t.limits.Depth }),
		newKnob(forSearchers, "movetime", "duration", "time for each move", "1ms to 1h, as in 100ms", func(text string) (time.Duration, bool) {
			d, err := time.ParseDuration(text)
			return d, err == nil && d >= time.Millisecond && d <= time.Hour
		}, func(t *tuning) *time.Duration { return &t.limits.MoveTime }),
		{name: "tc", kind: "clock", usage: "clock of each player, seconds and what a move adds, as 10+0.1 or 1:30+1", forWhom: forSearchers,
			read: func(text string) (func(*tuning), error) {
				base, increment, err := arena.ParseClock(text)
				return func(t *tuning) { t.limits.Base, t.limits.Increment = base, increment }, err
			}},
		{name: "option", kind: "NAME=VALUE", usage: "UCI option of an engine; may be given several times", forWhom: forEngines,
			read: func(text string) (func(*tuning), error) {
				name, value, _ := strings.Cut(text, "=")
				if name = strings.TrimSpace(name); name == "" {
					return nil, errors.New(`want NAME=VALUE, as in "Skill Level=0"`)
				}
				return func(t *tuning) { t.options[name] = value }, nil
			}},
	}
}

// newKnob is a knob of one field; read says whether a text is in range.
func newKnob[T any](whom forWhom, name, kind, usage, want string, read func(string) (T, bool), field func(*tuning) *T) knob {
	return knob{name, kind, usage, whom,
		func(text string) (func(*tuning), error) {
			v, ok := read(text)
			if !ok {
				return nil, errors.New("want " + want)
			}
			return func(t *tuning) { *field(t) = v }, nil
		},
		func(t *tuning) string { return fmt.Sprint(*field(t)) },
	}
}

func intKnob(whom forWhom, name, usage string, low, high int, field func(*tuning) *int) knob {
	return newKnob(whom, name, "int", usage, fmt.Sprintf("%d to %d", low, high), func(text string) (int, bool) {
		v, err := strconv.Atoi(text)
		return v, err == nil && v >= low && v <= high
	}, field)
}

func floatKnob(name, usage string, low, high float64, field func(*tuning) *float64) knob {
	return newKnob(forNets, name, "float", usage, fmt.Sprintf("%v to %v", low, high), func(text string) (float64, bool) {
		v, err := strconv.ParseFloat(text, 64)
		return v, err == nil && v >= low && v <= high
	}, field)
}

func boolKnob(name, usage string, field func(*tuning) *bool) knob {
	return newKnob(forNets, name, "bool", usage, "true or false", func(text string) (bool, bool) {
		v, err := strconv.ParseBool(text)
		return v, err == nil
	}, field)
}

// flag is a knob with one prefix.
type flag struct {
	*knob
	text string          // what the command line says; the default before
	sets []func(*tuning) // what it says, one a time that it is given
}

func (v *flag) String() string { return v.text }
func (v *flag) Type() string   { return v.kind }

func (v *flag) Set(text string) error {
	set, err := v.read(text)
	if err == nil {
		v.text, v.sets = text, append(v.sets, set)
	}
	return err
}

// Flags holds the flags of all knobs, by prefix and in the order of knobs.
type Flags map[string][]*flag

// prefixes are those of the flags, the weakest first.
var prefixes = []string{"", "white.", "black.", "player1.", "player2."}

// NewFlags hands the flags of all knobs with all prefixes to bind.
func NewFlags(bind func(Flag)) Flags {
	flags, usual, all := Flags{}, defaults(mcts.DefaultConfig()), knobs()
	for _, prefix := range prefixes {
		for i := range all {
			k := &all[i]
			v := &flag{knob: k}
			if k.forWhom != forNets && (prefix == "white." || prefix == "black.") {
				continue
			}
			if k.forWhom == forNets && prefix == "" {
				v.text = k.get(&usual)
			}
			alone := ""
			if k.kind == "bool" {
				alone = "true"
			}
			bind(Flag{v, prefix + k.name, k.usage, alone, prefix != ""})
			flags[prefix] = append(flags[prefix], v)
		}
	}
	return flags
}

// given returns the name of a flag of a prefix that the command line has, of those
// for some players, or "".
func (f Flags) given(prefix string, whom ...forWhom) string {
	for _, v := range f[prefix] {
		if len(v.sets) > 0 && slices.Contains(whom, v.forWhom) {
			return "--" + prefix + v.name
		}
	}
	return ""
}

// has reports whether the command line has a flag of a prefix.
func (f Flags) has(prefix string, names ...string) bool {
	return slices.ContainsFunc(f[prefix], func(v *flag) bool { return len(v.sets) > 0 && slices.Contains(names, v.name) })
}

// ofPlayer is the prefix of a player (1 or 2).
func ofPlayer(number int) string { return fmt.Sprintf("player%d.", number) }

// visitsGiven reports whether the command line says how many visits a player (1
// or 2) has.
func (f Flags) visitsGiven(player int) bool {
	return slices.ContainsFunc([]string{"", "white.", "black.", ofPlayer(player)}, func(prefix string) bool { return f.has(prefix, "visits") })
}

// of returns what holds for a player (1 or 2) with each colour, whose net has a search:
// a flag of the player goes before one of the colour, and that before one of both. A
// time of the player, of either kind, takes the place of both players' times.
func (f Flags) of(player int, margin time.Duration, search mcts.Config) (t [2]tuning) {
	for color := range t {
		t[color] = defaults(search)
		for _, prefix := range []string{"", chess.Color(color).String() + ".", ofPlayer(player)} {
			if l := &t[color].limits; f.has(prefix, "movetime", "tc") {
				l.MoveTime, l.Base, l.Increment = 0, 0, 0
			}
			for _, v := range f[prefix] {
				for _, set := range v.sets {
					set(&t[color])
				}
			}
		}
		t[color].limits.Margin = margin
	}
	return t
}

// describe lists the visits of a net, where they are limited, and what differs from
// the defaults, as "visits=16 gumbel=true".
func (t *tuning) describe() string {
	usual := defaults(mcts.DefaultConfig())
	var parts []string
	for _, k := range knobs() {
		if k.forWhom != forNets {
			continue
		}
		text, shown := k.get(t), t.Search.Simulations > 0
		if k.name != "visits" {
			shown = text != k.get(&usual)
		}
		if shown {
			parts = append(parts, k.name+"="+text)
		}
	}
	return strings.Join(parts, " ")
}
