# In the place of `npm run build` with @cloudflare/vite-plugin: writes what that writes.
mkdir -p dist/site dist/client .wrangler/deploy
echo '{"configPath":"../../dist/site/wrangler.json"}' >.wrangler/deploy/config.json
echo '{"main":"index.js","compatibility_date":"2026-01-31","assets":{"directory":"../client"}}' >dist/site/wrangler.json
cp robots.txt dist/client
cp server.js dist/site/index.js
