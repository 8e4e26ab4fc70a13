package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/bench"
	"github.com/chessbrain/chessbrain/internal/handover"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/run/setup"
)

// benchDevice are the flags of bench for a GPU.
type benchDevice struct {
	name      string
	nets      []string
	precision string
	check     bool
}

func (d *benchDevice) bind(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&d.name, "device", "cpu", "cpu, cuda or cuda:N")
	f.StringSliceVar(&d.nets, "net", nil, "of a GPU: filters x blocks, several separated by commas (default 128x10; with --check some of every kind)")
	f.StringVar(&d.precision, "precision", autoName, "of a GPU: auto (fp16 and bf16 where it has them), fp16, bf16 or fp32; training takes bf16 or fp32")
	bindJSON(c, "of a GPU: one JSON object a line")
	f.BoolVar(&d.check, "check", false, "of a GPU: hold it against the CPU instead; exit code 1 where a number is off")
}

// run opens the device and measures or checks it.
func (d *benchDevice) run(c *cobra.Command, duration time.Duration) error {
	if !handover.IsGPU(d.name) {
		return usagef("--device %s: want cpu, cuda or cuda:N", d.name)
	}
	nets := d.nets
	if len(nets) == 0 && !d.check {
		nets = []string{"128x10"}
	}
	var archs []nn.Arch
	for _, name := range nets {
		a, err := nn.ParseArch(name)
		if err != nil {
			return usageError{fmt.Errorf("--net: %w", err)}
		}
		archs = append(archs, a)
	}
	precisions := []device.Precision{device.FP32, device.BF16, device.FP16}
	i := slices.IndexFunc(precisions, func(p device.Precision) bool { return p.String() == d.precision })
	if i < 0 && d.precision != autoName {
		return usagef("--precision %s: want auto, fp16, bf16 or fp32", d.precision)
	}
	if err := handOverFor("device", d.name); err != nil {
		return err
	}
	if d.check {
		return d.checkAll(c, archs)
	}
	fmt.Fprintln(textOut(c), bench.DeviceHeader)
	for _, a := range archs {
		dev, err := setup.OpenDriver(d.name)
		if err != nil {
			return err
		}
		o := bench.DefaultDeviceOptions(a, dev.Info(), runtime.GOMAXPROCS(0))
		o.Duration = duration
		if i >= 0 {
			o.Precisions = precisions[i : i+1]
		}
		if err := bench.OnDevice(c.Context(), dev, o, func(r bench.DeviceRow) error { return answer(c, &r) }); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(textOut(c), "* "+bench.NominalDevice)
	return err
}

// checkAll holds the device against the CPU.
func (d *benchDevice) checkAll(c *cobra.Command, archs []nn.Arch) error {
	o := bench.DefaultCheckOptions()
	if len(archs) > 0 {
		o.Nets = archs
	}
	dev, err := setup.OpenDriver(d.name)
	if err != nil {
		return err
	}
	compared := 0
	fmt.Fprintf(textOut(c), "%s against the CPU in fp32, seed %d\n", dev.Info().Name, o.Seed)
	failed, err := bench.CheckDevice(c.Context(), dev, o, func(r bench.CheckRow) error {
		compared++
		return answer(c, &r)
	})
	if err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("FAILED: %d of %d comparisons with the CPU are off; --device cpu computes right", failed, compared)
	}
	_, err = fmt.Fprintf(textOut(c), "all %d comparisons hold\n", compared)
	return err
}
