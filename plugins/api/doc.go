// Package api is the protocol between chessbrain and its plugins, in plugin.proto,
// and what both sides need to speak it: gRPC servers over the interfaces of package
// stage, and clients of them. Protobuf stays in here; package plugins is
// what a plugin's author uses, package plugins/host starts and watches programs.
//
// The plugin's side serves a stage by its definition:
//
//	s := grpc.NewServer(api.ServerOptions()...)
//	api.Register(s, rescore.Definition("deblunder"))
//
// The host's side, over any connection that was made with DialOptions:
//
//	c := api.NewConn(cc)
//	d, err := c.Describe(ctx) // kind, name, settings; validated
//	err = c.Open(ctx, d, map[string]string{"threshold": "0.2"})
//	s, err := c.OpenRescore(ctx, d)
//	err = s.Send(games)
//	result, err := s.Recv() // result.Games
//
// Games travel in columns, in messages of about BatchBytes, several in flight; a
// game that stays as it is costs nothing on the way back. What a plugin answers is
// believed only after RescoreStream (games), Sampler (rows) and Conn.Export (files) have
// checked it. Deadlines are the caller's: no call has one of its own.
//
// Errors of a call name what was tried, and wrap the gRPC status (status.Code
// works) and, where they fit, context.Canceled and context.DeadlineExceeded.
package api

//go:generate sh -c "protoc --plugin=protoc-gen-go=$(go tool -n protoc-gen-go) --plugin=protoc-gen-go-grpc=$(go tool -n protoc-gen-go-grpc) -I../.. --go_out=../.. --go_opt=module=github.com/chessbrain/chessbrain --go-grpc_out=../.. --go-grpc_opt=module=github.com/chessbrain/chessbrain plugins/api/plugin.proto"
