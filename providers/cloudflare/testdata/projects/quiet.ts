// The chat without rooms.
export default { fetch: () => new Response("closed") };
