package stage

import (
	"fmt"
	"slices"
	"strings"
)

// ParseChoices reads a command line's words: names of a kind separated by commas,
// of rescorers in the order in which they work, and settings STAGE.SETTING=VALUE.
// A name may come once.
func ParseChoices(kind Kind, names string, set []string) ([]Choice, error) {
	var chosen []Choice
	given := map[string]map[string]string{}
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
			return nil, fmt.Errorf("%s %q: a name is missing", kind, names)
		case given[name] != nil:
			return nil, fmt.Errorf("%s %s is named twice", kind, name)
		}
		given[name] = map[string]string{}
		chosen = append(chosen, Choice{Name: name, Settings: given[name]})
	}
	if kind != KindRescorer && len(chosen) > 1 {
		return nil, fmt.Errorf("%s %q: want one name; only rescorers work one after the other", kind, names)
	}
	for _, s := range set {
		key, value, ok := strings.Cut(s, "=")
		name, setting, dotted := strings.Cut(key, ".")
		switch {
		case !ok || !dotted:
			return nil, fmt.Errorf("setting %q: want STAGE.SETTING=VALUE, such as %s.x=1", s, chosen[0].Name)
		case given[name] == nil:
			return nil, fmt.Errorf("setting %q: %s is not named: %s %s", s, name, kind, names)
		}
		if _, twice := given[name][setting]; twice {
			return nil, fmt.Errorf("setting %s.%s is given twice", name, setting)
		}
		given[name][setting] = value
	}
	return chosen, nil
}

// ParseKind reads the name of a kind; "" is any.
func ParseKind(text string) (Kind, error) {
	kinds := []Kind{KindRescorer, KindSampler, KindExporter}
	if k := Kind(text); text == "" || slices.Contains(kinds, k) {
		return k, nil
	}
	return "", fmt.Errorf("kind %q: want rescorer, sampler or exporter", text)
}

// ParseSettings reads words SETTING=VALUE about one stage.
func ParseSettings(set []string) (map[string]string, error) {
	all := map[string]string{}
	for _, s := range set {
		name, value, ok := strings.Cut(s, "=")
		if _, twice := all[name]; !ok || twice {
			return nil, fmt.Errorf("%q: want SETTING=VALUE, each setting once", s)
		}
		all[name] = value
	}
	return all, nil
}
