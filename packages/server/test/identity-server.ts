import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A colleague, as the company's directory knows them. */
export type Colleague = {
  readonly name: string;
  readonly email: string;
  groups: readonly string[];
};

type TestIdentityServer = {
  readonly issuer: string;
  /** Who is asked for a name and a password at the identity server, and gives them. */
  readonly colleagues: Record<string, Colleague>;
  /** Who sits at the browser. */
  who: string;
  /** Signs with another key from now on, and says nothing of the old one any more. */
  rotateKeys(): Promise<void>;
  /**
   * Goes where the service sends the browser, with the cookies of `jar`, until it is sent back to us. Returns the query
   * that it comes back with.
   */
  visit(url: string, jar: Map<string, string>): Promise<string>;
  stop(): Promise<void>;
};

export const testClient = { id: 'svcctl', secret: 'a secret of at least thirty-two letters' };

/** A real identity server on 127.0.0.1: the npm package oidc-provider, whose sign-in page fills itself in. */
export async function startIdentityServer(publicUrl: string): Promise<TestIdentityServer> {
  let handle: RequestListener = () => {};
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const colleagues: Record<string, Colleague> = {
    ada: { name: 'Ada King', email: 'ada@acme.example', groups: ['ops'] },
    bob: { name: 'Bob Bee', email: 'bob@acme.example', groups: ['desk-tx', 'chess'] },
  };
  const { Provider } = await quietly(() => import('oidc-provider'));
  const open = async () => {
    const make = async () => new Provider(issuer, configurationOf(publicUrl, colleagues));
    const provider = await quietly(make);
    const answer = provider.callback();
    handle = (request, response) => {
      if (!request.url?.startsWith('/enter/')) return answer(request, response);
      void provider.interactionFinished(request, response, {
        login: { accountId: identity.who, amr: ['pwd'] },
      });
    };
  };
  const identity: TestIdentityServer = {
    issuer,
    colleagues,
    who: 'ada',
    rotateKeys: open,
    visit: (url, jar) => visit(url, jar, publicUrl),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  await open();
  return identity;
}

function configurationOf(publicUrl: string, colleagues: Record<string, Colleague>) {
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
    ttl: Object.fromEntries(
      ['AccessToken', 'Grant', 'IdToken', 'Interaction', 'Session'].map((kind) => [kind, 3600]),
    ),
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/enter/${uid}` },
    async findAccount(_context: unknown, id: string) {
      const own = colleagues[id];
      const claims = async () => ({ sub: id, ...own, email_verified: true });
      return own && { accountId: id, claims };
    },
    // Nobody is asked whether svcctl may know who they are: it is the company's own.
    async loadExistingGrant({ oidc }: { oidc: GrantContext }) {
      const { clientId } = oidc.client;
      const grant = new oidc.provider.Grant({ clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope(scopes.join(' '));
      await grant.save();
      return grant;
    },
  };
}

type Grant = { addOIDCScope(scope: string): void; save(): Promise<unknown> };
type GrantContext = {
  client: { clientId: string };
  session: { accountId: string };
  provider: { Grant: new (of: { clientId: string; accountId: string }) => Grant };
};

/**
 * It says that what it keeps in memory goes with it, and that it is made for a newer Node; with the oldest that svcctl
 * runs on it passes the same tests.
 */
async function quietly<T>(work: () => Promise<T>): Promise<T> {
  const { warn, info } = console;
  Object.assign(console, { warn() {}, info() {} });
  try {
    return await work();
  } finally {
    Object.assign(console, { warn, info });
  }
}

/**
 * What a browser does: it follows redirects, and keeps cookies by their names. A form that is shown is sent with what
 * `fillIn` says.
 */
export async function visit(
  url: string,
  jar: Map<string, string>,
  publicUrl: string,
  fillIn?: () => Record<string, string>,
): Promise<string> {
  let body: URLSearchParams | undefined;
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
