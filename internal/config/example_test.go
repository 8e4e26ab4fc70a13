package config_test

import (
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/internal/config"
)

func ExampleResolve() {
	file, _ := config.Parse("run.textproto", []byte("training { batch_size: 64 }"))
	flags := config.NewFlagSet(config.TrainGroups...)
	_ = flags.Lookup("net").Set("b6c64")
	eff, _ := config.Resolve(config.Input{File: file, Flags: flags})
	fmt.Println(eff.Config.GetTraining().GetBatchSize(), eff.Origin("training.batch_size"))
	fmt.Println(eff.Config.GetModel().GetArch().GetConvTower().GetFilters(), eff.Origin("model.arch.conv_tower.filters"))

	_ = flags.Lookup("batch-size").Set("0")
	_, err := config.Resolve(config.Input{File: file, Flags: flags})
	var exit interface{ ExitCode() int }
	fmt.Println(errors.As(err, &exit), exit.ExitCode())
	fmt.Println(err)
	// Output:
	// 64 run.textproto:1:12
	// 64 --net
	// true 2
	// --batch-size: training.batch_size = 0: out of range; allowed is from 1 up to 65536
}
