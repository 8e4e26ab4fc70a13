package config

import "google.golang.org/protobuf/proto"

// Groups of the commands: a command takes those whose fields it honours.
var (
	TrainGroups = []Group{Group_RUN, Group_EPISODES, Group_SELFPLAY, Group_SEARCH, Group_MODEL, Group_SOURCE, Group_TRAINING,
		Group_PRECISION, Group_EXPORTER, Group_STAGES, Group_PLUGINS, Group_METRICS, Group_LOG}
	// RunGroups are without Group_SOURCE: a cycle trains on its own shuffles.
	RunGroups = []Group{Group_RUN, Group_LOOP, Group_SELFPLAY, Group_SEARCH, Group_MODEL, Group_TRAINING, Group_PRECISION,
		Group_EXPORTER, Group_STAGES, Group_PLUGINS, Group_RETENTION, Group_METRICS, Group_LOG}
	GatekeeperGroups = []Group{Group_RUN, Group_GATEKEEPER, Group_PRECISION, Group_PLUGINS, Group_LOG}
	ExportGroups     = []Group{Group_RUN, Group_EXPORTER, Group_PLUGINS, Group_LOG}
	GCGroups         = []Group{Group_RUN, Group_RETENTION, Group_LOG}
	SelfPlayGroups   = []Group{Group_RUN, Group_PLAYER, Group_SELFPLAY, Group_SEARCH, Group_MODEL, Group_PRECISION, Group_PLUGINS,
		Group_METRICS, Group_LOG}
)

// Title is the heading of a group's flags.
func (g Group) Title() string {
	return proto.GetExtension(g.Descriptor().Values().ByNumber(g.Number()).Options(), E_Title).(string)
}
