import { Buffer } from "node:buffer";
export const answer = async (request, env) => {
  const { pathname } = new URL(request.url);
  if (request.method === "POST") await env.NOTES.put(pathname, await request.text());
  return new Response(Buffer.from((await env.NOTES.get(pathname)) ?? "nothing"));
};
//# sourceMappingURL=worker-entry.js.map
