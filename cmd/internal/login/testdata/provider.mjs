// An OpenID provider on the loopback, by the package oidc-provider: everybody may sign in, and ann is in the group platform.
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';

const { Provider } = await import(pathToFileURL(join(process.argv[2], 'node_modules/oidc-provider/lib/index.js')));
const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'athanor', application_type: 'native', token_endpoint_auth_method: 'none', redirect_uris: ['http://127.0.0.1/'],
      grant_types: ['authorization_code'], response_types: ['code'],
    }],
    claims: { openid: ['sub'], groups: ['groups'] },
    scopes: ['openid', 'groups'],
    conformIdTokenClaims: false,
    cookies: { keys: ['test'] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, groups: id === 'ann' ? ['platform'] : [] }) }),
  });
  server.on('request', provider.callback());
  console.log(issuer);
});
