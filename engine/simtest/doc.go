// Package simtest proves the engine's promise on a simulated cloud: cut a run anywhere, lose any answer, lose the
// whole store; the same command once more gives the declared world, each object made once and nothing left behind.
//
// It knows a cloud with its own durable table of objects, whose kinds behave like the difficult ones of real clouds;
// a director that lets exactly one event happen at a time, so that a run can be repeated and cut anywhere; the oracles,
// which compare a world and count what was done to it; and next commands, which follow a cut and are held to the model of
// simtest/model. It does not know how the engine works, and goes by what anybody can see: the graph that goes in, the
// calls and commits that come out.
//
// Time is that of a testing/synctest bubble: waiting costs nothing.
//
//	go test ./engine/simtest -count=1 -v -args -proof=full -proof.out=proof.jsonl
//
// runs every point and every pair, and writes a line for each. -proof=KEY runs the line with this key again, -proof=keys
// prints the digest of all keys; -defect=NAME runs with one of the defects under testdata/defects built in.
package simtest
