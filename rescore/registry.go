package rescore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/stage"
)

// builtin is a stage that New can make.
type builtin struct {
	Description
	make func(v values) (stage.Rescorer, error) // v holds all settings, checked one by one
}

// builtins lists the stages by name.
func builtins() []builtin {
	return []builtin{
		{Description{Name: "deblunder", Doc: deblunderDoc, Settings: deblunderSettings}, newDeblunder},
		{Description{Name: "identity", Doc: "returns every game as it is"}, func(values) (stage.Rescorer, error) { return Identity{}, nil }},
		{Description{Name: "plies-left", Doc: pliesLeftDoc}, func(values) (stage.Rescorer, error) { return PliesLeft{}, nil }},
		{Description{Name: "policy-temperature", Doc: policyDoc, Settings: policySettings}, newPolicyTemperature},
		{Description{Name: "syzygy", Doc: syzygyDoc, Settings: syzygySettings}, newSyzygy},
	}
}

// Names returns the names of the built-in rescorers, sorted.
func Names() []string {
	var names []string
	for _, b := range builtins() {
		names = append(names, b.Name)
	}
	return names
}

// Describe returns the built-in rescorers with their settings, sorted by name.
func Describe() []Description {
	var list []Description
	for _, b := range builtins() {
		list = append(list, b.Description)
	}
	return list
}

// New returns a built-in rescorer by name. Settings that are not given have
// their defaults. Errors name the stage, the setting and what is allowed.
func New(name string, settings map[string]string) (stage.Rescorer, error) {
	all := builtins()
	i := slices.IndexFunc(all, func(b builtin) bool { return b.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown rescorer %q; there are: %s", name, strings.Join(Names(), ", "))
	}
	v, err := all[i].parse(settings)
	if err != nil {
		return nil, fmt.Errorf("rescorer %s: %w", name, err)
	}
	r, err := all[i].make(v)
	if err != nil {
		return nil, fmt.Errorf("rescorer %s: %w", name, err)
	}
	return r, nil
}

// Parse makes a chain of a command line's words: names separated by commas, in
// the order in which they work, and settings "stage.setting=value", which hold
// for that stage. A name may come once: several instances of one stage need a
// configuration file.
func Parse(names string, settings []string) (Chain, error) {
	given, order := map[string]map[string]string{}, strings.Split(names, ",")
	for i, name := range order {
		order[i] = strings.TrimSpace(name)
		if given[order[i]] != nil {
			return nil, fmt.Errorf("rescorer %s is named twice", order[i])
		}
		given[order[i]] = map[string]string{}
	}
	for _, s := range settings {
		key, value, ok := strings.Cut(s, "=")
		name, setting, dotted := strings.Cut(key, ".")
		switch {
		case !ok || !dotted:
			return nil, fmt.Errorf("setting %q: want STAGE.SETTING=VALUE, such as deblunder.threshold=0.1", s)
		case given[name] == nil:
			return nil, fmt.Errorf("setting %q: %s is not among the rescorers %s", s, name, strings.Join(order, ","))
		}
		if _, twice := given[name][setting]; twice {
			return nil, fmt.Errorf("setting %s.%s is given twice", name, setting)
		}
		given[name][setting] = value
	}
	var chain Chain
	for _, name := range order {
		r, err := New(name, given[name])
		if err != nil {
			return nil, err
		}
		chain = append(chain, r)
	}
	return chain, nil
}
