package stage

import (
	"reflect"
	"strings"
	"testing"
)

// TestParseChoices reads names and settings of a command line.
func TestParseChoices(t *testing.T) {
	c, err := ParseChoices(KindRescorer, "plies-left, deblunder", []string{"deblunder.threshold=0.25", "deblunder.width=a=b"})
	want := []Choice{{Name: "plies-left", Settings: map[string]string{}},
		{Name: "deblunder", Settings: map[string]string{"threshold": "0.25", "width": "a=b"}}}
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = ParseChoices(KindSampler, "hanse", []string{"hanse.gamma="})
	want = []Choice{{Name: "hanse", Settings: map[string]string{"gamma": ""}}}
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, %v", c, err)
	}
	for want, words := range map[string][]string{
		"rescorer deblunder is named twice":      {"deblunder,deblunder"},
		"deblunder.width is given twice":         {"deblunder", "deblunder.width=0", "deblunder.width=0.1"},
		"want STAGE.SETTING=VALUE":               {"deblunder", "threshold=0.1"},
		"want STAGE.SETTING=VALUE, such as a.x=": {"a,b", "a.threshold"},
		"syzygy is not named":                    {"deblunder", "syzygy.paths=x"},
		"a name is missing":                      {"deblunder,"},
	} {
		if c, err := ParseChoices(KindRescorer, words[0], words[1:]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, %v, want %q", words, c, err, want)
		}
	}
	for _, kind := range []Kind{KindSampler, KindExporter} {
		if c, err := ParseChoices(kind, "a,b", nil); err == nil || !strings.Contains(err.Error(), "want one name") {
			t.Errorf("two of kind %s: %v, %v", kind, c, err)
		}
	}
}
