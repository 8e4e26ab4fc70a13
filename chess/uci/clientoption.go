package uci

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	maxOptions = 1000 // of one engine
	maxVars    = 1000 // of one option
)

// Option is a setting that an engine declares.
type Option struct {
	Name     string
	Type     string   // check, spin, combo, button or string
	Min, Max int64    // of a spin
	Vars     []string // values of a combo
}

// parseOption reads what follows the word "option"; ok is false where it is none.
// Names and values may have spaces: each reaches to the next keyword.
func parseOption(text string) (o Option, ok bool) {
	o.Min, o.Max = -1<<62, 1<<62
	words := strings.Fields(text)
	for i := 0; i < len(words); {
		key := words[i]
		end := i + 1
		for end < len(words) && !slices.Contains(optionKeys, words[end]) {
			end++
		}
		value := cut(strings.Join(words[i+1:end], " "))
		number, err := strconv.ParseInt(value, 10, 64)
		switch {
		case key == "name":
			o.Name = value
		case key == "type":
			o.Type = value
		case key == "min" && err == nil:
			o.Min = number
		case key == "max" && err == nil:
			o.Max = number
		case key == "var" && len(o.Vars) < maxVars:
			o.Vars = append(o.Vars, value)
		}
		i = end
	}
	return o, o.Name != "" && slices.Contains([]string{"check", "spin", "combo", "button", "string"}, o.Type)
}

var optionKeys = []string{"name", "type", "default", "min", "max", "var"}

// command returns the line that sets the option, or says why the value is wrong.
func (o *Option) command(value string) (string, error) {
	switch o.Type {
	case "button":
		if value != "" {
			return "", fmt.Errorf("%w: %s is a button and takes no value, not %q", ErrOption, o.Name, value)
		}
		return "setoption name " + o.Name, nil
	case "check":
		value = strings.ToLower(value)
		if value != "true" && value != "false" {
			return "", fmt.Errorf("%w: %s wants true or false, not %q", ErrOption, o.Name, value)
		}
	case "spin":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < o.Min || n > o.Max {
			return "", fmt.Errorf("%w: %s wants a whole number from %d to %d, not %q", ErrOption, o.Name, o.Min, o.Max, value)
		}
	case "combo":
		i := slices.IndexFunc(o.Vars, func(v string) bool { return strings.EqualFold(v, value) })
		if i < 0 {
			return "", fmt.Errorf("%w: %s wants one of %s, not %q", ErrOption, o.Name, strings.Join(o.Vars, ", "), value)
		}
		value = o.Vars[i]
	case "string":
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", fmt.Errorf("%w: %s wants a text of one line, not %q", ErrOption, o.Name, value)
		}
	}
	return "setoption name " + o.Name + " value " + value, nil
}

// setOption sets one option of the engine, by its name in any case.
func (c *Client) setOption(name, value string) error {
	i := slices.IndexFunc(c.options, func(o Option) bool { return strings.EqualFold(o.Name, name) })
	if i < 0 {
		names := make([]string, len(c.options))
		for i := range names {
			names[i] = c.options[i].Name
		}
		return c.failed(fmt.Sprintf("has no option %q, only %s", name, strings.Join(names, ", ")), ErrOption)
	}
	line, err := c.options[i].command(value)
	if err != nil {
		return c.failed("was given a wrong setting", err)
	}
	if strings.EqualFold(name, "UCI_Chess960") {
		c.chess960 = strings.EqualFold(value, "true")
	}
	return c.send(line)
}
