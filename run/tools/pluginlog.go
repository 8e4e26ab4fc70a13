package tools

import (
	"context"
	"log/slog"
)

// pluginLog takes what programs log: from warnings on it goes to the default
// logger.
func pluginLog() *slog.Logger { return slog.New(warnings{slog.Default().Handler()}) }

// warnings is a handler for warnings and errors.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
