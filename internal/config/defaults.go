package config

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Defaults returns the configuration that holds where nothing else is said: a
// fresh copy in which every single field is set.
func Defaults() *Config {
	c := &Config{}
	fill(c.ProtoReflect())
	c.Training.Losses = defaultLosses()
	c.Plugins.Sampler.Name = proto.String("uniform")
	return c
}

// fill sets every unset single field of m to the schema's default, and descends into
// single messages, which it creates, and into the elements of lists. Sections whose code
// comes later are left alone, and kinds that a loader stage has not chosen.
func fill(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		switch {
		case fd.IsMap() || laterSection(fd) || kindOfStage(fd) && !m.Has(fd):
		case fd.IsList():
			for k := range m.Get(fd).List().Len() {
				if fd.Message() != nil {
					fill(m.Get(fd).List().Get(k).Message())
				}
			}
		case fd.Message() != nil:
			if oneof := fd.ContainingOneof(); oneof == nil || m.WhichOneof(oneof) == nil || m.Has(fd) {
				fill(m.Mutable(fd).Message())
			}
		case !m.Has(fd):
			m.Set(fd, fd.Default())
		}
	}
}

// defaultLosses suit a run's beginning, when there are few games: all positions
// of a game share its result, so the value is learnt with a small weight and half
// from the search's own values, or the net would know the games by heart.
func defaultLosses() []*Loss {
	losses := []*Loss{
		{Head: Loss_POLICY.Enum(), Kind: Loss_CROSS_ENTROPY.Enum(), Weight: proto.Float64(1), Metric: proto.String("policy_loss")},
		{Head: Loss_VALUE.Enum(), Kind: Loss_WDL_CROSS_ENTROPY.Enum(), QRatio: proto.Float64(0.5), Weight: proto.Float64(0.25), Metric: proto.String("value_loss")},
		{Head: Loss_MOVES_LEFT.Enum(), Kind: Loss_HUBER.Enum(), Weight: proto.Float64(0.1), Metric: proto.String("moves_left_loss")},
		{Head: Loss_WEIGHTS.Enum(), Kind: Loss_L2.Enum(), Weight: proto.Float64(1e-3), Metric: proto.String("l2_loss")},
	}
	for _, l := range losses {
		fill(l.ProtoReflect())
	}
	return losses
}
