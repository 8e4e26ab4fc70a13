package monitor

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sample returns one event of every type, with values in every field.
func sample() []Event {
	events := []Event{}
	for _, t := range []string{"run", "stage", "episode", "step", "validation", "measure", "selfplay", "net", "gate", "alarm", "plugin"} {
		e := newEvent(t)
		seed := 0
		fillValue(reflect.ValueOf(e).Elem(), &seed)
		*e.Head() = Header{V: SchemaVersion, Type: t, Seq: uint64(len(events) + 1), Time: time.Unix(1700000000+int64(len(events)), 5000).UTC(), Job: "job"}
		events = append(events, e)
	}
	return events
}

// fillValue gives every field a value that differs from the others.
func fillValue(v reflect.Value, seed *int) {
	*seed++
	switch v.Kind() {
	case reflect.Struct:
		if _, isTime := v.Interface().(time.Time); isTime {
			return
		}
		for i := range v.NumField() {
			fillValue(v.Field(i), seed)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, key := range []string{"policy_loss", "value_loss"} {
			x := reflect.New(v.Type().Elem()).Elem()
			fillValue(x, seed)
			v.SetMapIndex(reflect.ValueOf(key), x)
		}
	case reflect.String:
		v.SetString("text " + strings.Repeat("x", *seed))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*seed) + 0.25)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*seed))
	case reflect.Uint64:
		v.SetUint(uint64(*seed))
	default:
		panic("field of kind " + v.Kind().String())
	}
}

func TestEventsSurviveJSON(t *testing.T) {
	for _, e := range sample() {
		line, err := AppendJSON(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(e, back); d != "" {
			t.Errorf("%s: %s", e.Head().Type, d)
		}
	}
}

var sameNumbers = cmp.Comparer(func(a, b Number) bool {
	return a == b || math.IsNaN(float64(a)) && math.IsNaN(float64(b))
})

func TestNumbersThatAreNotFinite(t *testing.T) {
	e := &Step{Losses: Numbers{"policy_loss": Number(math.NaN())}, GradNorm: Number(math.Inf(1)), Loss: Number(math.Inf(-1)), LR: 1e-300}
	e.V, e.Type = SchemaVersion, "step"
	line, err := AppendJSON(nil, e)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(line)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(e, back, sameNumbers); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{`"nan"`, `"1"`, `{}`, `[1]`} {
		var n Number
		if n.UnmarshalJSON([]byte(bad)) == nil {
			t.Errorf("%s was taken as a number", bad)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct {
		line string
		want error
	}{
		{`{"v":2,"type":"step"}`, ErrVersion},
		{`{"v":1,"type":"dance"}`, ErrUnknownType},
		{`{"v":1,"type":"step","step":"x"}`, nil},
		{`nonsense`, nil},
		{``, nil},
	} {
		_, err := Decode([]byte(c.line))
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.line, err, c.want)
		}
	}
}

func TestReplay(t *testing.T) {
	var text []byte
	for _, e := range sample() {
		text, _ = AppendJSON(text, e)
	}
	whole := int64(len(text))
	text = append(text, `{"v":1,"type":"from the future","seq":99}`+"\n"...)
	torn := `{"v":1,"type":"st`
	text = append(text, torn...)
	var got []Event
	info, err := Replay(bytes.NewReader(text), func(e Event) error { got = append(got, e); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(sample(), got); d != "" {
		t.Error(d)
	}
	if info.Torn != int64(len(torn)) || info.Unknown != 1 || info.Events != int64(len(sample())) || info.Seq != uint64(len(sample())) || info.Bytes <= whole {
		t.Errorf("%+v", info)
	}
	_, err = Replay(strings.NewReader("{\"v\":1,\"type\":\"step\"}\nbroken\n{}\n"), func(Event) error { return nil })
	var bad *CorruptError
	if !errors.As(err, &bad) || bad.Offset != 22 || bad.Line != 2 {
		t.Errorf("a broken line in the middle gives %v", err)
	}
	if _, err = Replay(strings.NewReader(strings.Repeat("x", MaxLine+1<<17)), func(Event) error { return nil }); !errors.As(err, &bad) {
		t.Errorf("an endless line gives %v", err)
	}
}

func FuzzReplay(f *testing.F) {
	for _, e := range sample() { // one by one: small inputs are quick to vary
		line, err := AppendJSON(nil, e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add([]byte("{\"v\":1,\"type\":\"episode\",\"ends\":{\"a\":1}}\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = Replay(bytes.NewReader(text), func(e Event) error {
			line, err := AppendJSON(nil, e)
			if err != nil {
				t.Fatalf("decoded but not encodable: %v", err)
			}
			back, err := Decode(line)
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := AppendJSON(nil, back); !bytes.Equal(again, line) {
				t.Fatalf("%s became %s", line, again)
			}
			_, scalars := Scalars(e)
			data := (&tfEvent{scalars: scalars}).append(nil)
			if tf, err := decodeTFEvent(data); err != nil || len(tf.scalars) != len(scalars) {
				t.Fatalf("scalars are lost: %v", err)
			}
			return nil
		})
	})
}

// TestMeterFollows: each call counts, also while nothing grows, and what is older than the
// span does not.
func TestMeterFollows(t *testing.T) {
	m, now := new(Meter), time.Unix(0, 0)
	m.Observe(now, Totals{})
	for i := 1; i <= 32; i++ {
		m.Observe(now.Add(time.Duration(i)*time.Second), Totals{Positions: int64(100 * i)})
	}
	for after, want := range map[int]float64{8: 75, 16: 50, 31: 3.125, 32: 0, 100: 0} {
		quiet := Meter{seen: slices.Clone(m.seen)}
		if got := quiet.Observe(now.Add(time.Duration(32+after)*time.Second), Totals{Positions: 3200}).PositionsPerSecond; float64(got) != want {
			t.Errorf("%d s after the last position: %v a second, want %v", after, got, want)
		}
	}
	for i := range 1000 {
		m.Observe(now.Add(time.Duration(33+i)*time.Second), Totals{})
	}
	if len(m.seen) > 34 {
		t.Errorf("%d readings are kept", len(m.seen))
	}
}

func TestMeter(t *testing.T) {
	m, now := new(Meter), time.Unix(0, 0)
	var r Rates
	for i := range 100 { // 10 positions and 5 batches a second, then 20
		n := int64(i)
		if i > 50 {
			n = 50 + 2*(int64(i)-50)
		}
		r = m.Observe(now.Add(time.Duration(i)*time.Second), Totals{Positions: 10 * n, Evaluations: 40 * n, Batches: 5 * n, CacheHits: n, CacheProbes: 4 * n})
	}
	want := Rates{PositionsPerSecond: 20, EvaluationsPerSecond: 80, MeanBatch: 8, CacheHitShare: 0.25}
	if r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
	m = new(Meter)
	m.Observe(now, Totals{})
	if r := m.Observe(now.Add(500*time.Millisecond), Totals{Games: 1}); r.GamesPerSecond != 2 {
		t.Errorf("before the first tick: %+v", r)
	}
	if r := new(Meter).Observe(now, Totals{Games: 5}); r != (Rates{}) {
		t.Errorf("first call: %+v", r)
	}
}

// TestMeasureCurves: the losses of a measurement stand under its name, apart from those
// of the validation.
func TestMeasureCurves(t *testing.T) {
	v := Validation{Step: 7, Weights: WeightsSWA, Losses: Numbers{"policy_loss": 2}}
	for want, e := range map[string]Event{"val_masters/policy_loss": &Measure{v, "masters"}, "val_swa/policy_loss": &v} {
		x, scalars := Scalars(e)
		if i := slices.IndexFunc(scalars, func(s Scalar) bool { return s.Tag == want && s.Value == 2 }); x != 7 || i < 0 || len(scalars) != 6 {
			t.Errorf("%s: step %d, %v", want, x, scalars)
		}
	}
}
