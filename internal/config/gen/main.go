// Command gen runs protoc over the schema. The options of a field extend
// google/protobuf/descriptor.proto, which not every protoc package brings; protoc
// therefore takes the copy that the Go runtime holds, so both know the same one.
package main

import (
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

func main() {
	log.SetFlags(0)
	if err := generate("internal/config/options.proto", "internal/config/chessbrain.proto"); err != nil {
		log.Fatalf("generate the configuration's types: %v", err)
	}
}

// generate writes the Go code of schemas, which are named from the root of the
// repository, beside them. It runs in internal/config.
func generate(schemas ...string) error {
	dir, err := os.MkdirTemp("", "schema")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	set := filepath.Join(dir, "descriptor.binpb")
	if err := writeDescriptor(set); err != nil {
		return err
	}
	plugin, err := exec.Command("go", "tool", "-n", "protoc-gen-go").Output()
	if err != nil {
		return err
	}
	protoc := exec.Command("protoc", append([]string{
		"--plugin=protoc-gen-go=" + strings.TrimSpace(string(plugin)), "--descriptor_set_in=" + set,
		"-I../..", "--go_out=../..", "--go_opt=paths=source_relative"}, schemas...)...)
	protoc.Stdout, protoc.Stderr = os.Stdout, os.Stderr
	return protoc.Run()
}

// writeDescriptor writes descriptor.proto as a set that protoc imports from.
func writeDescriptor(path string) error {
	file := protodesc.ToFileDescriptorProto(descriptorpb.File_google_protobuf_descriptor_proto)
	data, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}})
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}
