package track

import (
	"encoding/binary"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/chessbrain/chessbrain/internal/monitor"
)

// unframed takes a log apart, block by block, as LevelDB's description says it is read.
func unframed(t *testing.T, data []byte) (records [][]byte) {
	t.Helper()
	if string(data[:4]) != ":W&B" || binary.LittleEndian.Uint16(data[4:]) != 0xBEE1 || data[6] != 0 {
		t.Fatalf("header %q", data[:7])
	}
	var record []byte
	open := false
	for start := 0; start < len(data); start += 32768 {
		block := data[start:min(start+32768, len(data))]
		at := 0
		if start == 0 {
			at = 7
		}
		for len(block)-at >= 7 {
			crc, n, kind := binary.LittleEndian.Uint32(block[at:]), int(binary.LittleEndian.Uint16(block[at+4:])), block[at+6]
			if at+7+n > len(block) {
				t.Fatalf("byte %d: a chunk of %d bytes leaves its block", start+at, n)
			}
			if crc != crc32.ChecksumIEEE(block[at+6:at+7+n]) {
				t.Fatalf("byte %d: checksum", start+at)
			}
			begins, ends := kind == 1 || kind == 2, kind == 1 || kind == 4
			if kind < 1 || kind > 4 || begins == open {
				t.Fatalf("byte %d: chunk of kind %d, in a record: %v", start+at, kind, open)
			}
			if begins {
				record = nil
			}
			record = append(record, block[at+7:at+7+n]...)
			if open = !ends; ends {
				records = append(records, record)
			}
			at += 7 + n
		}
		if tail := block[at:]; slices.ContainsFunc(tail, func(b byte) bool { return b != 0 }) || len(tail) > 0 && len(block) < 32768 {
			t.Fatalf("block at %d ends with % x", start, tail)
		}
	}
	if open {
		t.Fatal("the last record has no end")
	}
	return records
}

// fields are those of a message by number: uint64 or []byte, in order.
func fields(t *testing.T, m []byte) map[protowire.Number][]any {
	t.Helper()
	all := map[protowire.Number][]any{}
	for len(m) > 0 {
		number, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		m = m[n:]
		var value any
		switch kind {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(m)
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(m)
		default:
			t.Fatalf("field %d of kind %d", number, kind)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		all[number], m = append(all[number], value), m[n:]
	}
	return all
}

// logged are the records of a kind in an offline run; all are numbered from 1.
func logged(t *testing.T, path string, kind protowire.Number) (found [][]byte) {
	t.Helper()
	for i, r := range unframed(t, []byte(content(t, path))) {
		f := fields(t, r)
		if len(f) != 2 || len(f[1]) != 1 || f[1][0].(uint64) != uint64(i+1) {
			t.Fatalf("record %d: %v", i, f)
		}
		for number, value := range f {
			if number == kind {
				found = append(found, value[0].([]byte))
			}
		}
	}
	return found
}

// items are the pairs of a message that has them in a field.
func items(t *testing.T, m []byte, field protowire.Number) map[string]string {
	t.Helper()
	pairs := map[string]string{}
	for _, v := range fields(t, m)[field] {
		f := fields(t, v.([]byte))
		name := string(f[1][0].([]byte))
		if _, twice := pairs[name]; twice || len(f) != 2 {
			t.Errorf("item %s: %v", name, f)
		}
		pairs[name] = string(f[16][0].([]byte))
	}
	return pairs
}

// TestWandb holds every field of every record of a run.
func TestWandb(t *testing.T) {
	o := options(t)
	o.MLflow = ""
	written(t, o.Metrics, phaseAt(monitor.RunStart, 0), stepAt(1, 0.25), stepAt(2, 1e-7),
		&monitor.Episode{Header: monitor.Header{Time: began.Add(2e9)}, Episode: 7, Plies: 80})
	f := New(o)
	must(t, f.Update())
	path := only(t, o.Wandb, "offline-run-20260304_050607-*", "run-*.wandb")
	id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "run-"), ".wandb")
	if len(id) != 8 || !strings.HasSuffix(filepath.Dir(path), "-"+id) || !exists(filepath.Join(filepath.Dir(path), "files")) {
		t.Errorf("path %s", path)
	}
	one := func(kind protowire.Number) map[protowire.Number][]any {
		t.Helper()
		all := logged(t, path, kind)
		if len(all) != 1 {
			t.Fatalf("%d records of kind %d", len(all), kind)
		}
		return fields(t, all[0])
	}
	if got := fields(t, one(21)[1][0].([]byte)); string(got[1][0].([]byte)) != "chessbrain 1.2.3" {
		t.Errorf("header %v", got)
	}
	r := one(17)
	start := fields(t, r[17][0].([]byte))
	if string(r[1][0].([]byte)) != id || string(r[3][0].([]byte)) != "chessbrain" || string(r[8][0].([]byte)) != "runs/a" ||
		start[1][0].(uint64) != uint64(began.Unix()) || start[2][0].(uint64) != 890e6 {
		t.Errorf("run %q, start %v", r, start)
	}
	if got, want := items(t, r[4][0].([]byte), 1), map[string]string{"net.blocks": `"6"`, "training.losses[0].weight": `"0.5"`, "name": `"a \"b\": 'c'"`}; !maps.Equal(got, want) {
		t.Errorf("config %q, want %q", got, want)
	}

	history := logged(t, path, 2)
	if len(history) != 3 {
		t.Fatalf("%d rows", len(history))
	}
	for i, want := range []map[string]string{
		{"_step": "0", "_timestamp": "1772600768.890", "_runtime": "1.000", "step": "1", "train/loss": "0.25", "train/lr": "0.5"},
		{"_step": "1", "_timestamp": "1772600769.890", "_runtime": "2.000", "step": "2", "train/loss": "1e-07", "train/lr": "0.5"},
		{"_step": "2", "_timestamp": "1772600769.890", "_runtime": "2.000", "episode": "7", "selfplay/plies": "80"},
	} {
		got := items(t, history[i], 1)
		for name, value := range want {
			if got[name] != value {
				t.Errorf("row %d: %s = %q, want %q", i, name, got[name], value)
			}
		}
		if step := fields(t, fields(t, history[i])[2][0].([]byte))[1][0].(uint64); step != uint64(i) {
			t.Errorf("row %d is step %d", i, step)
		}
	}
	axes := map[string]string{}
	for _, m := range logged(t, path, 12) {
		f := fields(t, m)
		name, axis := string(f[1][0].([]byte)), ""
		if f[4] != nil {
			axis = string(f[4][0].([]byte))
			if o := fields(t, f[6][0].([]byte)); o[1][0].(uint64) != 1 || o[3][0].(uint64) != 1 {
				t.Errorf("options of %s: %v", name, o)
			}
		}
		if _, twice := axes[name]; twice {
			t.Errorf("%s is defined twice", name)
		}
		axes[name] = axis
	}
	for name, axis := range map[string]string{"step": "", "episode": "", "train/loss": "step", "selfplay/plies": "episode"} {
		if got, ok := axes[name]; !ok || got != axis {
			t.Errorf("%s over %q, want %q", name, got, axis)
		}
	}
	if got := items(t, logged(t, path, 3)[0], 1); got["train/loss"] != "1e-07" || got["selfplay/plies"] != "80" || got["_step"] != "2" {
		t.Errorf("summary %q", got)
	}
	if n := len(logged(t, path, 18)) + len(logged(t, path, 22)); n > 0 {
		t.Errorf("%d records of an end, before it", n)
	}

	must(t, f.Close())
	if got := one(18); got[3] == nil || got[3][0].(uint64) != 1 {
		t.Errorf("a run that works on ends with %v", got)
	}
	one(22)
	for phase, code := range map[string]bool{monitor.RunDone: false, monitor.RunStopped: false, monitor.RunFailed: true} {
		written(t, o.Metrics, phaseAt(phase, 60))
		must(t, New(o).Close())
		if got := one(18); (got[1] != nil) != code || got[3] != nil || got[2][0].(uint64) != 60 {
			t.Errorf("after %s: %v", phase, got)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.next")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestRecordLog takes apart records of all sizes around the ends of blocks.
func TestRecordLog(t *testing.T) {
	l := newRecordLog()
	var want [][]byte
	add := func(n int) {
		record := make([]byte, n)
		for i := range record {
			record[i] = byte(i*7 + n)
		}
		l.append(record)
		want = append(want, record)
	}
	for left := range 16 { // bytes that the first of two records leaves of a block
		add(logBlock - l.in - chunkBytes - left)
		add(20)
	}
	for _, n := range []int{0, 1, 32760, 32761, 32762, 70000, 200000, 0} {
		add(n)
	}
	got := unframed(t, l.pending)
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("record %d of %d bytes comes back as %d", i, len(want[i]), len(got[i]))
		}
	}
}
