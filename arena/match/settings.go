package match

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/mcts"
)

// knob is a setting of a player's search, which has a flag for both
// players, one for each colour and one for each player.
type knob struct {
	name, kind, usage string
	set               func(s *arena.Settings, text string) error // parses and checks the range
	get               func(s *arena.Settings) string
}

// defaultSettings are those of a player without flags.
func defaultSettings() arena.Settings {
	s := arena.Settings{Search: mcts.DefaultConfig(), TreeReuse: true, TemperaturePlies: 20}
	s.Search.Simulations = 100
	return s
}

// knobs lists the settings in the order in which they are applied.
func knobs() []knob {
	return []knob{
		intSetting("visits", "visits of each move, those of the reused tree included", 1, MaxVisits, func(s *arena.Settings) *int { return &s.Search.Simulations }),
		floatSetting("cpuct", "exploration constant of PUCT", 0, 1000, func(s *arena.Settings) *float64 { return &s.Search.CPUCT }),
		floatSetting("fpu-reduction", "how much lower than its parent a move without visits is valued", -10, 10, func(s *arena.Settings) *float64 { return &s.Search.FPUReduction }),
		boolSetting("gumbel", "Gumbel search (sequential halving, completed Q, no noise) instead of PUCT", func(s *arena.Settings) *bool { return &s.Search.Gumbel.Enabled }),
		intSetting("gumbel-candidates", "root moves that the sequential halving starts from", 1, 1000, func(s *arena.Settings) *int { return &s.Search.Gumbel.Candidates }),
		floatSetting("gumbel-value-scale", "c_scale of Gumbel's completed Q", 0, 1000, func(s *arena.Settings) *float64 { return &s.Search.Gumbel.ValueScale }),
		floatSetting("gumbel-visit-init", "c_visit of Gumbel's completed Q", 0, 1e6, func(s *arena.Settings) *float64 { return &s.Search.Gumbel.MaxVisitInit }),
		boolSetting("smart-pruning", "end a search whose other visits cannot change the move", func(s *arena.Settings) *bool { return &s.Search.Stop.SmartPruning }),
		floatSetting("kld-gain", "end a search that gains less than so many nats a visit; 0 = never", 0, 1000, func(s *arena.Settings) *float64 { return &s.Search.Stop.KLDGain }),
		boolSetting("tree-reuse", "keep the subtree of the moves played", func(s *arena.Settings) *bool { return &s.TreeReuse }),
		floatSetting("temperature", "of the moves after the opening, for --temperature-plies; 0 = always the best move", 0, 100, func(s *arena.Settings) *float64 { return &s.Temperature }),
		intSetting("temperature-plies", "plies after the opening that the temperature holds for", 0, 1000, func(s *arena.Settings) *int { return &s.TemperaturePlies }),
	}
}

func intSetting(name, usage string, low, high int, field func(*arena.Settings) *int) knob {
	return knob{name, "int", usage,
		func(s *arena.Settings, text string) error {
			v, err := strconv.Atoi(text)
			if err != nil || v < low || v > high {
				return fmt.Errorf("want %d to %d", low, high)
			}
			*field(s) = v
			return nil
		},
		func(s *arena.Settings) string { return strconv.Itoa(*field(s)) },
	}
}

func floatSetting(name, usage string, low, high float64, field func(*arena.Settings) *float64) knob {
	return knob{name, "float", usage,
		func(s *arena.Settings, text string) error {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || !(v >= low && v <= high) {
				return fmt.Errorf("want %v to %v", low, high)
			}
			*field(s) = v
			return nil
		},
		func(s *arena.Settings) string { return strconv.FormatFloat(*field(s), 'g', -1, 64) },
	}
}

func boolSetting(name, usage string, field func(*arena.Settings) *bool) knob {
	return knob{name, "bool", usage,
		func(s *arena.Settings, text string) error {
			v, err := strconv.ParseBool(text)
			if err != nil {
				return errors.New("want true or false")
			}
			*field(s) = v
			return nil
		},
		func(s *arena.Settings) string { return strconv.FormatBool(*field(s)) },
	}
}

// describeSettings lists the visits, where they are limited, and what differs
// from the defaults, as "visits=16 gumbel=true".
func describeSettings(s *arena.Settings) string {
	defaults := defaultSettings()
	var parts []string
	for _, setting := range knobs() {
		text, shown := setting.get(s), s.Search.Simulations > 0
		if setting.name != "visits" {
			shown = text != setting.get(&defaults)
		}
		if shown {
			parts = append(parts, setting.name+"="+text)
		}
	}
	return strings.Join(parts, " ")
}

// MaxVisits bounds a search; its tree takes about a kilobyte a visit.
const MaxVisits = 1_000_000

// settingValue is the flag of a setting with one prefix.
type settingValue struct {
	setting *knob
	text    string // what the command line says; the default before
	given   bool
}

func (v *settingValue) String() string { return v.text }
func (v *settingValue) Type() string   { return v.setting.kind }

func (v *settingValue) Set(text string) error {
	if err := v.setting.set(new(arena.Settings), text); err != nil {
		return err
	}
	v.text, v.given = text, true
	return nil
}

// Settings holds the flags of all settings, by prefix and in the order of
// knobs.
type Settings map[string][]*settingValue

// settingPrefixes are those of the flags, the weakest first.
var settingPrefixes = []string{"", "white.", "black.", "player1.", "player2."}

// NewSettings hands the flags of all settings with all prefixes to bind.
func NewSettings(bind Bind) Settings {
	flags, defaults, settings := Settings{}, defaultSettings(), knobs()
	for _, prefix := range settingPrefixes {
		for i := range settings {
			s := &settings[i]
			v := &settingValue{setting: s}
			if prefix == "" {
				v.text = s.get(&defaults)
			}
			alone := ""
			if s.kind == "bool" {
				alone = "true"
			}
			bind(Flag{v, prefix + s.name, s.usage, alone, prefix != ""})
			flags[prefix] = append(flags[prefix], v)
		}
	}
	return flags
}

// given returns the name of a flag of a prefix that the command line has, or "".
func (f Settings) given(prefix string) string {
	for _, v := range f[prefix] {
		if v.given {
			return "--" + prefix + v.setting.name
		}
	}
	return ""
}

// visitsGiven reports whether the command line says how many visits a player (1
// or 2) has.
func (f Settings) visitsGiven(player int) bool {
	for _, prefix := range []string{"", "white.", "black.", fmt.Sprintf("player%d.", player)} {
		for _, v := range f[prefix] {
			if v.setting.name == "visits" && v.given {
				return true
			}
		}
	}
	return false
}

// of returns the settings of a player (1 or 2) for each colour: a flag of the
// player goes before one of the colour, and that before one of both.
func (f Settings) of(player int) (settings [2]arena.Settings, err error) {
	for color := range settings {
		settings[color] = defaultSettings()
		for _, prefix := range []string{"", chess.Color(color).String() + ".", fmt.Sprintf("player%d.", player)} {
			for _, v := range f[prefix] {
				if !v.given {
					continue
				}
				if err := v.setting.set(&settings[color], v.text); err != nil {
					return settings, fmt.Errorf("--%s%s: %w", prefix, v.setting.name, err)
				}
			}
		}
	}
	return settings, nil
}
