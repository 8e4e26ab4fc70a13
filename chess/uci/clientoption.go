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
		switch key {
		case "name":
			o.Name = value
		case "type":
			o.Type = value
		case "min":
			o.Min = numberOr(value, o.Min)
		case "max":
			o.Max = numberOr(value, o.Max)
		case "var":
			if len(o.Vars) < maxVars {
				o.Vars = append(o.Vars, value)
			}
		}
		i = end
	}
	return o, o.Name != "" && slices.Contains([]string{"check", "spin", "combo", "button", "string"}, o.Type)
}

var optionKeys = []string{"name", "type", "default", "min", "max", "var"}

func numberOr(text string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return otherwise
}

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

// option returns the option of a name in any case, or nil.
func (c *Client) option(name string) *Option {
	for i := range c.options {
		if strings.EqualFold(c.options[i].Name, name) {
			return &c.options[i]
		}
	}
	return nil
}

// setOption sets one option of the engine.
func (c *Client) setOption(name, value string) error {
	o := c.option(name)
	if o == nil {
		names := make([]string, len(c.options))
		for i := range names {
			names[i] = c.options[i].Name
		}
		return c.failed(fmt.Sprintf("has no option %q, only %s", name, strings.Join(names, ", ")), ErrOption)
	}
	line, err := o.command(value)
	if err != nil {
		return c.failed("was given a wrong setting", err)
	}
	if strings.EqualFold(name, "UCI_Chess960") {
		c.chess960 = strings.EqualFold(value, "true")
	}
	return c.send(line)
}
