package athanor_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// show evaluates a program and prints what it declares, references as people write them in YAML.
func show(program athanor.Program) {
	g, err := athanor.Evaluate(program, athanor.Input{Stack: "shop", Stage: "dev"})
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	line := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return strings.Replace(token.Show(string(data)), "null", "{}", 1)
	}
	for _, r := range g.Resources {
		fmt.Println(r.Address, r.Kind, line(r.Props))
		if o := line(r.Options); o != "{}" {
			fmt.Println("  options", o)
		}
		if r.Settings != nil {
			fmt.Println("  settings", line(r.Settings))
		}
	}
	for _, r := range g.Reads {
		if r.ID != "" {
			fmt.Println(r.Address, r.Kind, "read by id", r.ID)
			continue
		}
		fmt.Println(r.Address, r.Kind, "read by", line(r.Query))
	}
	for _, name := range slices.Sorted(maps.Keys(g.Outputs)) {
		fmt.Println("output", name, line(g.Outputs[name]))
	}
}

// A constructor returns attributes, which other props take.
func ExampleDeclare() {
	show(func(s *athanor.Stack) error {
		dead := newQueue(s, "dead", queueProps{})
		newQueue(s, "orders", queueProps{
			Name:              "orders-" + s.Stage(),
			VisibilityTimeout: new(90 * time.Second),
			DeadLetter:        dead.ARN,
			Tags:              map[string]string{"next": fmt.Sprintf("%s:%s", dead.URL, dead.Port)},
			Zones:             append([]string{"first"}, dead.Zones...),
		})
		return nil
	})
	// Output:
	// dead test.Queue {}
	// orders test.Queue {"deadLetter":"${dead.arn}","name":"orders-dev","tags":{"next":"${dead.url}:${dead.port}"},"visibilityTimeout":"1m30s","zones":["first","${dead.zones...}"]}
}

// Read uses what the stack does not own.
func ExampleRead() {
	show(func(s *athanor.Stack) error {
		shared := athanor.Read(s, queueKind(), "shared", queueProps{Name: "events"})
		athanor.Read(s, queueKind(), "old", "queue-17")
		newQueue(s, "orders", queueProps{DeadLetter: shared.ARN})
		return nil
	})
	// Output:
	// orders test.Queue {"deadLetter":"${shared.arn}"}
	// old test.Queue read by id queue-17
	// shared test.Queue read by {"name":"events"}
}

// Options come last in every constructor.
func ExampleOption() {
	show(func(s *athanor.Stack) error {
		dead := newQueue(s, "dead", queueProps{}, athanor.Protect())
		newQueue(s, "orders", queueProps{},
			athanor.DependsOn(dead), athanor.RenamedFrom("jobs"), athanor.After(athanor.Run("make seed")))
		return nil
	})
	// Output:
	// dead test.Queue {}
	//   options {"protect":true}
	// orders test.Queue {}
	//   options {"dependsOn":["dead"],"renamedFrom":["jobs"],"after":[{"run":"make seed"}]}
}

// A scope is a prefix of addresses; With carries the settings of a provider.
func ExampleStack_Scope() {
	show(func(s *athanor.Stack) error {
		eu := s.Scope("eu").With("test", map[string]any{"region": "north"})
		for _, zone := range []string{"a", "b"} {
			newQueue(eu, "orders["+zone+"]", queueProps{Name: zone})
		}
		return nil
	})
	// Output:
	// eu/orders[a] test.Queue {"name":"a"}
	//   settings {"region":"north"}
	// eu/orders[b] test.Queue {"name":"b"}
	//   settings {"region":"north"}
}

// Config is what the user sets with --config; without it there is a default, maybe one for the stage.
func ExampleConfig() {
	program := func(s *athanor.Stack) error {
		s.Output("domain", athanor.Config(s, "domain", athanor.Default("example.com"), athanor.ForStage("prod", "shop.example")))
		s.Output("replicas", athanor.Config(s, "replicas", athanor.Default(2)))
		return nil
	}
	for _, in := range []athanor.Input{
		{Stack: "shop", Stage: "dev"},
		{Stack: "shop", Stage: "prod", Config: map[string]string{"replicas": "9"}},
		{Stack: "shop", Stage: "dev", Config: map[string]string{"replicas": "many"}},
		{Stack: "shop", Stage: "dev", Config: map[string]string{"domian": "a.example"}},
	} {
		g, err := athanor.Evaluate(program, in)
		if err != nil {
			graph, _ := err.(*engine.GraphError)
			fmt.Println(graph.Problems[0].Err, reconcile.Hints(err))
			continue
		}
		fmt.Println(g.Outputs["domain"], g.Outputs["replicas"])
	}
	// Output:
	// example.com 2
	// shop.example 9
	// want a whole number, have "many" []
	// config domian: a value is given, but the program has no such config [did you mean domain?]
}

// The program never sees a secret: it holds a token, which is masked wherever its value would show.
func ExampleStack_Secret() {
	show(func(s *athanor.Stack) error {
		pw := s.Secret("password", athanor.FromEnv("DB_PASSWORD"))
		s.Output("dsn", s.URL("postgres://%s@db.local/shop", athanor.User("app", pw)))
		s.Output("header", "Bearer "+string(pw))
		return nil
	})
	// Output:
	// output dsn "postgres://app:${secret.password}@db.local/shop"
	// output header "Bearer ${secret.password}"
}

// Then is the door to logic on a value that is known later.
func ExampleThen() {
	show(func(s *athanor.Stack) error {
		q := newQueue(s, "orders", queueProps{})
		next := athanor.Then(s, q.Port, func(port int) (athanor.Int, error) { return athanor.Num(int64(port) + 1), nil })
		newQueue(s, "next", queueProps{Port: next})
		s.Output("account", s.Then(q.ARN, func(arn string) string { return strings.Split(arn, ":")[4] }))
		return nil
	})
	// Output:
	// next test.Queue {"port":"${then.f1}"}
	// orders test.Queue {}
	// output account "${then.f2}"
}

// Providers build grants on Bind: rows for the bindings prop of another resource, in the order of keys.
func ExampleStack_Bind() {
	show(func(s *athanor.Stack) error {
		worker := newQueue(s, "worker", queueProps{})
		orders := newQueue(s, "orders", queueProps{})
		orders.Grant(s, worker)
		s.Bind(worker, "audit", queueBinding{Allow: "*"})
		return nil
	})
	// Output:
	// orders test.Queue {}
	// worker test.Queue {"bindings":[{"allow":"*","sid":"audit"},{"allow":"${orders.arn}","sid":"send"}]}
}

// All mistakes come at once, each with the line of the program.
func ExampleEvaluate() {
	_, err := athanor.Evaluate(func(s *athanor.Stack) error {
		newQueue(s, "1st", queueProps{})
		newQueue(s, "orders", queueProps{Port: "many"}, athanor.IgnoreChanges("tags["))
		s.Output("a b", 1)
		return nil
	}, athanor.Input{Stack: "shop", Stage: "dev"})
	graph, _ := err.(*engine.GraphError)
	for _, p := range graph.Problems {
		fmt.Println(p.Address, "|", p.Err)
	}
	// Output:
	//  | bad address "1st"
	// orders | port: want a whole number, have text that is none
	// orders | ignoreChanges: path "tags[": at 4: a bracket is not closed
	// output a b | bad name: a letter first, then letters, digits, - and _
}

// A program that looks at the letters of a reference gives another graph with each spelling.
func ExampleCheck() {
	program := func(s *athanor.Stack) error {
		q := newQueue(s, "orders", queueProps{})
		newQueue(s, "copy", queueProps{Tags: map[string]string{"length": fmt.Sprint(len(q.URL))}})
		return nil
	}
	first, _ := athanor.Evaluate(program, athanor.Input{Stack: "shop", Stage: "dev", Spelling: athanor.Plain})
	second, _ := athanor.Evaluate(program, athanor.Input{Stack: "shop", Stage: "dev", Spelling: athanor.Shifted})
	graph, _ := athanor.Check(first, second).(*engine.GraphError)
	fmt.Println(graph.Problems[0].Address, "|", graph.Problems[0].Err)
	// Output:
	// copy | tags.length: the program does not mean the same each time
}
