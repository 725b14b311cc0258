package lab

import (
	"net/http"
	"strings"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// abuseFaults let a client take more than its limit on purpose: by ids, tokens and accounts of its own
// making, or as many clients of one tenant.
var abuseFaults = []Fault{
	{Name: "client-id-trusted", key: func(r *http.Request, key string) string {
		for _, name := range []string{"X-Api-Key", "X-Client-Id", "X-Device-Id"} {
			if v := r.Header.Get(name); v != "" {
				return "id " + v
			}
		}
		return key
	}},
	{Name: "key-by-token", options: func(o *Options) { o.Owned = false }},
	{Name: "auth-before-limit", unlimited: func(t *Target, _ *http.Request) bool {
		return t.opts.AllowStatus == http.StatusUnauthorized
	}},
	{Name: "login-by-address-only", key: func(r *http.Request, _ string) string {
		if v := r.Header.Get("X-Forwarded-For"); v != "" {
			return "forwarded for " + v
		}
		return addressKey(r)
	}},
	{Name: "login-by-account-only", cap: func(c Cap) bool { return !c.ByAddress }},
	{Name: "success-unlimited", fits: cleared,
		unlimited: func(_ *Target, r *http.Request) bool { return success(r) }},
	{Name: "success-clears-all", fits: cleared, success: func(t *Target) { _ = t.forget() }},
	{Name: "success-uncleared", success: func(*Target) {},
		fits: func(l spec.Limit) string { return firstOf(cleared(l), quotaTwo(l)) }},
	{Name: "global-cap-ignored", cap: func(c Cap) bool { return c.ByAddress || c.Path != "" }},
	{Name: "route-cap-ignored", cap: func(c Cap) bool { return c.Path == "" }},
	{Name: "user-limit-ignored",
		unlimited: func(t *Target, _ *http.Request) bool { return len(t.opts.Caps) > 0 }},
	{Name: "exempt-for-all", rule: func(u *Rule) bool {
		if len(u.Limit) == 0 && !u.Barred {
			u.Header = nil
		}
		return true
	}},
}

// ownerOf returns the owner of a token OWNER.NUMBER.
func ownerOf(token string) string {
	if i := strings.LastIndexByte(token, '.'); i > 0 {
		return token[:i]
	}
	return token
}
