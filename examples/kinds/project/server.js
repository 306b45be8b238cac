export default { fetch: async (_, env) => new Response(await env.GUESTS.get("last")) };
