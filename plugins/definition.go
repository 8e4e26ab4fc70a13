package plugins

import (
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// definitionOf returns the definition that Serve's argument is or stands for,
// validated.
func definitionOf(s any) (*stage.Definition, error) {
	if s == nil {
		return nil, errors.New("nothing to serve: nil, want a *stage.Definition, stage.Rescorer, stage.Sampler or stage.Exporter")
	}
	d, ok := s.(*stage.Definition)
	if !ok {
		var err error
		if d, err = bare(s); err != nil {
			return nil, err
		}
	}
	if d == nil {
		return nil, errors.New("nothing to serve: a nil *stage.Definition")
	}
	if err := d.Validate(); err != nil {
		return nil, err
	}
	made := map[stage.Kind]bool{
		stage.KindRescorer: d.NewRescorer != nil, stage.KindSampler: d.NewSampler != nil, stage.KindExporter: d.NewExporter != nil,
	}
	for kind, there := range made {
		if there != (kind == d.Kind) {
			return nil, fmt.Errorf("%s %s: want the New function of its kind and no other", d.Kind, d.Name)
		}
	}
	return d, nil
}

// bare returns the definition of a stage without one: no settings, and calls from
// several goroutines only where the interface says that they may come.
func bare(s any) (*stage.Definition, error) {
	d := &stage.Definition{Version: "0.0.0"}
	kinds := 0
	if r, ok := s.(stage.Rescorer); ok {
		d.Kind, d.Name, d.NewRescorer = stage.KindRescorer, r.Name(), func(stage.Values) (stage.Rescorer, error) { return r, nil }
		kinds++
	}
	if p, ok := s.(stage.Sampler); ok {
		d.Kind, d.Name, d.NewSampler = stage.KindSampler, p.Name(), func(stage.Values) (stage.Sampler, error) { return p, nil }
		d.Concurrency = 1
		kinds++
	}
	if e, ok := s.(stage.Exporter); ok {
		d.Kind, d.Name, d.NewExporter = stage.KindExporter, e.Name(), func(stage.Values) (stage.Exporter, error) { return e, nil }
		d.Concurrency = 1
		kinds++
	}
	if kinds != 1 {
		return nil, fmt.Errorf("cannot serve a %T: want a *stage.Definition, or exactly one of stage.Rescorer, stage.Sampler and stage.Exporter", s)
	}
	d.Doc = fmt.Sprintf("the %s %s", d.Kind, d.Name)
	return d, nil
}
