// Package controltest is an AWS Cloud Control for tests: an HTTP server with the service's wire protocol (AWS JSON 1.0)
// that keeps resources in memory and treats them as their schemas say.
//
// Schemas are those of @aws-cdk/aws-service-spec: another package than the one that athanor's own table is made of, so that
// both cannot share a mistake. It has properties with types and words, what is required, what replaces, attributes,
// identifiers, tags, references between types and the shapes of ARNs. It lacks what can only be written and what a
// service fills in: services.go says so of some types, and a test of others with [Server.Hide] and [Server.Default].
//
// Requests are asynchronous: each is pending at first, then runs, when its effect is to be seen, then ends; it goes on with
// every further call to the server. Client tokens, concurrent operations and errors of handlers are as documented:
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations.html
//
// The account's identity (STS) and the tagging service are there as far as a provider needs them. The package knows
// no provider.
package controltest
