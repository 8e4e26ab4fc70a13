package plugintest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// noSetting is a name that no stage gives a setting.
const noSetting = "plugintest_no_such_setting"

// definition makes the checks that hold for all kinds.
func (c *suite) definition() {
	d := c.s.Definition
	c.do("the description is valid", d.Validate)
	c.do("the description has a version and says what the stage does", func() error {
		if d.Version == "" || d.Doc == "" {
			return fmt.Errorf("version %q, doc %q", d.Version, d.Doc)
		}
		for _, s := range d.Settings {
			if s.Doc == "" {
				return fmt.Errorf("setting %s: no doc", s.Name)
			}
		}
		return nil
	})
	c.do("the description is the same on the other side", c.sameDescription)
	c.do("an instance has the description's name", func() error { return c.with(c.sameName) })
	c.do("the defaults of the settings work", c.defaults)
	c.do("without settings it is made, or names the one that it needs", c.withoutSettings)
	c.do("an unknown setting is refused by its name", func() error {
		return c.refused(noSetting, "1")
	})
	c.do("a setting out of range is refused by its name", c.outOfRange)
}

// sameDescription compares what the other side says with what the subject has.
func (c *suite) sameDescription() error {
	if c.s.Describe == nil {
		return notHere("there is no other side")
	}
	got, err := c.s.Describe(c.ctx)
	if err != nil {
		return err
	}
	says, err1 := api.DescribeJSON(got)
	want, err2 := api.DescribeJSON(c.s.Definition)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if !bytes.Equal(says, want) {
		return fmt.Errorf("it says\n%s\nwant\n%s", says, want)
	}
	return nil
}

// sameName holds an instance to the kind and the name of its description.
func (c *suite) sameName(st Stage) error {
	var kinds []stage.Kind
	name := ""
	all := []stage.Kind{stage.KindRescorer, stage.KindSampler, stage.KindExporter}
	for i, made := range []interface{ Name() string }{st.Rescorer, st.Sampler, st.Exporter} {
		if made != nil {
			kinds, name = append(kinds, all[i]), made.Name()
		}
	}
	if d := c.s.Definition; len(kinds) != 1 || kinds[0] != d.Kind || name != d.Name {
		return fmt.Errorf("it is a %v %q, the description says %s %q", kinds, name, d.Kind, d.Name)
	}
	return nil
}

// settings returns the subject's settings, to be changed.
func (c *suite) settings() map[string]string {
	settings := map[string]string{}
	maps.Copy(settings, c.s.Settings)
	return settings
}

// defaults makes an instance in which every setting that the subject does not
// set is given its default in words.
func (c *suite) defaults() error {
	settings := c.settings()
	for _, s := range c.s.Definition.Settings {
		if _, set := settings[s.Name]; !set && s.Default != "" {
			settings[s.Name] = s.Default
		}
	}
	return c.withSettings(settings, func(Stage) error { return nil })
}

// withoutSettings makes an instance with nothing set. Only a text without a
// default can be missing.
func (c *suite) withoutSettings() error {
	st, err := c.s.New(c.ctx, nil)
	if err == nil {
		return st.close()
	}
	for _, s := range c.s.Definition.Settings {
		if s.Text && s.Default == "" && strings.Contains(err.Error(), s.Name) {
			return nil
		}
	}
	return err
}

// outOfRange gives each setting values that it does not take.
func (c *suite) outOfRange() error {
	for _, s := range c.s.Definition.Settings {
		for _, text := range wrongValues(s) {
			if err := c.refused(s.Name, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// wrongValues returns texts that a setting must refuse.
func wrongValues(s stage.Setting) []string {
	if s.Text {
		if len(s.Choices) == 0 {
			return nil // any text may be right
		}
		return []string{strings.Join(s.Choices, "") + "x"}
	}
	wrong := []string{"many"}
	if below := s.Min - 1 - math.Abs(s.Min); !math.IsInf(below, 0) {
		wrong = append(wrong, strconv.FormatFloat(below, 'g', -1, 64))
	}
	if above := s.Max + 1 + math.Abs(s.Max); !math.IsInf(above, 0) {
		wrong = append(wrong, strconv.FormatFloat(above, 'g', -1, 64))
	}
	if s.Whole && s.Min < s.Max {
		wrong = append(wrong, strconv.FormatFloat(math.Floor(s.Min)+0.5, 'f', -1, 64))
	}
	return append(wrong, "nan")
}

// refused makes an instance with one setting changed, which must fail with a
// message that names the setting.
func (c *suite) refused(name, text string) error {
	settings := c.settings()
	settings[name] = text
	st, err := c.s.New(c.ctx, settings)
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("%s = %q is accepted", name, text), st.close())
	case c.ctx.Err() != nil:
		return c.ctx.Err()
	case !strings.Contains(err.Error(), name):
		return fmt.Errorf("%s = %q is refused without its name: %w", name, text, err)
	}
	return nil
}

// canceled returns a context that is over before it is used.
func (c *suite) canceled() context.Context {
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	return ctx
}
