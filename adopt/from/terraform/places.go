package terraform

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// places are the settings that resources have.
type places struct {
	providers map[string]map[string]any
	region    string            // that of most objects
	account   string            // that of most objects of AWS
	aliases   map[string]string // names of settings by where an object is, as away gives it
	regions   map[string]string // of the providers of the state
}

var regionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]$`) })

// regionOf is the region that an object of AWS tells of itself, "" where it tells none.
func regionOf(i *instance) string {
	if r := i.text("region"); regionName().MatchString(r) && i.typ != "aws_s3_bucket_website_configuration" {
		return r
	}
	for _, attr := range []string{"arn", "id"} {
		if parts := strings.SplitN(i.text(attr), ":", 6); len(parts) == 6 && parts[0] == "arn" && regionName().MatchString(parts[3]) {
			return parts[3]
		}
	}
	return ""
}

// places finds the regions of the objects of AWS, and the account at Cloudflare.
func (d *draft) places() *places {
	if d.located != nil {
		return d.located
	}
	p := &places{providers: map[string]map[string]any{}, aliases: map[string]string{}, regions: map[string]string{}}
	counts, byProvider, accounts, owners := map[string]int{}, map[string]map[string]int{}, map[string]int{}, map[string]int{}
	for _, o := range append(slices.Clone(d.objects), d.reads...) {
		if account := o.inst.text("account_id"); strings.HasPrefix(o.kind, "cloudflare.") && len(account) == 32 {
			accounts[account]++
		}
		if account := accountOf(o.inst); account != "" && isAWS(o) {
			owners[account]++
		}
		if r := regionOf(o.inst); r != "" && isAWS(o) {
			counts[r]++
			if byProvider[o.inst.provider] == nil {
				byProvider[o.inst.provider] = map[string]int{}
			}
			byProvider[o.inst.provider][r]++
		}
	}
	p.region, p.account = most(counts), most(owners)
	for provider, c := range byProvider {
		p.regions[provider] = most(c)
	}
	if p.region != "" {
		p.providers["aws"] = map[string]any{"region": p.region}
	}
	if account := most(accounts); account != "" {
		p.providers["cloudflare"] = map[string]any{"account": account}
	}
	for _, o := range append(slices.Clone(d.objects), d.reads...) {
		region, account := p.away(o)
		if region+account == "" || p.aliases[region+account] != "" {
			continue
		}
		name := aliasOf(o.inst.provider)
		if name == "" || p.providers[name] != nil {
			name = strings.Trim("aws-"+region+"-"+account, "-")
		}
		p.aliases[region+account] = name
		settings := map[string]any{"use": "aws"}
		if region != "" {
			settings["region"] = region
		}
		if account != "" { // with credentials of another account nothing is called
			settings["accountId"] = account
		}
		p.providers[name] = settings
	}
	maps.Copy(p.providers, bridgedSettings(d.objects))
	d.located = p
	return p
}

func isAWS(o *object) bool {
	return strings.HasPrefix(o.kind, "aws.") || strings.HasPrefix(o.kind, "AWS::")
}

// regionOf is that of an object, else that of most objects of its provider.
func (p *places) regionOf(o *object) string {
	if !isAWS(o) {
		return ""
	}
	if r := regionOf(o.inst); r != "" {
		return r
	}
	return p.regions[o.inst.provider]
}

// away are the region and the account of an object of AWS, each "" where it is that of most objects.
func (p *places) away(o *object) (region, account string) {
	if !isAWS(o) {
		return "", ""
	}
	if region, account = p.regionOf(o), accountOf(o.inst); region == p.region {
		region = ""
	}
	if account == p.account {
		account = ""
	}
	return region, account
}

// accountOf is the account that an object of AWS tells of itself, "" where it tells none.
func accountOf(i *instance) string {
	for _, attr := range []string{"arn", "id"} {
		if parts := strings.SplitN(i.text(attr), ":", 6); len(parts) == 6 && parts[0] == "arn" && len(parts[4]) == 12 && strings.Trim(parts[4], "0123456789") == "" {
			return parts[4]
		}
	}
	return ""
}

// of is the name of the settings of an object, "" where it has those of its provider.
func (p *places) of(o *object) string {
	if o.settings != "" {
		return o.settings
	}
	region, account := p.away(o)
	return p.aliases[region+account]
}

// aliasOf is the alias in the address of a provider: useast1 of
// provider["registry.terraform.io/hashicorp/aws"].useast1.
func aliasOf(provider string) string {
	at := strings.LastIndexByte(provider, '"')
	rest := provider[at+1:]
	if at < 0 { // provider.aws.useast1, of version 0.12
		rest = provider[strings.LastIndex(provider, "provider.")+len("provider."):]
		if strings.LastIndex(provider, "provider.") < 0 {
			return ""
		}
		_, rest, _ = strings.Cut(rest, ".")
		rest = "." + rest
	}
	rest = strings.TrimPrefix(rest, "]")
	name := strings.TrimPrefix(rest, ".")
	if name == "" || name != segment(name, "") || name == "aws" || name == "cloudflare" || name == "local" || name == "random" {
		return ""
	}
	return name
}

// most is the name that was counted most, the first of several.
func most(counts map[string]int) string {
	best := ""
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if best == "" || counts[name] > counts[best] {
			best = name
		}
	}
	return best
}
