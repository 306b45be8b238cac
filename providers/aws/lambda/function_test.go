package lambda

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// plainFunction has what a function needs, and a little more.
func plainFunction() obj {
	return obj{
		"code": obj{"directory": "src"}, "runtime": "python3.14", "handler": "main.handler", "role": role("worker"),
		"env": obj{"STAGE": "test"}, "tags": obj{"team": "shop"},
	}
}

func with(base obj, more obj) obj {
	out := obj{}
	for _, m := range []obj{base, more} {
		for k, v := range m {
			if v == nil {
				delete(out, k)
			} else {
				out[k] = v
			}
		}
	}
	return out
}

// tunedFunction has everything that an archive can have.
func tunedFunction() obj {
	return obj{
		"name": "the-tuned-one", "description": "works", "code": obj{"zip": "one.zip", "sourceKmsKey": "arn:aws:kms:us-east-1:" + account + ":key/source"},
		"role": role("other"), "runtime": "python3.13", "handler": "main.other", "architecture": "arm64", "memory": "512MiB", "timeout": "30s",
		"ephemeralStorage": "1GiB", "env": obj{"STAGE": "prod", "TOKEN": "t"}, "layers": list{layer("tools"), layer("extra")},
		"vpc":        obj{"subnets": list{"subnet-b", "subnet-a"}, "securityGroups": list{"sg-2", "sg-1"}, "ipv6": true},
		"deadLetter": queue("dead"), "tracing": "Active", "kmsKey": "arn:aws:kms:us-east-1:" + account + ":key/env", "snapStart": "PublishedVersions",
		"fileSystems": list{obj{"accessPoint": "arn:aws:elasticfilesystem:us-east-1:" + account + ":access-point/fsap-0123456789abcdef0", "path": "/mnt/data"}},
		"logging":     obj{"format": "JSON", "group": "/shop/worker", "applicationLevel": "DEBUG", "systemLevel": "WARN"}, "reservedConcurrency": int64(0),
		"async": obj{"maxRetries": int64(0), "maxAge": "1m", "onSuccess": queue("done"), "onFailure": queue("failed")},
		"url": obj{"auth": "NONE", "invokeMode": "RESPONSE_STREAM", "cors": obj{
			"allowOrigins": list{"https://b.example", "https://a.example"}, "allowMethods": list{"GET", "POST"}, "allowHeaders": list{"x-b", "x-a"},
			"exposeHeaders": list{"x-c", "x-d"}, "allowCredentials": true, "maxAge": "5m",
		}},
		"tags": obj{"team": "web", "cost center": "42"},
	}
}

func functionSuite() kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	return kindtest.Suite{
		Kind:  functionKind.Erase(),
		World: ws.Make(having((*world).withLayers), (*world).functions),
		Base:  plainFunction(),
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: tunedFunction()},
			{Name: "other folder, closed", Props: with(plainFunction(), obj{
				"code": obj{"directory": "other"}, "url": obj{"auth": "AWS_IAM"}, "reservedConcurrency": int64(5), "logging": obj{"format": "JSON"},
				"async": obj{"maxRetries": int64(1)}, "vpc": obj{"subnets": list{"subnet-a"}, "securityGroups": list{"sg-1"}},
			})},
			{Name: "bundle", Props: obj{"code": obj{"bundle": "src/handler.ts", "minify": true, "external": list{"sharp"}, "sourceMap": true}, "role": role("worker")}},
			{Name: "in S3", Props: with(plainFunction(), obj{"code": obj{"s3": obj{"bucket": "code-" + account, "key": "one.zip", "version": "null"}}})},
			{Name: "image", Props: obj{
				"code": obj{"image": account + ".dkr.ecr.us-east-1.amazonaws.com/worker:1"}, "role": role("worker"),
				"imageConfig": obj{"entryPoint": list{"/bin/worker", "-v"}, "command": list{"run", "all"}, "workingDirectory": "/srv"},
			}},
		},
		Hands:   functionHands(ws),
		Secrets: []tree.Path{"env.STAGE"},
		Others: map[tree.Path][]any{
			"runtime": {"python3.12"}, "code.directory": {"other", "src"}, "code.zip": {"two.zip"}, "code.bundle": {"src/other.ts"},
			"layers": {list{layer("extra")}}, "role": {role("worker"), role("other")}, "memory": {"1GiB", "256MiB"}, "ephemeralStorage": {"2GiB", "768MiB"},
			"fileSystems.*.path": {"/mnt/other"},
		},
		Ordered: map[tree.Path]string{
			"layers":      "later layers are laid over earlier ones",
			"imageConfig": "arguments have an order",
			"code":        "an archive is built of it, and its digest is compared",
		},
		Steady: map[tree.Path]string{
			"name":           "a function keeps its name for life",
			"code.go":        "a program is told apart by its archive, as a folder is; TestGoCode changes it",
			"code.tags":      "what code.go is built with: it is in the archive",
			"code.ldFlags":   "what code.go is built with: it is in the archive",
			"code.external":  "what code.bundle is built with: it is in the archive",
			"code.minify":    "what code.bundle is built with: it is in the archive",
			"code.sourceMap": "what code.bundle is built with: it is in the archive",
			"code.s3":        "Lambda does not show where an archive came from",
		},
		Silent: map[tree.Path]string{
			"imageConfig": "images alone take it; TestOtherFunctions changes it",
			"fileSystems": "they need a network; TestOtherFunctions changes them",
		},
		Unreadable: map[tree.Path]string{
			"code": "Lambda does not show the sources of an archive", "env": "values that nobody declared are masked",
		},
	}
}

func TestFunction(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, functionSuite())
}

// TestOtherFunctions is about props that only some functions can have: each is changed alone, there and back, and cut.
func TestOtherFunctions(t *testing.T) {
	t.Parallel()
	image := func(more obj) obj {
		return with(obj{"code": obj{"image": account + ".dkr.ecr.us-east-1.amazonaws.com/worker:1"}, "role": role("worker")}, more)
	}
	network := func(more obj) obj {
		return with(plainFunction(), with(obj{"vpc": obj{"subnets": list{"subnet-a"}, "securityGroups": list{"sg-1"}}}, more))
	}
	mounted := obj{"fileSystems": list{obj{"accessPoint": "arn:aws:elasticfilesystem:us-east-1:" + account + ":access-point/fsap-0123456789abcdef0", "path": "/mnt/data"}}}
	for name, c := range map[string]struct {
		base     obj
		variants []kindtest.Variant
	}{
		"image": {image(nil), []kindtest.Variant{
			{Name: "configured", Props: image(obj{"imageConfig": obj{"entryPoint": list{"/bin/worker"}, "command": list{"run"}, "workingDirectory": "/srv"}})},
			{Name: "newer", Props: image(obj{"code": obj{"image": account + ".dkr.ecr.us-east-1.amazonaws.com/worker:2"}})},
		}},
		"network": {network(nil), []kindtest.Variant{{Name: "mounted", Props: network(mounted)}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := functionSuite()
			s.Base, s.Variants, s.Silent = c.base, c.variants, nil
			kindtest.RunOnly(t, s, kindtest.PropAlone, kindtest.ThereAndBack, kindtest.Crashes, kindtest.Unset, kindtest.Unknown)
		})
	}
}
