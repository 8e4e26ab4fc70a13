package uci

import (
	"fmt"
	"strconv"
	"strings"
)

// Leaves of one search that are evaluated together.
const (
	defaultLeaves = 8
	maxLeaves     = 256
)

// identify answers uci.
func (e *Engine) identify() {
	e.say("id name %s", e.Name)
	e.say("id author the chessbrain team")
	e.say("option name Nodes type spin default %d min 1 max %d", e.Search.Simulations, maxNodes)
	e.say("option name Cpuct type string default %g", e.Search.CPUCT)
	e.say("option name MinibatchSize type spin default %d min 1 max %d", defaultLeaves, maxLeaves)
	e.say("option name UCI_Chess960 type check default false")
	e.say("uciok")
}

// setOption takes "name N value V". It holds from the next go on; the tree, which
// other settings may have grown, is forgotten.
func (e *Engine) setOption(args []string) error {
	name, value, _ := strings.Cut(strings.TrimPrefix(strings.Join(args, " "), "name "), " value ")
	var err error
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "nodes":
		err = setSpin(&e.Search.Simulations, "Nodes", value, maxNodes)
	case "minibatchsize":
		err = setSpin(&e.leaves, "MinibatchSize", value, maxLeaves)
	case "cpuct":
		c, parseErr := strconv.ParseFloat(value, 64)
		if parseErr != nil || !(c > 0 && c <= 100) {
			return fmt.Errorf("Cpuct wants a number above 0 and up to 100, not %q", value)
		}
		e.Search.CPUCT = c
	case "uci_chess960":
		if value != "true" && value != "false" {
			return fmt.Errorf("UCI_Chess960 wants true or false, not %q", value)
		}
		e.chess960 = value == "true"
	default:
		return fmt.Errorf("no option %q", name)
	}
	e.search.DropTree()
	return err
}

// setSpin sets a whole number from 1 to high.
func setSpin(field *int, name, value string, high int) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > high {
		return fmt.Errorf("%s wants a whole number from 1 to %d, not %q", name, high, value)
	}
	*field = n
	return nil
}
