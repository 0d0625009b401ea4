import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { testClient } from './identity-server.mjs';

/** What the next ID token says, beside what an honest one would. */
export type Forgery = {
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Takes claims away. */
  readonly without?: readonly string[];
  /** Signs with a key that the server says nothing of: as it is, under the name of its own, or told by the token itself. */
  readonly foreignKey?: 'as it is' | 'as its own' | 'in the token';
  /** Signs with HMAC, and as its key takes what others know or may guess. */
  readonly hmac?: 'the client secret' | 'the public key';
  /** Signs nothing, and says so. */
  readonly unsigned?: boolean;
  /** Changes the claims after they were signed. */
  readonly tamper?: boolean;
};

type Forger = {
  readonly issuer: string;
  /** How often a code was exchanged for a token, or tried to be. */
  readonly exchanges: () => number;
  /** Answers of the server's metadata beside the honest ones. */
  metadata: Readonly<Record<string, unknown>>;
  /** Answers all calls with this status, unless it is null. */
  status: number | null;
  /** Where it sends on whoever asks for tokens, unless it is null. */
  elsewhere: string | null;
  /** Answers as the server does when the person has signed in: the query that the browser brings back. */
  answer(url: string, forgery?: Forgery): string;
  stop(): Promise<void>;
};

type Waiting = { readonly asked: URLSearchParams; readonly forgery: Forgery };

/**
 * An identity server that forges: it speaks OpenID Connect as far as a client sees, checks PKCE and takes each code once,
 * and answers with ID tokens as wrong as it is told to make them.
 */
export async function startForger(): Promise<Forger> {
  const [own, foreign] = [await generateKeyPair('RS256'), await generateKeyPair('RS256')];
  const jwk = { ...(await exportJWK(own.publicKey)), kid: 'own', alg: 'RS256', use: 'sig' };
  const codes = new Map<string, Waiting>();
  let exchanges = 0;
  const server = createServer((request, response) => {
    const say = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const read = async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      return new URLSearchParams(Buffer.concat(chunks).toString());
    };
    const exchange = async () => {
      exchanges += 1;
      const form = await read();
      const waiting = codes.get(form.get('code') ?? '');
      codes.delete(form.get('code') ?? '');
      const verifier = createHash('sha256').update(form.get('code_verifier') ?? '');
      const isOwn = waiting?.asked.get('code_challenge') === verifier.digest('base64url');
      if (waiting === undefined || !isOwn) return say(400, { error: 'invalid_grant' });
      return say(200, {
        access_token: 'opaque',
        token_type: 'Bearer',
        expires_in: 60,
        id_token: await sign(waiting),
      });
    };
    if (forger.status !== null) return void say(forger.status, {});
    if (request.url === '/.well-known/openid-configuration') {
      return void say(200, { ...metadataOf(issuer), ...forger.metadata });
    }
    if (request.url === '/jwks') return void say(200, { keys: [jwk] });
    if (forger.elsewhere !== null) {
      return void response.writeHead(307, { location: forger.elsewhere }).end();
    }
    return void exchange().catch((error: Error) => say(500, { error: error.message }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sign = async ({ asked, forgery }: Waiting): Promise<string> => {
    const now = Math.floor(Date.now() / 1000);
    const honest: Record<string, unknown> = {
      iss: issuer,
      sub: 'ada',
      aud: testClient.id,
      iat: now,
      exp: now + 60,
      auth_time: now,
      nonce: asked.get('nonce'),
      name: 'Ada King',
      email: 'ada@acme.example',
      email_verified: true,
      groups: ['ops'],
    };
    const claims = { ...honest, ...forgery.claims };
    for (const name of forgery.without ?? []) delete claims[name];
    if (forgery.unsigned) return `${encode({ alg: 'none' })}.${encode(claims)}.`;
    const { foreignKey, hmac } = forgery;
    if (hmac !== undefined) {
      const key = hmac === 'the public key' ? await exportSPKI(own.publicKey) : testClient.secret;
      return new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', kid: 'own' })
        .sign(Buffer.from(key));
    }
    const told = foreignKey === 'in the token' ? { jwk: await exportJWK(foreign.publicKey) } : {};
    const kid = foreignKey === 'as it is' ? 'foreign' : 'own';
    const signed = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid, ...told })
      .sign((foreignKey === undefined ? own : foreign).privateKey);
    if (!forgery.tamper) return signed;
    const [head, , signature] = signed.split('.');
    return `${head}.${encode({ ...claims, groups: ['ops', 'root'] })}.${signature}`;
  };
  const forger: Forger = {
    issuer,
    exchanges: () => exchanges,
    metadata: {},
    status: null,
    elsewhere: null,
    answer(url, forgery = {}) {
      const asked = new URL(url).searchParams;
      const code = randomUUID();
      codes.set(code, { asked, forgery });
      return String(new URLSearchParams({ code, state: asked.get('state') ?? '', iss: issuer }));
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return forger;
}

function metadataOf(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    authorization_response_iss_parameter_supported: true,
    id_token_signing_alg_values_supported: ['RS256'],
    code_challenge_methods_supported: ['S256'],
  };
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
