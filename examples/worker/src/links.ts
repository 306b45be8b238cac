// target is an address that a link may lead to, null for anything else.
export function target(text: string): string | null {
  const url = URL.parse(text.trim());
  return url !== null && (url.protocol === "https:" || url.protocol === "http:") ? url.href : null;
}

// name is the same for the same address, so that nobody's link is made twice.
export async function name(address: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(address)));
  return Array.from(digest.slice(0, 5), (b) => b.toString(36).padStart(2, "0")).join("");
}
