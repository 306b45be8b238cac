package cmd

import "github.com/athanor-dev/athanor/cmd/cli"

// flagRules are the flags that cannot be obeyed together: one of them would be ignored, or the command would fail later and elsewhere.
var flagRules = []cli.Rule{
	// State alone is read, and configs belong to a program.
	{Flags: "stack", Not: "config"},
	// What has no owner tag is found by reading it.
	{Flags: "adopt", Not: "no-observe"},
	// State alone does not show what a forced command does.
	{Flags: "force", Not: "no-observe"},

	// Standard output holds one form.
	{Command: "graph", Flags: "dot", Not: "json"},
	{Command: "plan", Flags: "markdown", Not: "json iam"},
	{Command: "output", Flags: "raw", Not: "json tfvars"},
	{Command: "output", Flags: "tfvars", Not: "json"},

	// What is only shown is held to nothing.
	{Command: "deploy", Flags: "dry-run", Not: "reviewed approved"},
	{Command: "deploy", Flags: "reviewed", Not: "approved"},

	{Command: "drift", Flags: "accept", Not: "repair report junit target exclude stack"},
	// A report is of the whole stage as it was found.
	{Command: "drift", Flags: "report", Not: "repair target exclude"},

	{Command: "adopt", Flags: "scan", Not: "from finish"},
	{Command: "adopt", Flags: "from", Not: "finish"},
	// These write files, or nothing but text.
	{Command: "adopt", Flags: "dry-run", Not: "from finish"},
	{Command: "adopt", Flags: "kind write", With: "scan"},
	{Command: "adopt", Flags: "only out go no-observe", With: "from"},
	{Command: "adopt", Flags: "module", With: "go"},
	{Command: "init", Flags: "module", With: "go"},

	{Command: "approve", Flags: "require", Not: "reject note"},
	{Command: "secret rotate", Flags: "list-exposed", Not: "copy"},
	// With --json the requests are listed, and nothing is allowed or run.
	{Command: "allow", Flags: "json", Not: "once yes"},
	{Command: "serve", Flags: "tls-cert", With: "tls-key"},
	{Command: "serve", Flags: "tls-key", With: "tls-cert"},
}
