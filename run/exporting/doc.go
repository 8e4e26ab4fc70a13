// Package exporting is chessbrain export: it takes the nets that trainers hand
// over in RUN/toexport and makes candidates of them, as files of
// RUN/modelstobetested for the gatekeeper, or of RUN/models where there is none.
// Nets of RUN/toexport_extra go to RUN/models_extra.
//
//	s, err := exporting.Run(ctx, exporting.Options{Effective: e, Gating: true, Once: true, Log: logger})
//	for _, net := range s.Nets {
//		fmt.Println(net.Name, net.Files)
//	}
//
// A trainer hands a net over as a directory that appears whole (net.safetensors,
// swa.safetensors). Its files are written under temporary names, the one that
// self-play reads, <net>.safetensors, last; only then the directory goes. After a
// kill at any moment the next start does what is missing: a net whose file is a
// candidate already, or was accepted or rejected since, is not made again.
//
// One exporter works on a run at a time (lock exporter). Errors of one net do not
// hold up the others: it stays where it is, and they are joined in the result.
package exporting
