package main

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/plugintest"
)

// TestReport holds what plugins test prints, and its exit codes.
func TestReport(t *testing.T) {
	var none, some plugintest.Failures
	none.Note(host.Event{State: host.Started})
	none.Note(host.Event{State: host.Stopped})
	for i := range 7 {
		some.Note(host.Event{State: host.Failed, Detail: fmt.Sprintf("died %d", i)})
	}
	good := []plugintest.Result{{Name: "a"}, {Name: "b", Skipped: "why"}, none.Result()}
	bad := append(good, plugintest.Result{Name: "c", Err: errors.New("not so")}, some.Result())
	for _, c := range []struct {
		results []plugintest.Result
		json    bool
		code    int
		want    string
	}{
		{good, false, exitOK, "ok    a\nskip  b: why\nok    its process never had to be replaced\nx: 2 checks passed, 1 skipped (inputs of --seed 0)\n"},
		{good[:2], true, exitOK, `{"check":"a","ok":true}` + "\n" + `{"check":"b","ok":true,"skipped":"why"}` + "\n"},
		{bad[3:], true, exitCorrupt, `{"check":"c","ok":false,"error":"not so"}` + "\n" +
			`{"check":"its process never had to be replaced","ok":false,"error":"failed: died 0\nfailed: died 1\nfailed: died 2\nfailed: died 3\nfailed: died 4\nand 2 times more"}` + "\n"},
	} {
		var out bytes.Buffer
		command := &cobra.Command{}
		command.SetOut(&out)
		bindJSON(command, "")
		if err := command.Flags().Set("json", strconv.FormatBool(c.json)); err != nil {
			t.Fatal(err)
		}
		err := new(pluginsTestOptions).report(command, "x", c.results)
		if exitCode(err) != c.code || out.String() != c.want {
			t.Errorf("exit code %d (%v), want %d:\n%s\nwant\n%s", exitCode(err), err, c.code, &out, c.want)
		}
	}
}
