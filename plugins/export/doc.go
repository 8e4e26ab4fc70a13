// Package export holds the built-in exporters and the publisher of their files, which
// copies what they wrote to where others pick it up. Exporters write the net of
// a checkpoint (safetensors; lc0: Leela's .pb.gz; onnx) or the games that it was
// trained on (pgn; npz: training rows for Python).
//
//	e, err := export.Definition("lc0").MakeExporter(map[string]string{"encoding": "float16"})
//	files, err := e.Export(ctx, checkpoint, "run/toexport")
//	err = export.Publish(ctx, fsx.OS, "run/models", files, checkpoint.Net)
//
// A file is complete and on stable storage when it appears under its name.
// WritePGN writes single games as the exporter pgn does; package plugins/export/npz
// writes numpy's files.
package export
