import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

// This is plain JavaScript, because the simulator uses it, too.

export const testClient = { id: 'svcctl', secret: 'a secret of at least thirty-two letters' };

/** A real identity server on 127.0.0.1: the npm package oidc-provider, whose sign-in page fills itself in. */
export async function startIdentityServer(publicUrl, colleagues = usualColleagues()) {
  let handle;
  const server = createServer((request, response) => {
    if (identity.isDown) request.destroy();
    else handle(request, response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const { Provider } = await quietly(() => import('oidc-provider'));
  const open = async () => {
    const make = async () => new Provider(issuer, configurationOf(publicUrl, colleagues));
    const provider = await quietly(make);
    const answer = provider.callback();
    handle = (request, response) => {
      if (!request.url.startsWith('/enter/')) return answer(request, response);
      const [, who = 'ada'] = /\bwho=(\w+)/.exec(request.headers.cookie) ?? [];
      const entry =
        who in colleagues
          ? { login: { accountId: who, amr: ['pwd'] } }
          : { error: 'access_denied' };
      provider
        .interactionFinished(request, response, entry)
        .catch((error) => response.writeHead(400).end(error.message));
    };
  };
  const identity = {
    issuer,
    colleagues,
    isDown: false,
    rotateKeys: open,
    visit(url, jar, who) {
      // The company ends the sessions of those who have gone; the provider fails for one without its account.
      if (!(who in colleagues)) jar.clear();
      return visit(url, jar.set('who', who), publicUrl);
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  await open();
  return identity;
}

function usualColleagues() {
  return {
    ada: { name: 'Ada King', email: 'ada@acme.example', groups: ['ops'] },
    bob: { name: 'Bob Bee', email: 'bob@acme.example', groups: ['desk-tx', 'chess'] },
  };
}

function configurationOf(publicUrl, colleagues) {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig' };
  const scopes = ['openid', 'profile', 'email', 'groups'];
  return {
    clients: [
      {
        client_id: testClient.id,
        client_secret: testClient.secret,
        redirect_uris: [`${publicUrl}/sign-in/callback`],
        post_logout_redirect_uris: [`${publicUrl}/`],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    jwks: { keys: [{ ...key, alg: 'RS256' }] },
    cookies: { keys: ['of a test'] },
    scopes,
    claims: { profile: ['name'], email: ['email', 'email_verified'], groups: ['groups'] },
    features: { devInteractions: { enabled: false } },
    async renderError(context, { error }) {
      context.body = error;
    },
    ttl: Object.fromEntries(
      ['AccessToken', 'Grant', 'IdToken', 'Interaction', 'Session'].map((kind) => [kind, 3600]),
    ),
    interactions: { url: (_context, { uid }) => `/enter/${uid}` },
    async findAccount(_context, id) {
      const { [id]: own } = colleagues;
      const claims = async () => ({ sub: id, ...own, email_verified: true });
      return own && { accountId: id, claims };
    },
    // Nobody is asked whether svcctl may know who they are: it is the company's own.
    async loadExistingGrant({ oidc }) {
      const { clientId } = oidc.client;
      const grant = new oidc.provider.Grant({ clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope(scopes.join(' '));
      await grant.save();
      return grant;
    },
  };
}

/**
 * It says that what it keeps in memory goes with it, and that it is made for a newer Node; with the oldest that svcctl
 * runs on it passes the same tests.
 */
async function quietly(work) {
  const { warn, info } = console;
  Object.assign(console, { warn() {}, info() {} });
  try {
    return await work();
  } finally {
    Object.assign(console, { warn, info });
  }
}

export async function visit(url, jar, publicUrl, fillIn) {
  let body;
  for (let place = url, hops = 0; hops < 10; hops += 1) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const sent = body === undefined ? {} : { method: 'POST', body };
    const answer = await fetch(place, { ...sent, redirect: 'manual', headers: { cookie } });
    for (const text of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
    const page = await answer.text();
    const form = /<form[^>]* action="([^"]*)"/.exec(page)?.[1]?.replaceAll('&amp;', '&');
    const isForm = answer.status === 200 && form !== undefined && body === undefined;
    body = isForm && fillIn !== undefined ? new URLSearchParams(fillIn()) : undefined;
    const next = body === undefined ? answer.headers.get('location') : form;
    if (next == null) throw new Error(`${answer.status} at ${place}: ${page}`);
    place = new URL(next, place).href;
    if (place.startsWith(`${publicUrl}/`)) return new URL(place).search.slice(1);
  }
  throw new Error('the identity server sends the browser round and round');
}
