package service

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// Webhook is an address that is told of what the audit log gets.
type Webhook struct {
	URL string `json:"url"`
	// Secret signs each delivery.
	Secret string `json:"-"`
	// On is STACK/STAGE, in both of which * is any text; empty for all. Actions are those of the audit log, all when empty.
	On      string   `json:"on,omitempty"`
	Actions []string `json:"actions,omitempty"`
	// Format is json, the default, or slack.
	Format string `json:"format,omitempty"`
	// Private permits an address of a private network or of this machine.
	Private bool `json:"private,omitzero"`
}

// Check refuses a webhook that cannot be what was meant.
func (h *Webhook) Check() error {
	at, err := url.Parse(h.URL)
	if err != nil || at.Host == "" || at.User != nil || at.Scheme != "https" && (at.Scheme != "http" || !h.Private) {
		return fmt.Errorf("webhook %q: it is an https URL without a name and password", redactedHost(h.URL))
	}
	if h.Secret == "" {
		return fmt.Errorf("webhook %s: it has no secret", at.Host)
	}
	if h.Format != "" && h.Format != "json" && h.Format != "slack" {
		return fmt.Errorf("webhook %s: format %q is neither json nor slack", at.Host, h.Format)
	}
	for _, action := range h.Actions {
		if known := auditActions(); !slices.Contains(known, action) {
			return fmt.Errorf("webhook %s: the audit log has no action %q: there are %s", at.Host, action, strings.Join(known, ", "))
		}
	}
	if h.On == "" {
		return nil
	}
	if _, err := givenGrants([]wire.Grant{{Role: reader.String(), On: h.On}}); err != nil {
		return fmt.Errorf("webhook %s: %w", at.Host, err)
	}
	return nil
}

// redactedHost is the host of an address: a path may be a secret.
func redactedHost(address string) string {
	if at, err := url.Parse(address); err == nil {
		return at.Host
	}
	return ""
}

// wants reports whether a hook is told of an entry.
func (h *Webhook) wants(e *wire.AuditEntry) bool {
	if len(h.Actions) > 0 && !slices.Contains(h.Actions, e.Action) {
		return false
	}
	if h.On == "" {
		return true
	}
	stack, stage, _ := strings.Cut(h.On, "/")
	return matches(stack, string(e.Stack)) && matches(stage, string(e.Stage))
}

// How deliveries are tried.
const (
	hooksFolder   = "service.webhooks"
	claimFor      = time.Minute
	firstPause    = time.Second
	longestPause  = time.Hour
	giveUpAfter   = 24 * time.Hour
	mostDelivered = 100 // at once
	exchangeTime  = 10 * time.Second
)

// progress is how far a hook was told, in each chain of the audit log.
type progress struct {
	Told    map[string]uint64 `json:"told"`
	Owner   string            `json:"owner,omitempty"` // who tells it now
	Until   time.Time         `json:"until,omitzero"`
	Failed  time.Time         `json:"failed,omitzero"` // since when the next entry fails
	Next    time.Time         `json:"next,omitzero"`
	Retries int               `json:"retries,omitzero"`
}

// Deliver tells the webhooks what they were not told yet. Any replica may do so at any time: who tells a hook is decided in one
// transaction. The audit log is what there is to tell, so that nothing is lost; an entry may be told twice, with the same id,
// when a replica ends between telling and noting that.
func (s *Service) Deliver(ctx context.Context) error {
	var failed error
	for i := range s.settings.Webhooks {
		failed = errors.Join(failed, s.deliverTo(ctx, &s.settings.Webhooks[i]))
	}
	return failed
}

// hookKey names a hook: another secret or address is another one.
func hookKey(h *Webhook) string {
	data, _ := json.Marshal([]any{h.URL, h.On, h.Actions, h.Format}) // texts alone
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

func (s *Service) deliverTo(ctx context.Context, h *Webhook) error {
	chains, err := s.chains(ctx)
	if err != nil {
		return err
	}
	owner, key := rand.Text(), hookKey(h)
	now := s.settings.Clock()
	var at progress
	mine := false
	err = s.store.ChangeFolder(ctx, hooksFolder, func(f statestore.Folder) (bool, error) {
		at, mine = progress{}, false
		data, err := f.Get(key)
		if err != nil {
			return false, err
		}
		if data == nil { // it is new: what happened before is not told
			at.Told = chains
		} else if err := json.Unmarshal(data, &at); err != nil {
			return false, err
		}
		if data != nil && (now.Before(at.Until) || now.Before(at.Next) || !behind(at.Told, chains)) {
			return false, nil
		}
		mine = true
		at.Owner, at.Until = owner, now.Add(claimFor)
		return true, putProgress(f, key, &at)
	})
	if err != nil || !mine {
		return err
	}
	telling, stop := context.WithTimeout(ctx, claimFor-exchangeTime)
	defer stop()
	failure := s.tell(telling, h, &at, chains)
	err = s.store.ChangeFolder(ctx, hooksFolder, func(f statestore.Folder) (bool, error) {
		var stored progress
		data, err := f.Get(key)
		if err == nil && data != nil {
			err = json.Unmarshal(data, &stored)
		}
		if err != nil || stored.Owner != owner {
			return false, err
		}
		at.Owner, at.Until = "", time.Time{}
		return true, putProgress(f, key, &at)
	})
	if failure != nil {
		failure = fmt.Errorf("webhook %s: %w", redactedHost(h.URL), failure)
	}
	return errors.Join(err, failure)
}

func putProgress(f statestore.Folder, key string, at *progress) error {
	data, err := json.Marshal(at)
	if err != nil {
		return err
	}
	return f.Put(key, data)
}

// behind reports whether there are entries that were not told.
func behind(told, chains map[string]uint64) bool {
	for chain, last := range chains {
		if told[chain] < last {
			return true
		}
	}
	return false
}

// chains are the chains of the audit log by stack, with the number of the newest entry.
func (s *Service) chains(ctx context.Context) (map[string]uint64, error) {
	stages, err := s.store.Stages(ctx)
	if err != nil {
		return nil, err
	}
	stacks := map[string]bool{"": true}
	for _, stage := range stages {
		stacks[stage.Stack] = true
	}
	chains := map[string]uint64{}
	for stack := range stacks {
		page, err := s.auditPage(ctx, stack, 0, 0)
		if err != nil {
			return nil, err
		}
		if page.Last > 0 {
			chains[stack] = page.Last
		}
	}
	return chains, nil
}

// tell sends what a hook was not told, chain by chain in order, and notes in at how far it came. It stops at the first entry that is
// not taken; one that is not taken for a day is left out.
func (s *Service) tell(ctx context.Context, h *Webhook, at *progress, chains map[string]uint64) error {
	if at.Told == nil {
		at.Told = map[string]uint64{}
	}
	for chain := range chains {
		page, err := s.auditPage(ctx, chain, at.Told[chain], mostDelivered)
		if err != nil {
			return err
		}
		for i := range page.Entries {
			entry := &page.Entries[i]
			if h.wants(entry) {
				if err := s.send(ctx, h, entry); err != nil {
					now := s.settings.Clock()
					if at.Failed.IsZero() {
						at.Failed = now
					}
					if now.Sub(at.Failed) < giveUpAfter {
						at.Next = now.Add(min(firstPause<<min(at.Retries, 20), longestPause))
						at.Retries++
						return err
					}
					s.settings.Log(http.MethodPost, redactedHost(h.URL), fmt.Errorf("entry %d of %q was not taken for a day: %w", entry.Seq, chain, err))
				}
				at.Failed, at.Next, at.Retries = time.Time{}, time.Time{}, 0
			}
			at.Told[chain] = max(entry.Seq, at.Told[chain]+1) // one that is damaged has no number
		}
	}
	return nil
}

// send sends one entry, signed with the time, so that a copy that is sent later can be told from it.
func (s *Service) send(ctx context.Context, h *Webhook, entry *wire.AuditEntry) error {
	body, err := hookBody(h, entry)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("it cannot be asked") // the error would name the path
	}
	stamp := fmt.Sprint(s.settings.Clock().Unix())
	mac := hmac.New(sha256.New, []byte(h.Secret))
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "athanor")
	req.Header.Set("Athanor-Delivery", wire.Segment(string(entry.Stack))+":"+fmt.Sprint(entry.Seq))
	req.Header.Set("Athanor-Signature", "t="+stamp+",v1="+hex.EncodeToString(mac.Sum(nil)))
	res, err := hookClient(h.Private).Do(req)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // without the address, which may be a secret
		}
		return err
	}
	_ = res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return errors.New("it answers " + res.Status)
	}
	return nil
}

// hookBody is an entry in the form of a hook.
func hookBody(h *Webhook, e *wire.AuditEntry) ([]byte, error) {
	if h.Format != "slack" {
		return json.Marshal(e)
	}
	place := strings.Trim(string(e.Stack)+"/"+string(e.Stage), "/")
	text := strings.Join(slices.DeleteFunc([]string{e.Action, place, string(e.Run), string(e.Detail)}, func(s string) bool { return s == "" }), " · ")
	return json.Marshal(map[string]string{"text": strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text + " — " + e.Account)})
}

// hookClient follows no redirect, and connects to no address of a private network unless that is permitted. The address is
// checked when it is connected to, so that no name leads elsewhere than it did when it was checked.
func hookClient(private bool) *http.Client {
	dialer := &net.Dialer{Timeout: exchangeTime, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		ip := at.Addr().Unmap()
		if ip.IsLinkLocalUnicast() || !private && (!ip.IsGlobalUnicast() || ip.IsPrivate() || sharedNetwork(ip)) {
			return errors.New("its address is of a private network")
		}
		return nil
	}}
	return &http.Client{
		Timeout:       exchangeTime,
		Transport:     &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, TLSHandshakeTimeout: exchangeTime},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// sharedNetwork reports whether an address is of the network that providers share between customers (RFC 6598).
func sharedNetwork(ip netip.Addr) bool { return netip.MustParsePrefix("100.64.0.0/10").Contains(ip) }
