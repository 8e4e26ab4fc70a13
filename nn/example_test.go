package nn_test

import (
	"bytes"
	"fmt"

	"github.com/chessbrain/chessbrain/nn"
)

func Example() {
	arch, err := nn.ParseArch("b6c64")
	if err != nil {
		panic(err)
	}
	fmt.Println(arch.Summary())
	var file bytes.Buffer
	if err := nn.WriteSafetensors(&file, nn.Init(arch, 7), map[string]string{"name": "fresh"}); err != nil {
		panic(err)
	}
	net, meta, err := nn.ReadSafetensors(&file)
	if err != nil {
		panic(err)
	}
	fmt.Println(net.Arch, meta["name"], net.ID() == meta[nn.MetaNetID])
	// Output:
	// 64x6-se: 0.94 million parameters, 77 MFLOP per board
	// 64x6-se fresh true
}
