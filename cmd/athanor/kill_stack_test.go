//go:build unix

package main

import (
	"slices"
	"strings"
)

// story is one command in the life of a stack.
type story struct {
	name    string
	stack   string // the program of it
	command string
}

// life is a stack from its first deploy to its end. Each story changes it in another way; together their kinds make
// every sort of call: with chosen names and assigned identities, owner tags set at creation and none, a parent that is
// listed, a tree of settings of its own, files.
//
// lost leaves out what a lost state excludes by design (docs/engine.md): an object without an owner tag cannot be found
// again once the program does not mention it (limit 2), and is not ours once the program wants it otherwise (limit 3).
func life(lost bool) []story {
	update, replace, remove := updated, slices.Concat(replaced, updated), []string{"old"}
	if !lost {
		update, replace, remove = slices.Concat(updated, rewritten), slices.Concat(renamed, replaced, rewritten, updated), append(remove, "link", "note")
	}
	return []story{
		{"first deploy", program(first), "deploy"},
		{"update", program(first, update...), "deploy"},
		{"replacement", program(first, replace...), "deploy"},
		{"removal", without(program(first, replace...), remove...), "deploy"},
		{"destroy", without(program(first, replace...), remove...), "destroy"},
	}
}

const first = `stack: life
resources:
  dead:   {kind: aws.sqs.Queue, props: {fifo: true, tags: {team: one}}}
  orders: {kind: aws.sqs.Queue, props: {fifo: true, visibilityTimeout: 60s, deadLetter: "${dead.arn}"}}
  old:    {kind: aws.sqs.Queue, props: {delay: 5s}}
  events: {kind: aws.sns.Topic, props: {displayName: one}}
  bell:   {kind: aws.sns.Topic, props: {fifo: true}}
  inbox:  {kind: aws.sqs.Queue}
  link:   {kind: aws.sns.Subscription, props: {topic: "${events.arn}", protocol: sqs, endpoint: "${inbox.arn}"}}
  assets: {kind: aws.s3.Bucket, props: {forceDestroy: true, tags: {team: one}}}
  page:   {kind: aws.s3.Object, props: {bucket: "${assets.name}", key: page.txt, content: "to ${orders.url}, one"}}
  word:   {kind: random.ID, props: {bytes: 4, prefix: word-}}
  note:   {kind: local.File, props: {path: out/note.txt, content: "${word.hex} ${events.arn} one\n"}}
  sheet:  {kind: local.File, props: {path: out/sheet.txt, content: "one\n"}}
outputs: {queue: "${orders.url}", topic: "${bell.arn}"}
`

// updated changes every object in place that has an owner tag, or a parent that lists it.
var updated = []string{
	"{fifo: true, tags: {team: one}}", "{fifo: true, tags: {team: two}}",
	"visibilityTimeout: 60s", "visibilityTimeout: 90s",
	"displayName: one", "displayName: two",
	`endpoint: "${inbox.arn}"}`, `endpoint: "${inbox.arn}", rawMessageDelivery: true}`,
	"{forceDestroy: true, tags: {team: one}}", "{forceDestroy: true, versioning: Enabled, tags: {team: two}, cors: [{allowedMethods: [GET], allowedOrigins: [\"https://life.example\"]}]}",
	"${orders.url}, one", "${orders.url}, two",
}

// rewritten changes a file in place; renamed puts a file and an object elsewhere, of which no listing shows the owner
// tags.
var (
	rewritten = []string{"${events.arn} one", "${events.arn} two"}
	renamed   = []string{"path: out/sheet.txt", "path: out/leaf.txt", "key: page.txt", "key: leaf.txt"}
)

// replaced changes what cannot change in place: of queues and a topic with generated names, and so of
// everything that names them.
var replaced = []string{
	"{fifo: true, visibilityTimeout: 60s", "{visibilityTimeout: 90s",
	"{fifo: true, tags: {team: one}}", "{tags: {team: two}}",
	"{kind: aws.sns.Topic, props: {fifo: true}}", "{kind: aws.sns.Topic}",
}

func program(text string, changes ...string) string {
	return strings.NewReplacer(changes...).Replace(text)
}

// without leaves resources out.
func without(text string, names ...string) string {
	var kept []string
	for line := range strings.Lines(text) {
		gone := false
		for _, n := range names {
			gone = gone || strings.HasPrefix(line, "  "+n+":")
		}
		if !gone {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
