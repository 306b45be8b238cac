package engine

import "github.com/athanor-dev/athanor/engine/graph"

type (
	// Resource is [graph.Resource].
	Resource = graph.Resource
	// Read is [graph.Read].
	Read = graph.Read
	// Options is [graph.Options].
	Options = graph.Options
	// Timeouts is [graph.Timeouts].
	Timeouts = graph.Timeouts
	// Hook is [graph.Hook].
	Hook = graph.Hook
	// SecretSource is [graph.SecretSource].
	SecretSource = graph.SecretSource
)
