//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// A hostile stack is a checkout that tries to reach what its user did not grant. Each is planned by the command as it
// ships, under a trace of every connection, every file that is opened and every program that is started.
type hostile struct {
	// files of the checkout, by name; links by name too, and what they lead to. PROJECT, OUTSIDE, HOME and CANARY stand for
	// the folders and for the address of the server that nobody allowed.
	files, links map[string]string
	// pipes are files of the checkout into which nobody writes.
	pipes []string
	// command is what is run in the checkout, plan by default.
	command []string
	env     []string
	// asks are the refusals, one for each KIND=VALUE@PLACE; none: the stack is refused for what it is, or harmless.
	asks []string
	// says is a part of what is printed.
	says string
	// code is the exit code; 1 when asks are set.
	code int
	// reaches says what is reached when all of the asks are allowed: "canary", a file that is opened, or "".
	reaches string
	// sent is what is sent to the server when it is allowed; never is what is not sent to it even then.
	sent, never string
	// starts are programs that may be started.
	starts []string
	// cloud says that the user's environment names a cloud, which may be asked: what is prepared is prepared after that.
	cloud bool
	// until is what is printed before the command is asked to end, "" where it ends by itself.
	until string
}

// untilWriter calls then when a text was written to it.
type untilWriter struct {
	buffer *bytes.Buffer
	text   string
	then   func()
}

func (w *untilWriter) Write(p []byte) (int, error) {
	n, err := w.buffer.Write(p)
	if w.then != nil && strings.Contains(w.buffer.String(), w.text) {
		w.then()
		w.then = nil
	}
	return n, err
}

func attacks() map[string]hostile {
	const secret, value = "OUTSIDE/idrsa", "kind: local.Value"
	stack := func(text string) map[string]string { return map[string]string{"athanor.yaml": "stack: shop\n" + text} }
	with := func(files map[string]string, more ...string) map[string]string {
		files = maps.Clone(files)
		for i := 0; i < len(more); i += 2 {
			files[more[i]] = more[i+1]
		}
		return files
	}
	function := func(code string) string {
		return "providers: {aws: {region: eu-west-1}}\nresources:\n  fn:\n    kind: aws.lambda.Function\n    props: {handler: index.handler, runtime: nodejs24.x, role: 'arn:aws:iam::123456789012:role/x', code: " + code + "}\n"
	}
	goFunction := stack("providers: {aws: {region: eu-west-1}}\nresources: {fn: {kind: aws.lambda.Function, props: {role: 'arn:aws:iam::123456789012:role/x', code: {go: ./src}}}}\n")
	return map[string]hostile{
		"an endpoint of Cloudflare": {
			files:   stack("providers: {cloudflare: {endpoint: http://CANARY/}}\nresources: {q: {kind: cloudflare.Queue}}\n"),
			asks:    []string{"endpoint=http://CANARY/@providers.cloudflare.endpoint"},
			reaches: "canary",
		},
		"an endpoint by way of another name": {
			files: stack("providers: {a: {use: aws, endpoint: http://CANARY/}, b: {use: a, region: eu-west-1}}\nresources: {q: {kind: aws.sqs.Queue, provider: b}}\n"),
			asks:  []string{"endpoint=http://CANARY/@providers.a.endpoint"}, reaches: "canary",
		},
		"an endpoint in a graph document": {
			files: map[string]string{"graph.json": `{"format":1,"stack":"shop","stage":"dev-tester","resources":[{"address":"q","kind":"aws.sqs.Queue","settings":{"endpoint":"http://CANARY","region":"eu-west-1"}}]}`},
			asks:  []string{"endpoint=http://CANARY@resources.q.settings.endpoint"}, command: []string{"plan", "graph.json"}, reaches: "canary",
		},
		"a region that is a host": {
			files: stack("providers: {aws: {region: 'x@CANARY/#'}}\nresources: {q: {kind: aws.sqs.Queue}}\n"), code: 1, says: "region",
		},
		"the store of another stack": {
			files: stack("refs: {x: {stack: other, store: \"postgres://u@CANARY/db\"}}\nresources: {v: {" + value + ", props: {input: \"${ref.x.y}\"}}}\n"),
			asks:  []string{"store=postgres://u@CANARY/db@refs.x.store"}, reaches: "canary", never: "hunter2", sent: "user\x00u\x00",
		},
		"the store of another stack, for somebody with files of passwords": {
			files: with(stack("refs: {x: {stack: other, store: \"postgres://u@CANARY/db\"}}\nresources: {v: {"+value+", props: {input: \"${ref.x.y}\"}}}\n"),
				"../home/.pgpass", "*:*:*:*:hunter2\n", "../home/.pg_service.conf", "[mine]\npassword=hunter2\noptions=-c hunter2.x=y\n"),
			env:  []string{"PGPASSFILE=HOME/.pgpass", "PGSERVICE=mine", "PGSERVICEFILE=HOME/.pg_service.conf", "PGOPTIONS=-c hunter2.x=y"},
			asks: []string{"store=postgres://u@CANARY/db@refs.x.store"}, reaches: "canary", never: "hunter2", sent: "user\x00u\x00",
		},
		"a store that a file of the checkout leads elsewhere": {
			files: with(stack("refs: {x: {stack: other, store: \"postgres://u@/db?service=x&servicefile=services\"}}\nresources: {v: {"+value+", props: {input: \"${ref.x.y}\"}}}\n"),
				"services", "[x]\nhost=127.0.0.1\nport=1\n"),
			env: []string{"ATHANOR_ALLOW=store=postgres://u@/db?service=x&servicefile=services"}, code: 1, says: "stage's own store",
		},
		"any file and any variable in a query": {
			files: stack(`providers: {aws: {endpoint: "http://CANARY/", region: eu-west-1}}
secrets: {k: {file: ../outside/idrsa}, e: {env: PGPASSWORD}}
read: {a: {kind: aws.sqs.Queue, query: {name: "${secret.k}"}}, b: {kind: aws.sqs.Queue, query: {name: "${secret.e}"}}}
`),
			asks: []string{"endpoint=http://CANARY/@providers.aws.endpoint", "path=" + secret + "@secrets.k.file", "env=PGPASSWORD@secrets.e.env"}, reaches: "canary",
		},
		"a source outside": {
			files: stack("resources: {out: {kind: local.File, props: {path: out.txt, source: ../outside/idrsa}}}\n"),
			asks:  []string{"path=" + secret + "@resources.out.source"}, reaches: secret,
		},
		"a file that is written outside": {
			files: stack("resources: {out: {kind: local.File, props: {path: HOME/.bashrc, content: x}}}\n"),
			asks:  []string{"path=HOME/.bashrc@resources.out.path"}, reaches: "HOME/.bashrc",
		},
		"a file outside that is only read": {
			files: stack("read: {x: {kind: local.File, id: ../outside/idrsa}}\noutputs: {d: \"${x.digest}\"}\n"),
			asks:  []string{"path=" + secret + "@read.x.id"}, reaches: secret,
		},
		"a secret by way of a link": {
			files: stack("secrets: {k: {file: inside.txt}}\nresources: {v: {" + value + ", props: {input: \"${secret.k}\"}}}\n"),
			links: map[string]string{"inside.txt": "../outside/idrsa"},
			asks:  []string{"path=" + secret + "@secrets.k.file"}, reaches: secret,
		},
		"a source by way of two links and a folder": {
			files: stack("resources: {out: {kind: local.File, props: {path: out.txt, source: a/b/credentials}}}\n"),
			links: map[string]string{"a/b": "../c", "c": "HOME/.aws"},
			asks:  []string{"path=HOME/.aws/credentials@resources.out.source"}, reaches: "HOME/.aws/credentials",
		},
		"a folder outside": {
			files: stack("resources: {out: {kind: local.Directory, props: {path: out, source: ../outside}}}\n"),
			asks:  []string{"path=OUTSIDE@resources.out.source"}, reaches: secret,
		},
		"code outside": {
			files: stack(function("{zip: ../outside/idrsa}")), asks: []string{"path=" + secret + "@resources.fn.code.zip"},
		},
		"a folder of code by way of a link": {
			files: stack(function("{directory: code}")), links: map[string]string{"code": "OUTSIDE"}, asks: []string{"path=OUTSIDE@resources.fn.code.directory"},
		},
		"migrations outside": {
			files: stack("resources: {db: {kind: cloudflare.D1Database, props: {migrations: ../outside}}}\n"),
			asks:  []string{"path=OUTSIDE@resources.db.migrations"},
		},
		"an object outside": {
			files: stack("providers: {aws: {region: eu-west-1}}\nresources: {o: {kind: aws.s3.Object, props: {bucket: b, key: k, source: ../outside/idrsa}}}\n"),
			asks:  []string{"path=" + secret + "@resources.o.source"},
		},
		"a file that is included": {
			files: stack("include: [../outside/more.yaml]\n"), asks: []string{"path=OUTSIDE/more.yaml@include"}, reaches: "OUTSIDE/more.yaml",
		},
		"an included file that is a link": {
			files: stack("include: [more.yaml]\n"), links: map[string]string{"more.yaml": "../outside/more.yaml"},
			asks: []string{"path=OUTSIDE/more.yaml@include"}, reaches: "OUTSIDE/more.yaml",
		},
		"a stack that is a link": {
			links: map[string]string{"athanor.yaml": "../outside/more.yaml"}, asks: []string{"path=OUTSIDE/more.yaml@target"},
		},
		"a path that is known later": {
			files:   stack("resources:\n  v: {" + value + ", props: {input: OUTSIDE/written}}\n  out: {kind: local.File, props: {path: \"${v.output}\", content: x}}\n"),
			command: []string{"deploy", "--yes"}, code: 1, says: "outside of the project",
		},
		"a source that is known later": {
			files:   stack("resources:\n  v: {" + value + ", props: {input: ../outside/idrsa}}\n  out: {kind: local.File, props: {path: out.txt, source: \"${v.output}\"}}\n"),
			command: []string{"deploy", "--yes"}, code: 4, says: "outside of the project",
		},
		"the project's own folder elsewhere": {
			files: stack("resources: {v: {" + value + ", props: {input: 1}}}\n"), links: map[string]string{".athanor": "../outside"},
			command: []string{"deploy", "--yes"}, asks: []string{"path=OUTSIDE@.athanor"},
		},
		"as whom": {
			files: stack("providers: {aws: {region: eu-west-1, profile: prod, accountId: \"123456789012\"}, cloudflare: {tokenEnv: GITHUB_TOKEN, account: other}}\n" +
				"resources: {q: {kind: aws.sqs.Queue}, r: {kind: cloudflare.Queue}}\n"),
			asks: []string{
				"identity=prod@providers.aws.profile", "identity=123456789012@providers.aws.accountId",
				"identity=GITHUB_TOKEN@providers.cloudflare.tokenEnv", "identity=other@providers.cloudflare.account",
			},
		},
		"a tool's flag as a package": {
			files: with(stack("providers: {aws: {region: eu-west-1}}\nresources: {fn: {kind: aws.lambda.Function, props: {role: 'arn:aws:iam::123456789012:role/x', code: {go: \"-toolexec=PROJECT/evil.sh\"}}}}\n"),
				"go.mod", "module example.com/x\n\ngo 1.26\n", "main.go", "package main\n\nfunc main() {}\n", "evil.sh", "#!/bin/sh\ntouch OUTSIDE/ran\nexec \"$@\"\n"),
			asks: []string{"program=-toolexec=PROJECT/evil.sh@resources.fn.code.go"},
		},
		"a linker's flag": {
			files: with(stack("providers: {aws: {region: eu-west-1}}\nresources: {fn: {kind: aws.lambda.Function, props: {role: 'arn:aws:iam::123456789012:role/x', code: {go: ., ldFlags: \"-cpuprofile=OUTSIDE/ran\"}}}}\n"),
				"go.mod", "module example.com/x\n\ngo 1.26\n", "main.go", "package main\n\nfunc main() {}\n"),
			asks: []string{"program=-cpuprofile=OUTSIDE/ran@resources.fn.code.ldFlags"},
		},
		"another program of the go command": {
			files: with(stack("providers: {aws: {region: eu-west-1}}\nresources: {fn: {kind: aws.lambda.Function, props: {role: 'arn:aws:iam::123456789012:role/x', code: {go: .}}}}\n"),
				"go.mod", "module example.com/x\n\ngo 1.21\n\ntoolchain go1.99.9\n", "main.go", "package main\n\nfunc main() {}\n",
				".git/config", "[core]\n\tfsmonitor = touch OUTSIDE/ran\n\trepositoryformatversion = 0\n", ".git/HEAD", "ref: refs/heads/main\n"),
			cloud: true, code: 1, says: "there is none", starts: []string{"/go", "/compile", "/link", "/asm"},
		},
		"a file of Go that is a link": {
			files: with(goFunction, "go.mod", "module example.com/x\n\ngo 1.26\n", "src/main.go", "package main\n\nfunc main() {}\n"),
			links: map[string]string{"src/data.go": "OUTSIDE/idrsa"}, cloud: true, code: 1, says: "outside of the project",
		},
		"a package of Go by way of a link": {
			files: with(goFunction, "go.mod", "module example.com/x\n\ngo 1.26\n", "src/main.go", "package main\n\nimport _ \"example.com/x/lib/deep\"\n\nfunc main() {}\n",
				"../elsewhere/deep/deep.go", "package "+canarySecret+"\n"),
			links: map[string]string{"lib": "../elsewhere"}, cloud: true, code: 1, says: "outside of the project",
		},
		"a module of Go that is replaced": {
			files: with(goFunction, "go.mod", "module example.com/x\n\ngo 1.26\n\nrequire example.com/y v1.0.0\n\nreplace (\n\texample.com/y => \"../elsewhere\"\n)\n",
				"src/main.go", "package main\n\nimport _ \"example.com/y\"\n\nfunc main() {}\n",
				"../elsewhere/go.mod", "module example.com/y\n", "../elsewhere/y.go", "package "+canarySecret+"\n"),
			cloud: true, code: 1, says: "outside of the project",
		},
		"a workspace of Go": {
			files: with(goFunction, "go.mod", "module example.com/x\n\ngo 1.26\n", "go.work", "go 1.26\n\nuse (\n\t.\n\t../elsewhere // too\n)\n",
				"src/main.go", "package main\n\nimport _ \"example.com/y\"\n\nfunc main() {}\n",
				"../elsewhere/go.mod", "module example.com/y\n", "../elsewhere/y.go", "package "+canarySecret+"\n"),
			cloud: true, code: 1, says: "outside of the project",
		},
		"a file that assembly includes": {
			files: with(goFunction, "go.mod", "module example.com/x\n\ngo 1.26\n", "src/main.go", "package main\n\nimport _ \"example.com/x/lib\"\n\nfunc main() {}\n",
				"lib/lib.go", "package lib\n\nfunc F()\n", "lib/f.s", "#include \"f.h\"\n", "lib/f.h", "/* x */ # include \"OUTSIDE/idrsa\"\n"),
			cloud: true, code: 1, says: "outside of the project",
		},
		"assets by way of a link": {
			files: with(stack("resources: {w: {kind: cloudflare.Worker, props: {compatibilityDate: \"2026-01-01\", code: {bundle: w.js}, assets: {directory: public}}}}\n"),
				"w.js", "export default {}\n", "public/index.html", "x"),
			links: map[string]string{"public/key.txt": "OUTSIDE/idrsa"}, cloud: true, code: 1,
		},
		"sealed secrets that are a link": {
			files: stack("secrets: {k: {sealed: true}}\nresources: {v: {" + value + ", props: {input: \"${secret.k}\"}}}\n"),
			links: map[string]string{"shop.dev-tester.secrets.json": "OUTSIDE/data.json"}, code: 1, says: "outside of the project",
		},
		"a ring of keys that is a link": {
			files: stack("resources: {v: {" + value + ", props: {input: 1}}}\n"),
			links: map[string]string{"shop.dev-tester.key.json": "OUTSIDE/data.json"}, code: 1, says: "outside of the project",
		},
		"the state of another project": {
			files: stack("resources: {}\n"), links: map[string]string{".athanor/state.db": "OUTSIDE/data.json"},
			command: []string{"destroy", "--stack", "shop", "--yes"}, asks: []string{"path=OUTSIDE/data.json@.athanor/state.db"},
		},
		"a cache elsewhere": {
			files: stack("resources: {}\n"), links: map[string]string{".athanor/cache": "OUTSIDE"}, asks: []string{"path=OUTSIDE@.athanor/cache"},
		},
		"what a bundler reads": {
			files: with(stack(function("{bundle: src/index.ts}")), "src/index.ts", "import text from './link.json';\nexport const handler = () => text;\n"),
			links: map[string]string{"src/link.json": "../../outside/data.json"}, cloud: true, code: 1, says: "outside of the project",
		},
		"what a bundler is told": {
			files: with(stack(function("{bundle: src/index.ts}")), "src/index.ts", "export const handler = 1;\n", "src/tsconfig.json", `{"extends": "../../outside/tsconfig.json"}`,
				"package.json", `{"scripts": {"postinstall": "touch OUTSIDE/ran"}}`),
			asks: []string{"path=OUTSIDE/tsconfig.json@resources.fn.code.bundle"},
		},
		"a source map of what a bundler reads": {
			files: with(stack(function("{bundle: src/index.ts, sourceMap: true}")), "src/index.ts", "export const handler = 1;\n//# sourceMappingURL=../../outside/data.json\n"),
			cloud: true, code: 1, says: "outside of the project",
		},
		"what a source map names": {
			files: with(stack(function("{bundle: src/index.ts, sourceMap: true}")), "src/index.ts", "export const handler = 1;\n//# sourceMappingURL=index.map\n",
				"src/index.map", `{"version":3,"mappings":"AAAA","names":[],"sources":["file://HOME/.aws/credentials"]}`),
			cloud: true, code: 1, says: "outside of the project",
		},
		"a package's description that is a link": {
			files: with(stack(function("{bundle: src/index.ts}")), "src/index.ts", "import 'b';\n", "src/node_modules/b/index.js", "export default 1;\n"),
			links: map[string]string{"src/node_modules/b/package.json": "OUTSIDE/data.json"}, cloud: true, code: 1, says: "outside of the project",
		},
		"another name for a file outside": {
			files: with(stack("resources: {w: {kind: cloudflare.Worker, props: {compatibilityDate: \"2026-01-01\", code: {bundle: src/w.js, alias: {b: OUTSIDE/data.json}}}}}\n"),
				"src/w.js", "import b from 'b';\nexport default b;\n"),
			cloud: true, code: 1, // the cloud has no list of Workers; the trace says what was opened meanwhile
		},
		"a path for a package": {
			files: with(stack(function("{bundle: src/index.ts}")), "src/index.ts", "import b from 'b';\nexport const handler = b;\n",
				"src/tsconfig.json", `{"compilerOptions": {"paths": {"b": ["../../outside/data.json"]}}}`),
			asks: []string{"path=OUTSIDE/data.json@resources.fn.code.bundle"},
		},
		"a package's file outside": {
			files: with(stack(function("{bundle: src/index.ts}")), "src/index.ts", "import b from 'b';\nexport const handler = b;\n",
				"src/node_modules/b/package.json", `{"main": "../../../../outside/data.json"}`),
			cloud: true, code: 1, says: "outside of the project",
		},
		"a store that a plan names": {
			files:   with(stack("resources: {v: {"+value+", props: {input: 1}}}\n"), "plan.json", `{"athanorPlan":2,"target":"PROJECT","stage":"dev-tester","store":"postgres://u@CANARY/db","options":{},"plan":{"format":1,"stack":"shop","stage":"dev-tester","actions":[]}}`),
			command: []string{"deploy", "plan.json", "--yes"}, code: 1,
		},
		"a session of dev": {
			files:   stack("providers: {cloudflare: {endpoint: http://CANARY/}}\nresources: {q: {kind: cloudflare.Queue}}\n"),
			command: []string{"dev"}, code: -1, until: "nobody has allowed", asks: []string{"endpoint=http://CANARY/@providers.cloudflare.endpoint"},
		},
		"what files of the checkout say of permissions": {
			files: with(stack("resources: {out: {kind: local.File, props: {path: out.txt, source: ../outside/idrsa}}}\n"),
				".env", "ATHANOR_ALLOW=path=OUTSIDE/idrsa\n", ".envrc", "export ATHANOR_ALLOW=path=OUTSIDE/idrsa\n", "athanor.env", "ATHANOR_ALLOW=path=OUTSIDE/idrsa\n",
				".athanor/config.yaml", grantsAll, ".config/athanor/config.yaml", grantsAll, "athanor/config.yaml", grantsAll, "config.yaml", grantsAll),
			asks: []string{"path=" + secret + "@resources.out.source"}, reaches: secret,
		},
		"a configuration of the user in the checkout": {
			files: with(stack("resources: {out: {kind: local.File, props: {path: out.txt, source: ../outside/idrsa}}}\n"), "config/athanor/config.yaml", grantsAll),
			env:   []string{"XDG_CONFIG_HOME=config"}, // which a path from the root alone can name
			asks:  []string{"path=" + secret + "@resources.out.source"},
		},
		"a path from somebody's home": {
			files: stack("secrets: {k: {file: ~/.aws/credentials}, l: {file: $HOME/.aws/credentials}}\nresources: {v: {" + value + ", props: {input: \"${secret.k} ${secret.l}\"}}}\n"),
			code:  1, says: "~/.aws/credentials",
		},
		"a source from somebody's home": {
			files: stack("resources: {out: {kind: local.File, props: {path: out.txt, source: ~/.bashrc}}}\n"), code: 1, says: "~/.bashrc",
		},
		"a path in the form of another system": {
			files: stack("secrets: {a: {file: 'C:\\Users\\x\\idrsa'}, b: {file: '\\\\CANARY\\share\\x'}, c: {file: '\\\\?\\UNC\\CANARY\\x'}, d: {file: '..\\outside\\idrsa'}}\n" +
				"resources: {v: {" + value + ", props: {input: \"${secret.a} ${secret.b} ${secret.c} ${secret.d}\"}}}\n"),
			code: 1, says: "idrsa",
		},
		"a path that is a URL": {
			files: stack("secrets: {a: {file: \"file://OUTSIDE/idrsa\"}, b: {file: \"http://CANARY/x\"}}\nresources: {v: {" + value + ", props: {input: \"${secret.a} ${secret.b}\"}}}\n"),
			code:  1, says: "file:",
		},
		"two slashes before a path": {
			files: stack("resources: {out: {kind: local.File, props: {path: out.txt, source: /OUTSIDE/idrsa}}}\n"),
			asks:  []string{"path=" + secret + "@resources.out.source"}, reaches: secret,
		},
		"a path with a byte that ends it": {
			files: stack("secrets: {k: {file: \"in.txt\\0/../../outside/idrsa\"}}\nresources: {v: {" + value + ", props: {input: \"${secret.k}\"}}}\n"), code: 1,
		},
		"a source with a byte that ends it": {
			files: stack("resources: {out: {kind: local.File, props: {path: out.txt, source: \"../outside/idrsa\\0.txt\"}}}\n"), code: 1,
		},
		"a path that is written with a byte that ends it": {
			files: stack("resources: {out: {kind: local.File, props: {path: \"../outside/x\\0\", content: x}}}\n"), code: 1,
		},
		"the command's own variables": {
			files: stack("secrets: {a: {file: /proc/self/environ}, b: {file: /proc/thread-self/environ}}\nresources: {v: {" + value + ", props: {input: \"${secret.a} ${secret.b}\"}}}\n"),
			code:  1, says: "nobody has allowed",
		},
		"the command's own variables by way of a link": {
			files: stack("secrets: {k: {file: key.txt}}\nresources: {v: {" + value + ", props: {input: \"${secret.k}\"}}}\n"),
			links: map[string]string{"key.txt": "/proc/self/environ"}, code: 1, says: "nobody has allowed",
		},
		"the command's own descriptors": {
			files: stack("secrets: {a: {file: /dev/stdin}, b: {file: /dev/fd/0}}\nresources: {v: {" + value + ", props: {input: \"${secret.a} ${secret.b}\"}}}\n"),
			code:  1, says: "nobody has allowed",
		},
		"a descriptor by way of a link": {
			files: stack("include: [more.yaml]\n"), links: map[string]string{"more.yaml": "/dev/fd/0"}, code: 1, says: "nobody has allowed",
		},
		"the root of another name space": {
			files: stack("resources: {out: {kind: local.File, props: {path: out.txt, source: /proc/self/root/OUTSIDE/idrsa}}}\n"),
			asks:  []string{"path=" + secret + "@resources.out.source"},
		},
		"the working directory by another name": {
			files: stack("resources: {out: {kind: local.File, props: {path: out.txt, source: up/idrsa}}}\n"),
			links: map[string]string{"up": "/proc/self/cwd/../outside"}, asks: []string{"path=" + secret + "@resources.out.source"}, reaches: secret,
		},
		"links in a ring": {
			files: stack("secrets: {k: {file: a}}\nresources: {v: {" + value + ", props: {input: \"${secret.k}\"}}}\n"),
			links: map[string]string{"a": "b", "b": "c/../a", "c": "."}, code: 1, says: "secrets.k.file",
		},
		"a chain of links": {
			files: stack("secrets: {k: {file: a}}\nresources: {v: {" + value + ", props: {input: \"${secret.k}\"}}}\n"),
			links: map[string]string{"a": "d1/d2/b", "d1": ".", "d2": "d1/d1", "b": "d2/c", "c": "d1/../outside/idrsa"},
			asks:  []string{"path=" + secret + "@secrets.k.file"}, reaches: secret,
		},
		"an include of an include": {
			files: with(stack("include: [sub/a.yaml]\n"), "sub/a.yaml", "include: [../b.yaml]\n", "b.yaml", "include: [../outside/more.yaml]\n"),
			code:  1, says: "include",
		},
		"what an included file reaches": {
			files: with(stack("include: [sub/a.yaml]\n"), "sub/a.yaml", "providers: {cloudflare: {endpoint: http://CANARY/}}\nsecrets: {k: {file: ../../outside/idrsa}, e: {env: PGPASSWORD}}\n"+
				"resources: {q: {kind: cloudflare.Queue}, out: {kind: local.File, props: {path: out.txt, source: ../outside/idrsa}}, v: {"+value+", props: {input: \"${secret.k} ${secret.e}\"}}}\n"),
			code: 1, says: "nobody has allowed",
		},
		"settings by way of an alias": {
			files: stack("x-set: &s {endpoint: http://CANARY/, tokenEnv: GITHUB_TOKEN}\nproviders: {cloudflare: *s}\nresources: {q: {kind: cloudflare.Queue}}\n"),
			asks:  []string{"endpoint=http://CANARY/@providers.cloudflare.endpoint", "identity=GITHUB_TOKEN@providers.cloudflare.tokenEnv"}, reaches: "canary", sent: "hunter2",
		},
		"settings that are merged": {
			files: stack("x-set: &s {endpoint: http://CANARY/, tokenEnv: GITHUB_TOKEN}\nproviders: {cloudflare: {<<: *s}}\nresources: {q: {kind: cloudflare.Queue}}\n"), code: 1,
		},
		"a secret by way of an alias": {
			files: stack("x-s: &s {env: PGPASSWORD}\nx-f: &f ../outside/idrsa\nsecrets: {k: *s, f: {file: *f}}\nresources: {v: {" + value + ", props: {input: \"${secret.k} ${secret.f}\"}}}\n"),
			asks:  []string{"env=PGPASSWORD@secrets.k.env", "path=" + secret + "@secrets.f.file"},
		},
		"a setting that is written twice": {
			files: stack("providers: {cloudflare: {endpoint: https://api.cloudflare.com/client/v4, endpoint: http://CANARY/}}\nresources: {q: {kind: cloudflare.Queue}}\n"), code: 1,
		},
		"a variable of an odd name": {
			files: stack("secrets: {a: {env: athanor_secret_key}, b: {env: \"PGPASSWORD \"}, c: {env: \" ATHANOR_SECRET_KEY\"}, d: {env: \"\u0410THANOR_SECRET_KEY\"}, e: {env: ATHANOR_ALLOW}}\n" +
				"resources: {v: {" + value + ", props: {input: \"${secret.a} ${secret.b} ${secret.c} ${secret.d} ${secret.e}\"}}}\n"),
			code: 1,
		},
		"a variable whose name has two": {
			files: stack("secrets: {a: {env: \"ATHANOR_SECRET_X\\0PGPASSWORD\"}, b: {env: \"ATHANOR_SECRET_=PGPASSWORD\"}, c: {env: \"ATHANOR_SECRET_\"}}\n" +
				"resources: {v: {" + value + ", props: {input: \"${secret.a} ${secret.b} ${secret.c}\"}}}\n"),
			code: 1,
		},
		"a pipe for a stack":                       {pipes: []string{"athanor.yaml"}, code: 1, says: "not a file"},
		"a pipe for sealed secrets":                {files: stack("secrets: {k: {sealed: true}}\nresources: {v: {" + value + ", props: {input: \"${secret.k}\"}}}\n"), pipes: []string{"shop.dev-tester.secrets.json"}, code: 1, says: "not a file"},
		"a pipe for a ring of keys":                {files: stack("resources: {v: {" + value + ", props: {input: 1}}}\n"), pipes: []string{"shop.dev-tester.key.json"}, code: 1, says: "not a file"},
		"a pipe for the state":                     {files: stack("resources: {v: {" + value + ", props: {input: 1}}}\n"), pipes: []string{".athanor/state.db"}, code: 1, says: "not a file"},
		"a pipe for the own folder":                {files: stack("resources: {v: {" + value + ", props: {input: 1}}}\n"), pipes: []string{".athanor"}, command: []string{"deploy", "--yes"}, code: 1},
		"a pipe for a source":                      {files: stack("resources: {out: {kind: local.File, props: {path: out.txt, source: in.txt}}}\n"), pipes: []string{"in.txt"}, code: 1, says: "not a file"},
		"a pipe in a folder":                       {files: stack("resources: {out: {kind: local.Directory, props: {path: out, source: in}}}\n"), pipes: []string{"in/x"}, code: 1},
		"a pipe that is written":                   {files: stack("resources: {out: {kind: local.File, props: {path: out.txt, content: x}}}\n"), pipes: []string{"out.txt"}, code: 1},
		"a pipe that is only read":                 {files: stack("read: {x: {kind: local.File, id: in.txt}}\noutputs: {d: \"${x.digest}\"}\n"), pipes: []string{"in.txt"}, code: 1},
		"a pipe for a graph":                       {files: stack("include: [sub/more.yaml]\n"), pipes: []string{"sub/more.yaml"}, code: 1, says: "not a file"},
		"a pipe for a module":                      {files: with(goFunction, "src/main.go", "package main\n\nfunc main() {}\n"), pipes: []string{"go.mod"}, cloud: true, code: 1},
		"a pipe for a file of Go":                  {files: with(goFunction, "go.mod", "module example.com/x\n\ngo 1.26\n", "src/main.go", "package main\n\nfunc main() {}\n"), pipes: []string{"src/more.go"}, cloud: true, code: 1, says: "not a file"},
		"a pipe for a workspace":                   {files: with(goFunction, "go.mod", "module example.com/x\n\ngo 1.26\n", "src/main.go", "package main\n\nfunc main() {}\n"), pipes: []string{"go.work"}, cloud: true, code: 1},
		"a pipe for an archive":                    {files: stack(function("{zip: code.zip}")), pipes: []string{"code.zip"}, cloud: true, code: 1, says: "not a file"},
		"a pipe in a folder of code":               {files: with(stack(function("{directory: code}")), "code/index.js", "x"), pipes: []string{"code/data"}, cloud: true, code: 1},
		"a pipe for what to leave out":             {files: with(stack(function("{directory: code}")), "code/index.js", "x"), pipes: []string{"code/.athanorignore"}, cloud: true, code: 1},
		"a pipe for a bundle":                      {files: stack(function("{bundle: src/index.ts}")), pipes: []string{"src/index.ts"}, cloud: true, code: 1},
		"a pipe that a bundle imports":             {files: with(stack(function("{bundle: src/index.ts}")), "src/index.ts", "import './more';\n"), pipes: []string{"src/more.ts"}, cloud: true, code: 1},
		"a pipe for a package":                     {files: with(stack(function("{bundle: src/index.ts}")), "src/index.ts", "export const handler = 1;\n"), pipes: []string{"src/package.json"}, cloud: true, code: 1},
		"a pipe for a bundler":                     {files: with(stack(function("{bundle: src/index.ts}")), "src/index.ts", "export const handler = 1;\n"), pipes: []string{"src/tsconfig.json"}, cloud: true, code: 1, says: "not a file"},
		"a pipe that a bundler reads":              {files: with(stack(function("{bundle: src/index.ts}")), "src/index.ts", "export const handler = 1;\n", "src/tsconfig.json", `{"extends": "./base.json"}`), pipes: []string{"src/base.json"}, cloud: true, code: 1, says: "not a file"},
		"a pipe for Yarn":                          {files: with(stack(function("{bundle: src/index.ts}")), "src/index.ts", "import 'b';\n"), pipes: []string{".pnp.data.json"}, cloud: true, code: 1, says: "not a file"},
		"a link for Yarn":                          {files: with(stack(function("{bundle: src/index.ts}")), "src/index.ts", "import 'b';\n"), links: map[string]string{".pnp.data.json": "OUTSIDE/data.json"}, asks: []string{"path=OUTSIDE/data.json@resources.fn.code.bundle"}},
		"a pipe in a folder that a bundle imports": {files: with(stack(function("{bundle: src/index.ts}")), "src/index.ts", "import './more';\n", "src/more/index.ts", ""), pipes: []string{"src/more/tsconfig.json"}, cloud: true, code: 1, says: "not a file"},
		"a bundler's file that is too large to judge": {
			files: with(stack(function("{bundle: src/index.ts}")), "src/index.ts", "export const handler = 1;\n",
				"src/tsconfig.json", strings.Repeat("// x\n", 300_000)+`{"extends": "../../outside/data.json"}`),
			cloud: true, code: 1, says: "too large",
		},
		"a pipe for a migration": {files: stack("resources: {db: {kind: cloudflare.D1Database, props: {migrations: sql}}}\n"), pipes: []string{"sql/0001.sql"}, cloud: true, code: 1},
		"a pipe for an asset": {
			files: with(stack("resources: {w: {kind: cloudflare.Worker, props: {compatibilityDate: \"2026-01-01\", code: {bundle: w.js}, assets: {directory: public}}}}\n"), "w.js", "export default {}\n", "public/index.html", "x"),
			pipes: []string{"public/_headers"}, cloud: true, code: 1,
		},
		"a pipe for an object": {files: stack("providers: {aws: {region: eu-west-1}}\nresources: {o: {kind: aws.s3.Object, props: {bucket: b, key: k, source: in}}}\n"), pipes: []string{"in"}, cloud: true, code: 1, says: "not a file"},
		"a pipe for wrangler":  {pipes: []string{"wrangler.jsonc"}, command: []string{"adopt", "--from", "wrangler.jsonc"}, code: 1},
		"a repository's pipe":  {files: with(map[string]string{"sub/athanor.yaml": "stack: shop\nresources: {v: {" + value + ", props: {input: 1}}}\n"}), pipes: []string{"sub/.git"}, command: []string{"plan", "sub"}, code: 2},
		"a whole number that is none": {
			files: stack("resources: {v: {" + value + ", props: {input: 18446744073709551616}}}\n"), code: 1, says: "18446744073709551616",
		},
		"much made of little": {
			files: stack(bomb()), code: 1, says: "MiB",
		},
	}
}

// bomb is less than 1 KiB of YAML that stands for gigabytes.
func bomb() string {
	var b strings.Builder
	b.WriteString("x-0: &a0 [" + strings.Repeat("abcdefgh", 12) + "]\n")
	for i := 1; i < 7; i++ {
		fmt.Fprintf(&b, "x-%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 8), ","))
	}
	b.WriteString("resources: {v: {kind: local.Value, props: {input: [*a6,*a6,*a6,*a6,*a6,*a6,*a6,*a6]}}}\n")
	return b.String()
}

// TestHostile plans what nobody has allowed: every refusal comes at once, and before any connection. The same stacks, with
// the permission, reach what they ask for, so that the traces are known to see it. Every third of them is planned, and each every night.
func TestHostile(t *testing.T) {
	t.Parallel()
	if !isolated(t) {
		return
	}
	for n, name := range slices.Sorted(maps.Keys(attacks())) {
		if !proctest.Played(n, 3) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attack(t, attacks()[name])
		})
	}
}

func attack(t *testing.T, h hostile) {
	x := hostileWorld(t)
	x.write(h.files)
	for name, to := range h.links {
		x.link(name, x.fill(to))
	}
	for _, name := range h.pipes {
		x.pipe(name)
	}
	if len(h.asks) > 0 && h.code == 0 {
		h.code = 1
	}
	if h.cloud {
		x.cloud = x.startCloud()
		h.env = append(h.env, "AWS_ENDPOINT_URL="+x.cloud, "CLOUDFLARE_API_BASE_URL="+x.cloud)
	}
	run := x.run(h, h.env...)
	if h.code >= 0 && run.code != h.code {
		t.Errorf("exit code %d, want %d", run.code, h.code)
	}
	for _, ask := range h.asks {
		kind, rest, _ := strings.Cut(x.fill(ask), "=")
		value, place := rest[:strings.LastIndex(rest, "@")], rest[strings.LastIndex(rest, "@")+1:]
		if !strings.Contains(run.out, value) || !strings.Contains(run.out, place+":") {
			t.Errorf("it does not name the %s %s at %s", kind, value, place)
		}
	}
	if !strings.Contains(run.out, h.says) {
		t.Errorf("it does not say %q", h.says)
	}
	for _, text := range []string{canarySecret, "hunter2"} {
		if strings.Contains(run.out, text) {
			t.Errorf("it shows %q", text)
		}
	}
	if len(h.starts) == 0 && run.held > 400<<10 { // a compiler has needs of its own
		t.Errorf("it took %d MiB", run.held>>10)
	}
	x.untouched(run, h.starts)
	if t.Failed() {
		t.Logf("%s", run.out)
	}
	if h.reaches == "" {
		return
	}
	allow := []string{"ATHANOR_ALLOW=" + x.fill(strings.Join(h.asks, ","))}
	run = x.run(h, slices.Concat(h.env, allow)...)
	if strings.Contains(run.out, "nobody has allowed") || len(run.refusals()) > 0 {
		t.Errorf("refused although it is allowed: %s", run.out)
	}
	switch {
	case h.reaches == "canary":
		got := strings.Join(x.canary.got(), "")
		if x.canary.count() == 0 || !strings.Contains(got, h.sent) {
			t.Errorf("what is allowed is not reached: %q: %s", got, run.out)
		}
		if h.never != "" && strings.Contains(got, h.never) {
			t.Errorf("it sent %q: %q", h.never, got)
		}
	case !slices.Contains(run.opened, x.fill(h.reaches)):
		t.Errorf("what is allowed is not opened: %s\n%s", run.out, strings.Join(run.opened, "\n"))
	}
}

// grantsAll would allow all that the attacks ask for, were it the user's.
const grantsAll = "projects: {PROJECT: {allow: {paths: [\"OUTSIDE/idrsa@resources.out.source\"]}}}\n"

// canarySecret is in files that no stack may read.
const canarySecret = "canary-4f1b-never-shown"

// arena is a checkout, what lies beside it, and servers that nobody may reach.
type arena struct {
	*testing.T
	project, outside, home string
	canary                 *canaryServer
	// temporary are the folders that commands had for their temporary files.
	temporary []string
	// cloud is the URL of what may be asked, "" for nothing.
	cloud string
	// redirect answers what is read of the cloud without a body; nil: there is nothing.
	redirect http.HandlerFunc
}

// startCloud is a cloud that knows who asks, and has nothing.
func (x *arena) startCloud() string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, err := io.ReadAll(r.Body); err == nil && strings.Contains(string(text), "GetCallerIdentity") {
			_, _ = io.WriteString(w, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>`+
				`<Arn>arn:aws:iam::123456789012:user/x</Arn><UserId>A</UserId><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
			return
		}
		if result := map[string]string{"/accounts": `{"id":"0123456789abcdef0123456789abcdef","name":"x"}`, "/zones": ""}; x.redirect == nil {
			if one, listed := result[r.URL.Path]; listed {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"success":true,"errors":[],"messages":[],"result":[`+one+`],"result_info":{"page":1,"per_page":50,"total_pages":1,"count":1}}`)
				return
			}
		}
		if x.redirect != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			x.redirect(w, r)
			return
		}
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetResources") {
			_, _ = io.WriteString(w, `{"ResourceTagMappingList":[]}`)
			return
		}
		w.Header().Set("X-Amzn-Errortype", "ResourceNotFoundException")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"__type":"ResourceNotFoundException","message":"there is none"}`)
	}))
	x.Cleanup(server.Close)
	return server.URL
}

func hostileWorld(t *testing.T) *arena {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := &arena{T: t, project: filepath.Join(base, "project"), outside: filepath.Join(base, "outside"), home: filepath.Join(base, "home"), canary: startCanary(t)}
	x.write(map[string]string{
		".git/x": "", "../outside/idrsa": canarySecret + "\n", "../outside/more.yaml": "x-more: " + canarySecret + "\n",
		"../outside/data.json": `"` + canarySecret + `"`, "../outside/tsconfig.json": `{"compilerOptions": {}}`, "../outside/0001.sql": canarySecret,
		"../home/.aws/credentials": "[default]\naws_access_key_id = A\naws_secret_access_key = " + canarySecret + "\n", "../home/.bashrc": canarySecret,
	})
	return x
}

func (x *arena) fill(text string) string {
	return strings.NewReplacer("PROJECT", x.project, "OUTSIDE", x.outside, "HOME", x.home, "CANARY", x.canary.address).Replace(text)
}

func (x *arena) write(files map[string]string) {
	x.Helper()
	for name, text := range files {
		path := filepath.Join(x.project, name)
		mode := os.FileMode(0o600)
		if strings.HasPrefix(text, "#!") {
			mode = 0o700
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(x.fill(text)), mode)); err != nil {
			x.Fatal(err)
		}
	}
}

func (x *arena) link(name, to string) {
	x.Helper()
	path := filepath.Join(x.project, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(to, path)); err != nil {
		x.Fatal(err)
	}
}

// pipe makes a file that nothing is ever read from.
func (x *arena) pipe(name string) {
	x.Helper()
	path := filepath.Join(x.project, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), syscall.Mkfifo(path, 0o600)); err != nil {
		x.Fatal(err)
	}
}

// hostileRun is what a command did.
type hostileRun struct {
	out                         string
	code                        int
	connected, opened, executed []string
	held                        int // KiB of memory, at most
}

func (r hostileRun) refusals() []string {
	return regexp.MustCompile(`--allow \S+`).FindAllString(r.out, -1)
}

// run runs a command in the checkout, under a trace.
func (x *arena) run(h hostile, env ...string) hostileRun {
	x.Helper()
	command := h.command
	if command == nil {
		command = []string{"plan"}
	}
	trace, temporary := filepath.Join(x.TempDir(), "trace"), x.TempDir()
	x.temporary = append(x.temporary, temporary)
	ctx, cancel := context.WithTimeout(x.Context(), hostileLimit)
	defer cancel()
	args := append([]string{"-f", "--seccomp-bpf", "-y", "-qq", "-s", "4096", "-e", "trace=connect,sendto,sendmsg,sendmmsg,open,openat,openat2,creat,execve,execveat", "-o", trace, built(x.T, false)}, command...)
	for i := range args {
		args[i] = x.fill(args[i])
	}
	env = slices.Clone(env)
	for i := range env {
		env[i] = x.fill(env[i])
	}
	file := filepath.Join(x.TempDir(), "held")
	cmd := exec.CommandContext(ctx, peaking(x.T), append([]string{file, "strace"}, args...)...)
	cmd.Dir = x.project
	cmd.Env = append(goEnvironment(x.T), append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + x.home, "USER=tester", "TERM=dumb", "TMPDIR=" + temporary, "PGPASSWORD=hunter2", "GITHUB_TOKEN=hunter2",
		"AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=hunter2hunter2", "CLOUDFLARE_API_TOKEN=hunter2hunter2", "AWS_EC2_METADATA_DISABLED=true",
		"GOTELEMETRY=off", "GOPROXY=http://" + x.canary.address,
	}, env...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if h.until != "" {
		awaited := &untilWriter{buffer: &out, text: h.until, then: func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }}
		cmd.Stdout, cmd.Stderr = awaited, awaited
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what is traced outlives the one who traces
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		x.Fatalf("it does not end: %s", out.String())
	}
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		x.Fatal(err)
	}
	r := hostileRun{out: out.String(), code: cmd.ProcessState.ExitCode(), held: heldIn(x.T, file)}
	text, err := os.ReadFile(trace)
	if err != nil {
		x.Fatal(err)
	}
	r.read(string(text))
	return r
}

var (
	tracedOpen    = regexp.MustCompile(`(?:open(?:at|at2)?|creat)\(.*\) = \d+<(.*)>$`)
	tracedConnect = regexp.MustCompile(`(?:connect|sendto|sendm?msg)\(.*sa_family=AF_(?:INET6?|UNIX), (.*?)\}`)
	tracedExec    = regexp.MustCompile(`execve(?:at)?\([^"]*"([^"]*)".*\) = 0$`)
)

func (r *hostileRun) read(trace string) {
	for line := range strings.Lines(trace) {
		line = strings.TrimSuffix(line, "\n")
		if m := tracedOpen.FindStringSubmatch(line); m != nil {
			r.opened = append(r.opened, m[1])
		}
		if m := tracedConnect.FindStringSubmatch(line); m != nil {
			r.connected = append(r.connected, m[1])
		}
		if m := tracedExec.FindStringSubmatch(line); m != nil {
			r.executed = append(r.executed, m[1])
		}
	}
}

// untouched checks that a command reached nothing: no connection was begun, no file was opened outside of the project,
// and no program was started but those that may be.
func (x *arena) untouched(r hostileRun, starts []string) {
	x.Helper()
	_, port, _ := strings.Cut(strings.TrimPrefix(x.cloud, "http://"), ":")
	for _, to := range r.connected {
		if x.cloud == "" || !strings.Contains(to, "htons("+port+")") {
			x.Errorf("it connected to %s", to)
		}
	}
	if n := x.canary.count(); n > 0 {
		x.Errorf("the server that nobody allowed was asked %d times: %q", n, x.canary.got())
	}
	system := []string{
		"/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/lib", "/bin/", "/opt/", x.project, filepath.Join(x.home, ".config"), filepath.Join(x.home, ".aws"), goVariable(x.T, "GOROOT"),
		goVariable(x.T, "GOCACHE"), goVariable(x.T, "GOMODCACHE"), filepath.Dir(built(x.T, false)), "pipe:", "socket:", "anon_inode:",
	}
	system = append(system, x.temporary...)
	for _, path := range r.opened {
		if x.cloud == "" && strings.HasPrefix(path, filepath.Join(x.home, ".aws")) || !slices.ContainsFunc(system, func(s string) bool { return strings.HasPrefix(path, s) }) && !isFolder(path) {
			x.Errorf("it opened %s", path)
		}
	}
	for i, program := range r.executed {
		if i > 0 && !slices.ContainsFunc(starts, func(s string) bool { return strings.HasSuffix(program, s) }) {
			x.Errorf("it started %s", program)
		}
	}
	if names, err := os.ReadDir(x.outside); err != nil || len(names) != 5 {
		x.Error("a program of the stack was run, or wrote outside")
	}
}

// isFolder reports whether a path is a folder: to find its root, or modules, the folders above a file are listed.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

var goEnv = sync.OnceValue(func() map[string]string {
	names := []string{"GOCACHE", "GOMODCACHE", "GOROOT"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		return nil
	}
	values := map[string]string{}
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		values[names[i]] = line
	}
	return values
})

func goVariable(t *testing.T, name string) string {
	t.Helper()
	v := goEnv()[name]
	if v == "" {
		t.Fatalf("go env %s is empty", name)
	}
	return v
}

var sharedGoEnv = sync.OnceValues(func() ([]string, error) { return proctest.GoEnv() })

// goEnvironment is what a command needs that compiles Go.
func goEnvironment(t *testing.T) []string {
	t.Helper()
	env, err := sharedGoEnv()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(env)
}

// canaryServer notes what is sent to it, and answers as a database that asks for a password, or as a service that fails.
type canaryServer struct {
	address string
	open    sync.WaitGroup // the connections that are served
	mu      sync.Mutex
	seen    []string
}

// endOfConnections is what the server is sent after all that a command sent, and leaves out.
const endOfConnections = "no more connections"

func startCanary(t *testing.T) *canaryServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &canaryServer{address: l.Addr().String()}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.open.Add(1)
			wait.Go(func() {
				defer c.open.Done()
				c.serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wait.Wait()
	})
	return c
}

func (c *canaryServer) serve(conn net.Conn) {
	defer conn.Close()
	var got []byte
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		got = append(got, buf[:n]...)
		if err != nil {
			break
		}
		if bytes.Equal(buf[:n], []byte{0, 0, 0, 8, 4, 210, 22, 47}) { // TLS is asked for
			_, _ = conn.Write([]byte{'N'})
			continue
		}
		if bytes.HasPrefix(got, []byte{0, 0}) && n > 8 && buf[4] == 0 && buf[5] == 3 { // the start of PostgreSQL's protocol
			_, _ = conn.Write([]byte{'R', 0, 0, 0, 8, 0, 0, 0, 3}) // the password, in clear
			continue
		}
		if buf[0] == 'p' { // and here it is
			const refusal = "SFATAL\x00C28P01\x00Mnot you\x00\x00"
			_, _ = conn.Write(append([]byte{'E', 0, 0, 0, byte(4 + len(refusal))}, refusal...))
			break
		}
		if bytes.Contains(got, []byte("\r\n\r\n")) {
			_, _ = io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, string(got))
}

// got is what commands sent that have ended. Their connections outlive them: those that are not accepted yet come before
// the one made here, and those that are served end by themselves.
func (c *canaryServer) got() []string {
	if conn, err := net.Dial("tcp", c.address); err == nil {
		_, _ = io.WriteString(conn, endOfConnections)
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn) // until it was served
		_ = conn.Close()
	}
	c.open.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.seen), func(s string) bool { return s == endOfConnections })
}

func (c *canaryServer) count() int { return len(c.got()) }

// TestRedirect: a service that is allowed sends the command on to a host that is not: nothing goes there.
func TestRedirect(t *testing.T) {
	t.Parallel()
	if !isolated(t) {
		return
	}
	for kind, props := range map[string]string{
		"aws.s3.Bucket": "{name: some-bucket}", "aws.route53.HostedZone": "{name: example.com}",
		"aws.lambda.Function": "{name: fn, role: 'arn:aws:iam::123456789012:role/x', handler: index.handler, runtime: nodejs24.x, code: {s3: {bucket: b, key: k}}}",
		"cloudflare.Queue":    "{name: q}",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for _, status := range []int{301, 302, 303, 307, 308} {
				x, asked := hostileWorld(t), false
				x.redirect = func(w http.ResponseWriter, r *http.Request) {
					asked = true
					w.Header().Set("Location", "http://"+x.canary.address+r.URL.Path)
					w.WriteHeader(status)
				}
				url := x.startCloud()
				x.write(map[string]string{"athanor.yaml": "stack: shop\nresources: {r: {kind: " + kind + ", props: " + props + "}}\n"})
				run := x.run(hostile{}, "AWS_ENDPOINT_URL="+url, "CLOUDFLARE_API_BASE_URL="+url, "AWS_REGION=eu-west-1")
				if !asked || run.code != 1 || x.canary.count() > 0 {
					t.Errorf("%d: asked %t, exit code %d, %d calls elsewhere: %q\n%s", status, asked, run.code, x.canary.count(), x.canary.got(), run.out)
				}
			}
		})
	}
}

// hostileLimit is how long a command may take that ends at once.
const hostileLimit = 3 * time.Minute

// TestExamplesReach: the examples, of which one alone asks for something, reach nothing but the clouds of the user's environment. Every sixth
// is planned, and each every night.
func TestExamplesReach(t *testing.T) {
	t.Parallel()
	if !isolated(t) {
		return
	}
	files, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for n, file := range files {
		if filepath.Base(filepath.Dir(file)) == "postgres" || !proctest.Played(n, 6) {
			continue // it asks for a program, which its own test allows
		}
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			x := hostileWorld(t)
			if err := os.CopyFS(x.project, os.DirFS(filepath.Dir(file))); err != nil {
				t.Fatal(err)
			}
			x.write(map[string]string{"go.mod": "module github.com/athanor-dev/athanor/examples/" + filepath.Base(filepath.Dir(file)) + "\n\ngo 1.26\n"})
			x.cloud = x.startCloud()
			run := x.run(hostile{command: []string{"plan", filepath.Base(file)}}, "AWS_ENDPOINT_URL="+x.cloud, "CLOUDFLARE_API_BASE_URL="+x.cloud, "AWS_REGION=eu-west-1")
			if len(run.refusals()) > 0 || strings.Contains(run.out, "outside of the project") {
				t.Errorf("%s", run.out)
			}
			x.untouched(run, []string{"/go", "/compile", "/link", "/asm"})
		})
	}
}

// TestStateGrantsNothing: what a resource that is no longer declared was reached by stands in state, and is refused like what
// the stack itself says.
func TestStateGrantsNothing(t *testing.T) {
	t.Parallel()
	if !isolated(t) {
		return
	}
	x, s := hostileWorld(t), cloudflaretest.Start(t)
	head := "stack: shop\n"
	x.write(map[string]string{"athanor.yaml": head + "providers: {cloudflare: {endpoint: \"" + s.URL + "\", account: \"" + s.Account + "\"}}\n" +
		"resources: {cache: {kind: cloudflare.KVNamespace}}\n"})
	env := []string{"CLOUDFLARE_API_TOKEN=" + s.Token, "ATHANOR_ALLOW=endpoint=" + s.URL + ",identity=" + s.Account}
	if run := x.run(hostile{command: []string{"deploy", "--yes"}}, env...); run.code != 0 {
		t.Fatalf("deploy: %d: %s", run.code, run.out)
	}
	for name, c := range map[string]struct {
		yaml    string
		command []string
	}{
		"plan":    {head + "resources: {}\n", []string{"plan"}},
		"destroy": {"not a stack", []string{"destroy", "--stack", "shop", "--yes"}},
		"drift":   {head + "resources: {}\n", []string{"drift"}},
	} {
		x.write(map[string]string{"athanor.yaml": c.yaml})
		calls := s.Count("*")
		run := x.run(hostile{command: c.command}, env[0])
		if run.code == 0 || !strings.Contains(run.out, "nobody has allowed") || s.Count("*") > calls || len(run.connected) > 0 {
			t.Errorf("%s: exit code %d after %d calls, %v: %s", name, run.code, s.Count("*")-calls, run.connected, run.out)
		}
	}
	if run := x.run(hostile{command: []string{"destroy", "--stack", "shop", "--yes"}}, env...); run.code != 0 {
		t.Errorf("destroy with the permission: %d: %s", run.code, run.out)
	}
}

// TestInputNeverComes: a target that is a pipe into which nobody writes ends with the first signal.
func TestInputNeverComes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, small)
	pipe := filepath.Join(w.dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"plan", pipe}, {"plan", "-"}} {
		cmd := w.command(args...)
		if args[1] == "-" {
			f, err := os.OpenFile(pipe, os.O_RDWR, 0) // a standard input that never ends
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			cmd.Stdin = f
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if args[1] != "-" {
			f, err := os.OpenFile(pipe, os.O_WRONLY, 0) // opens when the command reads
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if state, err := cmd.Process.Wait(); err != nil || state.Success() {
			t.Errorf("%v: %v, %v", args, state, err)
		}
	}
}
