package lambda

import (
	"slices"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// NewFunction declares a function. Without a role it gets one of its own, and a log group (see FunctionProps.Role): the role
// may write to that group and is given what else is granted to the function. Its logs go with it.
func NewFunction(s *athanor.Stack, name string, p FunctionProps, opts ...athanor.Option) Function {
	if p.Role == "" {
		ownRole(s, name, &p, opts)
	}
	fn := athanor.Declare(s, functionKind, name, p, opts...)
	fn.stack, fn.role = s, p.Role
	return fn
}

// ReadFunction uses a function that the stack does not own: by its ARN, or by FunctionProps that name it.
func ReadFunction(s *athanor.Stack, name string, by any) Function {
	return athanor.Read(s, functionKind, name, by)
}

// NewPermission declares a statement of a function's policy.
func NewPermission(s *athanor.Stack, name string, p PermissionProps, opts ...athanor.Option) Permission {
	return athanor.Declare(s, permissionKind, name, p, opts...)
}

// NewEventSourceMapping declares that a function is called with what a source has. [Consume] does so with what its role needs.
func NewEventSourceMapping(s *athanor.Stack, name string, p EventSourceMappingProps, opts ...athanor.Option) EventSourceMapping {
	return athanor.Declare(s, mappingKind, name, p, opts...)
}

// Granted is the role that the function runs as: grants to the function are grants to it.
func (f Function) Granted() (s *athanor.Stack, role aws.ARN) { return f.stack, f.role }

// AllowInvoke lets a service call the function on behalf of one of its resources, such as "events.amazonaws.com" and the ARN
// of a rule; "" means all of them, anybody's too. The statement is declared below the function's address, by the name of the service and of the resource.
func (f Function) AllowInvoke(s *athanor.Stack, service string, source aws.ARN, opts ...athanor.Option) Permission {
	word, _, _ := strings.Cut(service, ".")
	parts := []string{string(f.ARN), word}
	if source != "" {
		parts = append(parts, string(source))
	}
	name, renamed := aws.Below(s, parts...)
	return NewPermission(s, name, PermissionProps{
		Function: f.ARN, Principal: service, SourceARN: source,
	}, append(slices.Clip(opts), renamed)...)
}

// Source is something whose records a function can be called with.
type Source interface {
	// Feed grants what it takes to read it as such a source, and gives its ARN, and where it is begun: "" for what is not
	// read by position.
	Feed(to aws.Grantee) (source aws.ARN, start string)
}

// ConsumeOption changes what [Consume] declares.
type ConsumeOption func(*EventSourceMappingProps, *[]athanor.Option)

// With has the mapping made with these props; what they name of the function and the source is not looked at.
func With(p EventSourceMappingProps) ConsumeOption {
	return func(into *EventSourceMappingProps, _ *[]athanor.Option) { *into = p }
}

// Options are options of the mapping.
func Options(opts ...athanor.Option) ConsumeOption {
	return func(_ *EventSourceMappingProps, into *[]athanor.Option) { *into = append(*into, opts...) }
}

// Consume calls a function with what a source has: it grants the function's role what it takes to read it, and declares the
// mapping, below the function's address and by that of the source: renamed with either. The mapping is made after the role
// has its grants.
//
//	lambda.Consume(s, fn, orders)
//	lambda.Consume(s, fn, orders, lambda.With(lambda.EventSourceMappingProps{BatchSize: new(100), BatchWindow: new(time.Second)}))
func Consume(s *athanor.Stack, fn Function, from Source, opts ...ConsumeOption) EventSourceMapping {
	source, start := from.Feed(fn)
	var p EventSourceMappingProps
	name, renamed := aws.Below(s, string(fn.ARN), string(source))
	more := []athanor.Option{renamed}
	if token.Has(string(fn.role)) {
		more = append(more, athanor.DependsOn(fn.role))
	}
	for _, o := range opts {
		o(&p, &more)
	}
	p.Function, p.Source = fn.ARN, source
	if p.StartingPosition == nil {
		p.StartingPosition = aws.OrNil(start)
	}
	return NewEventSourceMapping(s, name, p, more...)
}
