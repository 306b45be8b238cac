// The API of a single-page application, whose files are served beside it.
export default {
  fetch: (request: Request) => Response.json({ path: new URL(request.url).pathname }),
};
