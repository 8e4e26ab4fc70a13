package rescore

import (
	"fmt"
	"strings"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// version is that of all built-in rescorers.
const version = "1.0.0"

// Definitions returns the built-in rescorers, sorted by name.
func Definitions() []*stage.Definition {
	define := func(name, doc string, settings []stage.Setting, newRescorer func(stage.Values) (stage.Rescorer, error)) *stage.Definition {
		return &stage.Definition{Kind: stage.KindRescorer, Name: name, Version: version, Doc: doc, Settings: settings,
			Capabilities: []stage.Capability{stage.Deterministic}, NewRescorer: newRescorer}
	}
	return []*stage.Definition{
		define("deblunder", deblunderDoc, deblunderSettings, newDeblunder),
		define("identity", "returns every game as it is", nil, func(stage.Values) (stage.Rescorer, error) { return Identity{}, nil }),
		define("plies-left", pliesLeftDoc, nil, func(stage.Values) (stage.Rescorer, error) { return PliesLeft{}, nil }),
		define("policy-temperature", policyDoc, policySettings, newPolicyTemperature),
		define("syzygy", syzygyDoc, syzygySettings, newSyzygy),
	}
}

// Definition returns a built-in rescorer's definition. It panics where there is none.
func Definition(name string) *stage.Definition {
	return stage.MustFind(Definitions(), stage.KindRescorer, name)
}

// Names returns the names of the built-in rescorers, sorted.
func Names() []string {
	var names []string
	for _, d := range Definitions() {
		names = append(names, d.Name)
	}
	return names
}

// Help lists the rescorers with their settings.
func Help() string {
	var sb strings.Builder
	for _, d := range Definitions() {
		fmt.Fprintf(&sb, "  %s: %s\n", d.Name, d.Doc)
		for _, s := range d.Settings {
			fmt.Fprintf(&sb, "      %s: %s", s.Name, s.Doc)
			if s.Default != "" {
				fmt.Fprintf(&sb, " (%s; %s)", s.Default, strings.TrimPrefix(s.Allowed(), "a number from "))
			}
			sb.WriteByte('\n')
		}
	}
	return sb.String()
}
