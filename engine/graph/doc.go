// Package graph holds what a program declares for one stage: resources, their options, where secrets come from.
//
// It knows the document and its rules. It does no I/O and knows neither state nor plans.
package graph
