package ratings

import (
	"fmt"
	"io"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/catalogue"
)

// Rated is the list of a run's ratings with its alarms.
type Rated struct {
	Ratings []Line   `json:"ratings"`
	Alarms  []string `json:"alarms"`

	list   *catalogue.Catalogue
	alarms []*monitor.Alarm
}

// NewRated is the list of a catalogue.
func NewRated(list *catalogue.Catalogue, alarms []*monitor.Alarm) *Rated {
	p := &Rated{Lines(list), []string{}, list, alarms}
	for _, a := range alarms {
		p.Alarms = append(p.Alarms, a.Message)
	}
	return p
}

// Write prints the page for a person.
func (p *Rated) Write(out io.Writer) error {
	if err := Write(out, p.list); err != nil {
		return err
	}
	for _, a := range p.alarms {
		if _, err := fmt.Fprintf(out, "alarm: %s; %s\n", a.Message, a.Remedy); err != nil {
			return err
		}
	}
	return nil
}
