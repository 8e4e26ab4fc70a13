package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSeedMap holds the commands, flags and scripts that people from KataGo and
// lczero-training are told of (docs/LOOP.md).
func TestSeedMap(t *testing.T) {
	for command, flags := range map[string]string{
		"selfplay": "output-dir models-dir config max-games-total override-config process",
		"shuffle":  "scratch-dir num-threads min-rows keep-target-rows expand-window-per-row taper-window-exponent taper-window-scale add-to-data-rows approx-rows-per-file dry-run validation-share lock-wait",
		"train": "source lr-scale max-train-bucket-per-new-data max-train-bucket-size no-repeat-files stop-when-train-bucket-limited quit-if-no-data " +
			"samples-per-epoch epochs-per-export max-epochs-this-instance export-mode swa-period steps-per-network chunks-per-network",
		"export": "models-dir output-dir gating once poll",
		"gatekeeper": "test-models-dir accepted-models-dir rejected-models-dir pgn-output-dir sgf-output-dir selfplay-dir quit-if-no-nets-to-test config " +
			"test-older required-candidate-win-prop sprt sprt-elo0 sprt-elo1 sprt-alpha sprt-beta",
		"run":     "cycles games hours elo games-per-cycle gating samples-per-cycle min-rows keep-target-rows gate-games gate-visits rating-games",
		"status":  "json",
		"ratings": "play json rebuild engine engine-nodes engine-skill",
		"gc":      "dry-run json max-gib",
		"daemon":  "config plain override-config",
		"init":    "config lczero-model seed", "migrate-checkpoint": "", "overfit": "", "eval": "", "import-net": "", "describe": "", "test-dataloader": "",
		"tune-lr": "", "train-epoch": "", "backfill-metrics": "checkpoints since", "rescore": "", "startpos-policy": "", "result-distribution": "",
		"filter-chunks": "", "dump-chunk": "",
	} {
		c := find(t, command)
		for name := range strings.FieldsSeq(flags) {
			if c.Flags().Lookup(name) == nil {
				t.Errorf("%s has no flag --%s", command, name)
			}
		}
	}
	for _, script := range []string{"train.sh", "shuffle.sh", "shuffle_and_export_loop.sh", "export_model_for_selfplay.sh", "synchronous_loop.sh"} {
		info, err := os.Stat(filepath.Join("../../scripts", script))
		if err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("scripts/%s is not there, or cannot be run: %v", script, err)
		}
	}
}
