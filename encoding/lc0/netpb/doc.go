// Package netpb is the protobuf form of Leela's network file, as far as lc0
// reads it. Generated from net.proto; needs protoc 3.21.
package netpb

//go:generate sh -c "protoc --plugin=protoc-gen-go=$(go tool -n protoc-gen-go) -I../../.. --go_out=../../.. --go_opt=paths=source_relative encoding/lc0/netpb/net.proto"
