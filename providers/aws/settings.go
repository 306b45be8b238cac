package aws

import "github.com/athanor-dev/athanor"

// ARN is an Amazon Resource Name.
type ARN string

// Settings say where resources live and whose credentials are used. Everything that is unset comes from the
// environment and the shared configuration files, as for every AWS tool.
type Settings struct {
	// Region is where resources live, such as eu-north-1. Default: the environment's.
	Region string
	// Profile names credentials in the shared configuration files. Default: the environment's.
	Profile string
	// Endpoint is the base URL of all services, for emulators. Default: the services' own.
	Endpoint string
	// AccountID is the account that the credentials must lead to; any other is refused before anything is read. Default: any.
	AccountID string
}

// Setting changes one of [Settings].
type Setting func(map[string]any)

// Region sets the region.
func Region(name string) Setting { return func(m map[string]any) { m["region"] = name } }

// Profile sets the credentials profile.
func Profile(name string) Setting { return func(m map[string]any) { m["profile"] = name } }

// Endpoint sets the base URL of all services.
func Endpoint(url string) Setting { return func(m map[string]any) { m["endpoint"] = url } }

// AccountID sets the account that the credentials must lead to.
func AccountID(id string) Setting { return func(m map[string]any) { m["accountId"] = id } }

// In is a handle that declares AWS resources with further settings:
//
//	eu := aws.In(s, aws.Region("eu-west-1"))
//	sqs.NewQueue(eu, "orders", sqs.QueueProps{})
func In(s *athanor.Stack, settings ...Setting) *athanor.Stack {
	m := map[string]any{}
	for _, set := range settings {
		set(m)
	}
	return s.With("aws", m)
}
