// Package lc0 knows the files of Leela Chess Zero: networks (.pb.gz) become
// nn.Net, games become chunks of V6 training records, which are read too.
//
// A chunk is a gzip stream of the records of one game (docs/FORMATS.md), one a
// position; WriteChunk makes one that Leela's tools accept, ReadV6 checks every
// field of what it reads.
//
// A network file is a protobuf message, usually gzipped, whose tensors have no
// names or shapes: they follow from the place and the number of filters. Weights
// are mostly LINEAR16: 16-bit steps between a minimum and a maximum. What is
// called the standard deviation there holds the variance. Leela feeds plane 109
// as plies, our nets as plies/99, so that slice of the first convolution is
// multiplied by 99.
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
//	err = lc0.WriteChunk(file, game)
package lc0
