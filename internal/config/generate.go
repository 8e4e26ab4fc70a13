package config

// The first needs protoc 3.21 (Debian's protobuf-compiler); its Go plugin is the
// tool that go.mod pins. The last writes docs/FLAGS.md and
// configs/example.textproto from the schema.

//go:generate go run ./gen
//go:generate go test -count=1 -run ^TestGenerated -update .
