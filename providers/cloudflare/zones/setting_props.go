package zones

// SettingProps declare what one setting of a zone is to be. Settings and their values are those of
// https://developers.cloudflare.com/api/resources/zones/subresources/settings/; which of them a zone may change is a
// matter of its plan.
type SettingProps struct {
	// Zone that the setting is of: its name or its id.
	Zone string `prop:"required,immutable" wire:"-"`
	// Setting is its id, such as always_use_https, ssl or min_tls_version.
	Setting string `prop:"required,immutable,enum=0rtt|advanced_ddos|aegis|always_online|always_use_https|automatic_https_rewrites|automatic_platform_optimization|brotli|browser_cache_ttl|browser_check|cache_level|challenge_ttl|china_network_enabled|ciphers|cname_flattening|content_converter|development_mode|early_hints|edge_cache_ttl|email_obfuscation|h2_prioritization|hotlink_protection|http2|http3|image_resizing|ip_geolocation|ipv6|max_upload|min_tls_version|mirage|nel|opportunistic_encryption|opportunistic_onion|orange_to_orange|origin_error_page_pass_thru|origin_h2_max_streams|origin_max_http_version|polish|prefetch_preload|privacy_pass|proxy_read_timeout|pseudo_ipv4|redirects_for_ai_training|replace_insecure_js|response_buffering|rocket_loader|search_for_agents|security_header|security_level|server_side_exclude|sha1_support|sort_query_string_for_cache|ssl|ssl_recommender|tls_1_2_only|tls_1_3|tls_client_auth|transformations|transformations_allowed_origins|true_client_ip_header|waf|webp|websockets" wire:"-"`
	// Value of the setting, of the type that Cloudflare has for it: mostly "on" or "off", else text, a number, a list, or an
	// object. Of an object, the fields that are left out are left alone.
	Value any `prop:"required" wire:"-"`
}

// Setting is what others may refer to of a setting.
type Setting struct {
	// ZoneID is the id of the zone.
	ZoneID ID `attr:"early"`
	// Setting is its id.
	Setting string `attr:"early"`
	// Before is the value that it had when it was declared, as JSON: deletion puts that back. Of an object it is the fields
	// that are declared. Empty when nobody knows, after state was lost: the setting is then left as it is.
	Before string
}
