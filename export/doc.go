// Package export holds the built-in exporters, which write a checkpoint's net to
// a file (safetensors; lc0: Leela's .pb.gz; onnx), and the built-in publisher,
// which copies files to where others pick them up.
//
//	e, err := export.New("safetensors")
//	files, err := e.Export(ctx, checkpoint, "run/toexport")
//	p := export.NewDirectory(fsx.OS, "run/models")
//	err = p.Publish(ctx, files, checkpoint.Net)
//
// A file is complete and on stable storage when it appears under its name.
package export
