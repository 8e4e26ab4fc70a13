package config

// Both need protoc 3.21 (Debian's protobuf-compiler); the Go plugin is the tool
// that go.mod pins.

//go:generate sh -c "protoc --plugin=protoc-gen-go=$(go tool -n protoc-gen-go) -I../.. --go_out=../.. --go_opt=paths=source_relative internal/config/chessbrain.proto"
//go:generate cp ../../configs/models.textproto models.textproto
