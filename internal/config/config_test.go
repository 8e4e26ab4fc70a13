package config

import (
	"bytes"
	"errors"
	"flag"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

var update = flag.Bool("update", false, "rewrite configs/example.textproto and docs/FLAGS.md")

const exampleHeader = `# Every key of the configuration, with its default: chessbrain train --config FILE
# where FILE has the lines that you want to change. Flags win over environment
# variables, those over the file. What has no default stands as a comment;
# lines that begin with "#:" are examples of it. Schema: internal/config/chessbrain.proto.

`

const examplePath = "../../configs/example.textproto"

// schemaPaths returns the paths of all fields below md, lists without index.
func schemaPaths(md protoreflect.MessageDescriptor, prefix string) (paths []string) {
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		path := join(prefix, string(fd.Name()))
		paths = append(paths, path)
		if fd.Message() != nil && !fd.IsMap() {
			paths = append(paths, schemaPaths(fd.Message(), path)...)
		}
	}
	return paths
}

// TestGenerated holds the files that the schema makes against it; go generate
// rewrites them.
func TestGenerated(t *testing.T) {
	for path, want := range map[string][]byte{examplePath: append([]byte(exampleHeader), Format(Defaults())...), flagsPath: flagsPage()} {
		if *update {
			filetest.Write(t, path, want)
		}
		text := filetest.Read(t, path)
		if !bytes.Equal(text, want) {
			t.Errorf("%s is not what the schema says; run go generate ./internal/config", path)
		}
	}
}

// towerExample and bodyExample are the net's body in the example file, and the others.
var (
	towerExample = regexp.MustCompile(`(?s)    conv_tower \{.*?\}\n`)
	bodyExample  = regexp.MustCompile(`(?s)    #: (attention|sparse) \{.*?\}\n`)
)

// TestExample proves that the example file is the defaults, and that with its
// example lines it has every field of the schema.
func TestExample(t *testing.T) {
	text := filetest.Read(t, examplePath)
	if e, err := Resolve(Input{Path: examplePath}); err != nil {
		t.Error(err)
	} else if !proto.Equal(e.Config, Defaults()) {
		t.Errorf("the example differs from the defaults: %s", prototext.Format(e.Config))
	}
	bodies := bodyExample.FindAll(text, -1)
	if len(bodies) != 2 {
		t.Fatalf("%d bodies beside the tower in the example", len(bodies))
	}
	plain := bodyExample.ReplaceAll(text, nil)
	have := map[string]bool{"training.lr": true} // taken out below
	for i := range 1 + len(bodies) {
		alternative := plain
		if i > 0 { // in the place of the tower
			alternative = towerExample.ReplaceAllLiteral(plain, bodies[i-1])
		}
		alternative = bytes.ReplaceAll(alternative, []byte("#: "), nil)
		alternative = bytes.ReplaceAll(alternative, []byte("\n  lr: 0.02\n"), []byte("\n"))
		full, err := Parse("example with its alternatives", alternative)
		if err != nil {
			t.Fatal(err)
		}
		for path := range full.places {
			have[index.ReplaceAllString(path, "")] = true
		}
		if i > 0 { // its examples are its defaults
			body := bytes.ReplaceAll(bodies[i-1], []byte("#: "), nil)
			got := mustParse(t, "model { arch { "+string(body)+" } }").Config.Model.Arch
			want := proto.CloneOf(got)
			for _, name := range []string{"attention", "sparse"} {
				if m, fd := want.ProtoReflect(), fieldNamed(want.ProtoReflect().Descriptor(), name); m.Has(fd) {
					m.Set(fd, m.NewField(fd))
					fill(m.Get(fd).Message())
				}
			}
			if !proto.Equal(got, want) {
				t.Errorf("the example %s is not of defaults: %s", body, prototext.Format(want))
			}
		}
	}
	for _, path := range schemaPaths((*Config)(nil).ProtoReflect().Descriptor(), "") {
		if !have[path] {
			t.Errorf("%s is not in the example", path)
		}
	}
}

// TestShippedConfigs: every file in configs/ can be used as it is.
func TestShippedConfigs(t *testing.T) {
	paths, err := filepath.Glob("../../configs/*.textproto")
	if err != nil || len(paths) < 2 {
		t.Fatalf("%v %v", paths, err)
	}
	for _, path := range paths {
		if filepath.Base(path) == "models.textproto" {
			_, err = Kinds(path)
		} else {
			_, err = Resolve(Input{Path: path})
		}
		if err != nil {
			t.Error(err)
		}
	}
}

var index = regexp.MustCompile(`\[\d+\]`)

func TestSchemaIsDocumented(t *testing.T) {
	var check func(md protoreflect.MessageDescriptor)
	seen := map[protoreflect.FullName]bool{}
	check = func(md protoreflect.MessageDescriptor) {
		if seen[md.FullName()] {
			return
		}
		seen[md.FullName()] = true
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			if len(docOf(fd).text()) < 8 {
				t.Errorf("%s has no comment", fd.FullName())
			}
			if fd.Message() != nil && !fd.IsMap() {
				check(fd.Message())
			}
		}
	}
	check((*Config)(nil).ProtoReflect().Descriptor())
	check((*ModelKinds)(nil).ProtoReflect().Descriptor())
}

// TestEveryNumberHasInterval: a number without an interval would be taken as it comes.
func TestEveryNumberHasInterval(t *testing.T) {
	check := func(fd protoreflect.FieldDescriptor) {
		b, has := intervalOf(fd)
		switch fd.Kind() {
		case protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.Uint64Kind, protoreflect.DoubleKind:
			if !has {
				t.Errorf("%s has no range", fd.FullName())
			} else if fd.HasDefault() {
				if x, _ := numberOf(fd, fd.Default()); !b.holds(x) {
					t.Errorf("%s: the default %v is not in %s", fd.FullName(), x, b.text)
				}
			}
		case protoreflect.BoolKind, protoreflect.StringKind, protoreflect.EnumKind, protoreflect.MessageKind: // checked elsewhere
			if has {
				t.Errorf("%s has a range and is no number", fd.FullName())
			}
		default:
			t.Errorf("%s has kind %v, which this package does not handle", fd.FullName(), fd.Kind())
		}
	}
	var visit func(messages protoreflect.MessageDescriptors)
	visit = func(messages protoreflect.MessageDescriptors) {
		for i := range messages.Len() {
			for k := range messages.Get(i).Fields().Len() {
				check(messages.Get(i).Fields().Get(k))
			}
			visit(messages.Get(i).Messages())
		}
	}
	visit(File_internal_config_chessbrain_proto.Messages())
}

func TestParseBounds(t *testing.T) {
	b, err := parseInterval("(0,0.5)")
	if err != nil || b.holds(0) || !b.holds(1e-9) || !b.holds(0.4) || b.holds(0.5) || b.remedy() != "allowed is above 0 and below 0.5" {
		t.Errorf("(0,0.5): %+v %v", b, err)
	}
	b, err = parseInterval("[-1,1e6]")
	if err != nil || b.holds(-1.1) || !b.holds(-1) || !b.holds(1e6) || b.holds(1e6+1) || b.remedy() != "allowed is from -1 up to 1000000" {
		t.Errorf("[-1,1e6]: %+v %v", b, err)
	}
	for _, text := range []string{"", "1,2", "[1]", "[1,2", "[a,2]", "[2,1]", "[[1,2]"} {
		if _, err := parseInterval(text); err == nil {
			t.Errorf("%q is taken for an interval", text)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", "name: \"x\"\ntraining {\n  batchsize: 3\n}\n", "run.textproto:3:3: unknown field: batchsize"},
		{"wrong type", "training { batch_size: \"3\" }", "run.textproto:1:24: "},
		{"syntax", "training {\n\n", "run.textproto:1: unexpected EOF; close what is open"},
		{"yaml in disguise", "training:\n  batch_size: 3\n", "run.textproto:"},
		{"json in disguise", `{"training": {}}`, "run.textproto:1:1: "},
		{"unknown key of a body", "name: \"x\"\n\nmodel { arch { attention {\n depth: 3 } } }", "run.textproto:4:2: unknown field: depth"},
		{"two bodies", "model { arch { attention { }\n sparse { } } }", "run.textproto:2:2: "},
		{"no such activation", "model { arch { attention { hidden_activation: GELU } } }", "run.textproto:1:47: invalid value for enum type: GELU; want RELU|"},
		{"misspelt word", "training { source: SHUFLED }", "run.textproto:1:20: invalid value for enum type: SHUFLED; want SELFPLAY|DIR|SHUFFLED|LOADER; did you mean SHUFFLED?"},
		{"misspelt key", "training {\n batch_sise: 3 }", "run.textproto:2:2: unknown field: batch_sise; did you mean batch_size?"},
		{"misspelt key in a list", "training { losses { weigth: 3 } }", "run.textproto:1:21: unknown field: weigth; did you mean weight or "},
		{"unknown key of the loop", "loop {\n gatekeeper { wins: 3 } }", "run.textproto:2:15: unknown field: wins"},
		{"loader stage of no kind that there is", "data_loader { stage {\n name: 'a' sieve {} } }", "run.textproto:2:12: unknown field: sieve"},
		{"removed field", "plugins { external { name: 'x' path: '/x' } }", "run.textproto:1:11: unknown field: external"},
		{"key of a section", "seed: 1\nnet: 3", "run.textproto:2:1: unknown field: net; there is model.net; chessbrain recipes show example"},
		{"PGN", "\n[Event \"x\"]\n\n1. e4 *\n", "run.textproto:2:1: this is not a textproto file: it begins as PGN does; write it as"},
		{"newer version", "version: 2", "run.textproto:1:1: version = 2: this build knows version 1"},
		{"empty", "# nothing\n", "run.textproto:1:1: the file says nothing; begin with chessbrain recipes show example; a run has copies"},
		{"two rates", "training { lr: 1 lr_rule { lr: 1 } }", "run.textproto:1:18: training.lr_rule: lr is set too"},
		{"twice", "seed: 1 seed: 2", "run.textproto:1:9: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("run.textproto", []byte(c.text))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Fatalf("error %v, want %s...", err, c.want)
			}
			var exit interface{ ExitCode() int }
			if !errors.As(err, &exit) || exit.ExitCode() != 2 {
				t.Errorf("%T has no exit code 2", err)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, size int) string {
		path := filepath.Join(dir, name)
		filetest.Write(t, path, bytes.Repeat([]byte("# padding\n"), size/10))
		return path
	}
	for _, c := range []struct{ path, want string }{
		{write("a.yaml", 10), "not a textproto file; write it as chessbrain recipes show example does, as NAME.textproto"},
		{write("a.json", 10), "not a textproto file"},
		{write("empty.textproto", 0), "says nothing"},
		{write("big.textproto", 10<<20), "longer than 1048576 bytes"},
		{filepath.Join(dir, "missing.textproto"), "no such file"},
		{dir, "is a directory"},
	} {
		_, err := Load(c.path)
		if bad, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(bad.Where, c.path) {
			t.Errorf("%s: error %v, want %q", c.path, err, c.want)
		}
	}
}

func TestMarshalIsCanonical(t *testing.T) {
	_, err := Resolve(Input{File: mustParse(t, `name: "ä \"q\"\n" plugins { rescorer { name: "identity" } } training { lr_rule { duration_steps: [5, 6] lr: [1e-3, inf, 0] } }`)})
	if err == nil {
		t.Fatal("an infinite learning rate was accepted")
	}
	e := mustResolve(t, Input{File: mustParse(t, `name: "ä \"q\"\n\x01" plugins { rescorer { name: "identity" } } training { lr_rule { duration_steps: [5, 6] lr: [1e-3, .5, 0] } }`)})
	for _, text := range [][]byte{Marshal(e.Config), Format(e.Config)} {
		back := &Config{}
		if err := prototext.Unmarshal(text, back); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if !proto.Equal(back, e.Config) {
			t.Errorf("not the same after a round trip:\n%s", text)
		}
		again, err := Resolve(Input{File: mustParse(t, string(text))})
		if err != nil || !proto.Equal(again.Config, e.Config) {
			t.Errorf("not the same configuration after a round trip: %v\n%s", err, text)
		}
	}
	if h := Hash(Defaults()); h != Hash(proto.CloneOf(Defaults())) || h == Hash(e.Config) || len(h) != 64 {
		t.Errorf("hash %s", h)
	}
}

func mustParse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse("run.textproto", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustResolve(t *testing.T, in Input) *Effective {
	t.Helper()
	e, err := Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// FuzzParse: whatever the text, Parse and Resolve end with a configuration that
// survives a round trip or with an error that has exit code 2.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "seed: 1", "training { losses { head: VALUE } }", "model { net: '64x6' }", "plugins { rescorer <name: 'identity'> }",
		"name: 'a' \"b\"", "data_loader { x: [1, {a: 2}] }", "training { lr_rule { lr: [nan] } }", "[a.b]: 3", "name: \"\\xff\"", "loop {{{{", "a: [[[["} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.Contains(string(text), "kinds_file") || strings.Contains(string(text), "net") {
			return // these read files
		}
		var exit interface{ ExitCode() int }
		file, err := Parse("f", text)
		if err == nil {
			var e *Effective
			if e, err = Resolve(Input{File: file}); err == nil {
				back := &Config{}
				if err := prototext.Unmarshal(Format(e.Config), back); err != nil || !proto.Equal(back, e.Config) {
					t.Fatalf("round trip: %v\n%s", err, Format(e.Config))
				}
				if file, err = Parse("again", Format(e.Config)); err != nil {
					t.Fatalf("the effective configuration cannot be read: %v\n%s", err, Format(e.Config))
				}
				if again, err := Resolve(Input{File: file}); err != nil || Hash(again.Config) != Hash(e.Config) {
					t.Fatalf("the effective configuration is another one when read: %v\n%s", err, Format(e.Config))
				}
				return
			}
		}
		if !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Fatalf("%T has no exit code 2: %v", err, err)
		}
	})
}
