package workers

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type workerSite = kind.Site[WorkerProps, Worker]

var workerTable = kind.TableOf[WorkerProps](codecs()...)

var workerKind = &kind.Kind[WorkerProps, liveWorker, Worker]{
	Type: workerType,
	Doc: "A Worker of Cloudflare: its code, static assets, environment, classes of Durable Objects, and what calls it: " +
		"crons, workers.dev, domains and routes. It is managed whole: what it has and nobody declares is removed. The " +
		"cache of versions, and secrets that others give to it are not left in place. Its owner tag stands in " +
		"its tags, and a digest of code and assets in the tag of each version.",

	Observe:    observeWorker,
	Create:     createWorker,
	Compare:    compareWorker,
	Attributes: liveWorker.attrs,
	Delete:     deleteWorker,
	Identity:   func(w Worker) string { return string(w.Name) },

	Props:  workerTable,
	Check:  checkWorker,
	Unique: uniqueWorker,
	Named: &kind.Named[WorkerProps, liveWorker]{
		Given: func(want WorkerProps) string { return want.Name },
		Rule: func(want WorkerProps) kind.NameRule {
			return kind.NameRule{Max: longest(want), Marks: "-", Lower: true, Inner: true}
		},
		Live: func(live liveWorker) string { return live.name },
	},
	Owner: kind.Tagged[WorkerProps, liveWorker]{Tag: func(live liveWorker) kind.OwnerTag { return adopt.MarkOf(ownerTags(live.tags)) }},
	HoldsData: &kind.HoldsData[WorkerProps, liveWorker]{
		Now:       func(live liveWorker) bool { return live.objects },
		MayDelete: func(want WorkerProps) bool { return want.ForceDestroy },
	},
	List:    listWorkers,
	Prepare: prepareWorker,
	Files:   []tree.Path{"code.bundle", "code.build", "code.directory", "assets.directory"},
	Logs:    workerLogs,

	API: kind.API{
		Source: source,
		Calls: []string{
			"Workers.GetScriptScriptAndVersionSetting", "Workers.ListScriptDeployments", "Workers.GetScriptVersion", "Workers.ListScriptVersions",
			"Workers.GetScriptContent",
			"Workers.GetScriptSchedule", "Workers.GetScriptSubdomain", "Workers.GetSubdomain", "Workers.ListDomains", "Workers.ListRoutes",
			"DurableObjects.ListNamespaces", "DurableObjects.ListNamespaceObjects", "Workers.ListScripts",
			"Workers.CreateScriptAssetUpload", "Workers.CreateAssetUpload", "Workers.PutScript", "Workers.CreateScriptVersion",
			"Workers.CreateScriptDeployment", "Workers.PatchScriptScriptAndVersionSetting", "Workers.PatchScriptSetting",
			"Workers.DeleteScriptSecret", "Workers.PutScriptSchedule", "Workers.CreateScriptSubdomain", "Workers.PutDomain", "Workers.DeleteDomain",
			"Workers.CreateRoute", "Workers.UpdateRoute", "Workers.DeleteRoute", "Workers.DeleteScript", "Workers.CreateScriptTail", "Workers.DeleteScriptTail",
			"Zones.ListZones", "Zones.GetZone",
		},
		Permissions: kind.Permissions{
			Observe: []string{"Workers Scripts Read", "Workers Routes Read", "Zone Read"},
			List:    []string{"Workers Scripts Read"},
			Create:  []string{"Workers Scripts Write"},
			Update:  []string{"Workers Scripts Write", "Workers Routes Write", "Zone Read"},
			Delete:  []string{"Workers Scripts Write", "Workers Routes Write"},
		},
	},
}

const (
	// mostTags are those that Cloudflare keeps, without the six that owner tags may take.
	mostTags = 10 - 6

	everything = 100 // percent
)

// longest is the length of the longest name: a label of DNS. A generated one leaves room for the nine characters before the
// name in addresses of previews.
func longest(want WorkerProps) int {
	if want.Name == "" {
		return 63 - 9
	}
	return 63
}

var (
	hostName = props.Pattern(`^([a-z0-9_]([a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]+$`)
	dateForm = props.Pattern(`^\d{4}-\d{2}-\d{2}$`)
)

// checkWorker finds what Cloudflare would refuse, or would take without doing it.
func checkWorker(want WorkerProps) error {
	problems := slices.Concat(checkCode(want.Code, want.Assets != nil), checkAssets(want), checkEnv(want), checkClasses(want))
	switch date := want.CompatibilityDate; {
	case date == "" && want.Code != nil && want.Code.Build == "":
		problems.Wrong("compatibilityDate", "is required with code; today's is good for new code")
	case date != "" && !token.Has(date) && !dateForm().MatchString(date):
		problems.Wrong("compatibilityDate", "want a date such as 2026-01-31")
	}
	if p := want.Placement; p != nil {
		set := 0
		for _, way := range []string{p.Mode, p.Region, p.Host, p.Hostname} {
			if way != "" {
				set++
			}
		}
		if set != 1 {
			problems.Wrong("placement", "want one of mode, region, host and hostname")
		}
	}
	for i, cron := range want.Crons {
		if !token.Has(cron) && len(strings.Fields(cron)) != 5 {
			problems.Wrong(tree.Path("crons").Index(i), "want five fields: minute, hour, day of the month, month, day of the week")
		}
	}
	for i, name := range want.Domains {
		if !token.Has(name) && !hostName().MatchString(name) {
			problems.Wrong(tree.Path("domains").Index(i), "want a host name in lower case")
		}
	}
	problems = append(problems, twice("compatibilityFlags", want.CompatibilityFlags)...)
	problems = append(problems, twice("domains", want.Domains)...)
	return append(problems, checkTags(want.Tags)...).OrNil()
}

// twice finds what a list without order names more than once.
func twice(path tree.Path, list []string) props.Errors {
	var problems props.Errors
	for i, one := range list {
		if slices.Contains(list[:i], one) {
			problems.Wrong(path.Index(i), "is named twice")
		}
	}
	return problems
}

func checkTags(tags []string) props.Errors {
	problems := twice("tags", tags)
	if len(tags) > mostTags {
		problems.Wrong("tags", "want at most four")
	}
	for i, tag := range tags {
		switch at := tree.Path("tags").Index(i); {
		case adopt.IsMark(tag):
			problems.Wrong(at, "this is how an owner tag begins")
		case tag == "" || strings.ContainsAny(tag, ",&"):
			problems.Wrong(at, "want text without , and &")
		}
	}
	return problems
}

// tagsOf are an owner tag as tags of a Worker, which have no values of their own.
func tagsOf(owner kind.OwnerTag) []string {
	all := []string{}
	for key, value := range adopt.Tags(owner) {
		all = append(all, key+"="+value)
	}
	slices.Sort(all)
	return all
}

// ownerTags are the tags of a Worker that make up an owner tag.
func ownerTags(tags []string) map[string]string {
	all := map[string]string{}
	for _, tag := range tags {
		if key, value, ok := strings.Cut(tag, "="); ok && adopt.IsMark(key) {
			all[key] = value
		}
	}
	return all
}

// prepareWorker makes the modules and reads the static files.
func prepareWorker(ctx context.Context, work kind.Workspace, want WorkerProps) (map[string]kind.Asset, error) {
	said := map[string]kind.Asset{}
	if c := want.Code; c != nil && c.Build != "" && c.isKnown() {
		var err error
		if said, err = prepareBuild(ctx, work, want); err != nil {
			return nil, err
		}
	}
	want = want.resolved(from(said))
	all, err := prepareCode(ctx, work, want)
	if err != nil {
		return nil, err
	}
	files, err := prepareFiles(ctx, work, want.Assets)
	if err != nil {
		return nil, err
	}
	if all == nil {
		return files, nil
	}
	maps.Copy(all, files)
	maps.Copy(all, said)
	return all, nil
}
