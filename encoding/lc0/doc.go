// Package lc0 knows the files of Leela Chess Zero: networks (.pb.gz) become
// nn.Net and back (ReadNet, WriteNet), or ONNX models (WriteONNX); games become
// chunks of training records (WriteChunk), and chunks become games (Game).
//
// A chunk is a gzip stream of the records of one game (docs/FORMATS.md), one a
// position, in versions 3 to 7 (6 and 7 are written) and input formats 1 to 5,
// 132 and 133. WriteChunk makes one that Leela's tools accept, DecodeRecords
// checks every field of what it reads, OpenSource finds the chunks of a .gz or a .tar.
// Game finds out moves, policies and values, and AppendRecords gives the bytes of
// a chunk again.
//
// A network file is a protobuf message, usually gzipped, whose tensors have no
// names or shapes: they follow from the place and the number of filters. Weights
// are mostly LINEAR16: 16-bit steps between a minimum and a maximum. What is
// called the standard deviation there holds the variance. Leela feeds plane 109
// as plies, our nets as plies/99, so that slice of the first convolution is
// multiplied by 99, and divided again in what is written. From input format 4 on it is
// rule50/100 there, and the factor 0.99.
//
// Example:
//
//	f, err := os.Open("se32x2.pb.gz")
//	if err != nil {
//		return err
//	}
//	defer f.Close()
//	net, info, err := lc0.ReadNet(f)
//	if err != nil {
//		return err
//	}
//	fmt.Println(net.Arch, info.TrainingSteps)
//	err = lc0.WriteNet(out, net, info, lc0.Linear16)
//	err = lc0.WriteChunk(file, game)
//	...
//	source, err := lc0.OpenSource("training.tar")
//	raw, err := source.Chunk(0)
//	records, err := lc0.DecodeRecords(raw)
//	game, err = lc0.Game(records)
package lc0
