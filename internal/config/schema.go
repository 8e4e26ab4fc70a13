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
	pkg := File_internal_config_chessbrain_proto.Package()
	type block struct {
		kind string
		name protoreflect.FullName // of the message that fields here belong to
	}
	open := []block{{"package", pkg}}
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
			name := top.name
			if m[1] != "oneof" {
				name = name.Append(protoreflect.Name(m[2]))
			}
			open = append(open, block{m[1], name})
		} else if line == "}" {
			open = open[:len(open)-1]
		} else if m := fieldLine.FindStringSubmatch(line); m != nil && top.kind != "enum" {
			docs[top.name.Append(protoreflect.Name(m[1]))] = doc
		}
		doc = fieldDoc{}
	}
	return docs
})

// docOf returns the schema's comment on a field.
func docOf(fd protoreflect.FieldDescriptor) fieldDoc { return schemaDocs()[fd.FullName()] }

// laterSection says whether a field's code comes later.
func laterSection(fd protoreflect.FieldDescriptor) bool {
	return proto.GetExtension(fd.Options(), E_Later).(bool)
}

// kindOfStage says whether a field is one of the kinds that a loader stage
// chooses from, by being set: it is never made up.
func kindOfStage(fd protoreflect.FieldDescriptor) bool {
	return fd.Parent().Name() == "LoaderStage" && fd.Message() != nil && fd.Name() != "queue"
}
