// Package execute carries out a plan, and decides nothing that the plan did not announce.
//
// A [Runner] applies the plans of a planner. A [Run] is one application: it takes the lease, holds itself to what the plan
// announces, runs its tasks, each as soon as what it waits for is done, and makes durable what is begun and what is done.
package execute
