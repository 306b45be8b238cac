package engine

import (
	"github.com/athanor-dev/athanor/engine/calls"
	"github.com/athanor-dev/athanor/engine/causes"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/values"
)

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

type (
	// Calls is [calls.Calls].
	Calls = calls.Calls
	// Cause is [causes.Cause].
	Cause = causes.Cause
	// PlaceError is [observe.PlaceError].
	PlaceError = observe.PlaceError
	// Peers is [values.Peers].
	Peers = values.Peers
	// PeerError is [values.PeerError].
	PeerError = values.PeerError
)
