// Package reconcile makes one resource match its declaration.
//
// What a kind of resource is, its author writes with package kind. From that one definition creation, update, adoption, drift,
// plan detail and documentation all follow. Its heart is a pure comparison: Compare states every managed aspect once, as what
// is wanted, what is there, and the call that makes it so. Planning is that comparison without running the
// calls; updating and adopting are running them. So nothing is detected that is not repaired, and nothing
// repaired that is not shown.
//
// The runner works with a [Definition], which is a kind with its types hidden, so that its code is compiled once and not once
// for each kind. It ([Any.Settle]) has one loop: read; as declared, then done; absent, then create; else run the
// steps; read again, until as declared or out of time. "Our create is not visible yet", "busy", throttling and
// retry live there once, never in a kind.
//
// Every call that a kind makes to the cloud passes a [Gate] (see [Through]): that is where reading is kept
// from writing, calls are counted and bounded, and a writer that lost its lease is stopped.
//
// The package knows one resource at one moment. It does not know stacks, state, order, or any cloud.
package reconcile
