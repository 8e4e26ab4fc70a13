package config

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

//go:embed chessbrain.proto
var schemaText string

// fieldDoc is what the schema's comment says about a field.
type fieldDoc struct {
	lines   []string // comment lines without the slashes
	example []string // a value to try, lines of textproto; may be empty
}

// text returns the comment as one line.
func (d fieldDoc) text() string { return strings.Join(d.lines, " ") }

var (
	blockLine = regexp.MustCompile(`^(message|enum|oneof) (\w+) \{$`)
	fieldLine = regexp.MustCompile(`^(?:optional |repeated )?(?:map<[^>]*>|[\w.]+) (\w+) = \d+`)
)

// schemaDocs maps the full name of a field to its comment.
var schemaDocs = sync.OnceValue(func() map[protoreflect.FullName]fieldDoc {
	docs := map[protoreflect.FullName]fieldDoc{}
	// By block that is open, what fields in it belong to.
	open := []protoreflect.FullName{File_internal_config_chessbrain_proto.Package()}
	var doc fieldDoc
	for line := range strings.Lines(schemaText) {
		line = strings.TrimSpace(line)
		top := open[len(open)-1]
		comment, isComment := strings.CutPrefix(line, "//")
		comment = strings.TrimSpace(comment)
		if example, ok := strings.CutPrefix(comment, "Example: "); isComment && ok {
			doc.example = append(doc.example, example)
			continue
		}
		if isComment {
			doc.lines = append(doc.lines, comment)
			continue
		}
		if m := blockLine.FindStringSubmatch(line); m != nil {
			if m[1] != "oneof" {
				top = top.Append(protoreflect.Name(m[2]))
			}
			open = append(open, top)
		} else if line == "}" {
			open = open[:len(open)-1]
		} else if m := fieldLine.FindStringSubmatch(line); m != nil {
			docs[top.Append(protoreflect.Name(m[1]))] = doc
		}
		doc = fieldDoc{}
	}
	return docs
})

// docOf returns the schema's comment on a field.
func docOf(fd protoreflect.FieldDescriptor) fieldDoc { return schemaDocs()[fd.FullName()] }

// kindOfStage says whether a field is one of the kinds that a loader stage
// chooses from, by being set: it is never made up.
func kindOfStage(fd protoreflect.FieldDescriptor) bool {
	return fd.Parent().Name() == "LoaderStage" && fd.Message() != nil && fd.Name() != "queue"
}

// Defaults returns the configuration that holds where nothing else is said: a
// fresh copy in which every single field is set.
func Defaults() *Config {
	c := &Config{}
	fill(c.ProtoReflect())
	c.Training.Losses = defaultLosses()
	c.Plugins.Sampler.Name = proto.String("uniform")
	return c
}

// fill sets every unset single field of m to the schema's default, and descends into
// single messages, which it creates, and into the elements of lists. Bodies of a net and
// kinds of a loader stage that were not chosen are left alone.
func fill(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		switch {
		case fd.IsMap() || kindOfStage(fd) && !m.Has(fd):
		case fd.IsList():
			for k := range m.Get(fd).List().Len() {
				if fd.Message() != nil {
					fill(m.Get(fd).List().Get(k).Message())
				}
			}
		case fd.Message() != nil:
			if oneof := fd.ContainingOneof(); oneof == nil || m.WhichOneof(oneof) == nil || m.Has(fd) {
				fill(m.Mutable(fd).Message())
			}
		case !m.Has(fd):
			m.Set(fd, fd.Default())
		}
	}
}

// defaultLosses suit a run's beginning, when there are few games: all positions
// of a game share its result, so the value is learnt with a small weight and half
// from the search's own values, or the net would know the games by heart.
func defaultLosses() []*Loss {
	losses := []*Loss{
		{Head: Loss_POLICY.Enum(), Kind: Loss_CROSS_ENTROPY.Enum(), Weight: proto.Float64(1), Metric: proto.String("policy_loss")},
		{Head: Loss_VALUE.Enum(), Kind: Loss_WDL_CROSS_ENTROPY.Enum(), QRatio: proto.Float64(0.5), Weight: proto.Float64(0.25), Metric: proto.String("value_loss")},
		{Head: Loss_MOVES_LEFT.Enum(), Kind: Loss_HUBER.Enum(), Weight: proto.Float64(0.1), Metric: proto.String("moves_left_loss")},
		{Head: Loss_WEIGHTS.Enum(), Kind: Loss_L2.Enum(), Weight: proto.Float64(1e-3), Metric: proto.String("l2_loss")},
	}
	for _, l := range losses {
		fill(l.ProtoReflect())
	}
	return losses
}
