import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Configuration } from 'openid-client';
import { AppError } from '../kernel/errors.ts';
import { type SignInPurpose, signInPurposes } from '../kernel/values.ts';

/** Where the identity server sends browsers back to, below the public URL. It is registered there to the letter. */
export const callbackPath = '/sign-in/callback';

/** A person, as the identity server vouches for them. */
export type Identity = {
  readonly issuer: string;
  /** What names the person there, for good. */
  readonly subject: string;
  readonly claims: Readonly<Record<string, unknown>>;
  /** The token that says so, which the identity server takes again to sign the person out. */
  readonly idToken: string;
};

export type IdentityServer = {
  /** Returns the URL to send the browser to which keeps `secret`. Throws 503 `identity_unavailable`. */
  begin(secret: string, purpose: SignInPurpose): Promise<string>;
  /**
   * Takes the answer that the browser brought back: the query with which it was sent to us. It must be the answer to what
   * was begun with `secret`. Where the claims of its ID token are not enough, it is asked for more. Throws 401
   * `identity_refused`, and 503 `identity_unavailable`.
   */
  finish(
    secret: string,
    answer: string,
    isEnough: (claims: Identity['claims']) => boolean,
  ): Promise<Identity & { purpose: SignInPurpose }>;
  /** Returns where the person signs out of the identity server, too; null when it has no such place. */
  endUrl(idToken: string): Promise<string | null>;
};

type IdentityOptions = {
  readonly issuer: string;
  readonly clientId: string;
  readonly secret: string | undefined;
  readonly secretFile: string | undefined;
  readonly scopes: string;
  readonly publicUrl: string;
};

type Library = typeof import('openid-client');
type ServerMetadata = ReturnType<Configuration['serverMetadata']>;

const timeoutSeconds = 10;
/** How far the clock of the identity server may be from ours. */
const clockToleranceSeconds = 30;
/** Who is to show that they are still there must have done so this lately. */
const freshSeconds = 300;
const knownMillis = 3_600_000;
/** While it cannot be reached it is not asked again for so long: each caller would wait for the time-out. */
const restMillis = 3_000;

/**
 * Speaks to the identity server of a company: OpenID Connect, by authorization code with PKCE. Its metadata are read when
 * somebody first signs in, and again each hour; its keys at each sign-in, so that one that it has replaced counts no more.
 */
export function openIdentityServer(options: IdentityOptions): IdentityServer {
  const { issuer, clientId, publicUrl, scopes } = options;
  const redirectUri = publicUrl + callbackPath;
  const discover = keep(async () => {
    const library = await import('openid-client');
    const secret = await readSecret(options);
    const found = await asking(() =>
      library.discovery(new URL(issuer), clientId, undefined, undefined, {
        timeout: timeoutSeconds,
        execute: insecureIfHere(library, issuer),
      }),
    );
    return { library, secret, metadata: found.serverMetadata() };
  });
  const configure = async () => {
    const { library, secret, metadata } = await discover();
    return { library, config: configOf(library, { metadata, clientId, secret, issuer }) };
  };
  return {
    async begin(secret, purpose) {
      const { library, config } = await configure();
      const { state, nonce, verifier } = partsOf(secret, purpose);
      return library.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: scopes,
        state,
        nonce,
        code_challenge: await library.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(purpose === 'confirm' && { prompt: 'login', max_age: '0' }),
      }).href;
    },
    async finish(secret, answer, isEnough) {
      const url = new URL(redirectUri);
      url.search = answer;
      const purpose = purposeOf(url.searchParams.get('state'));
      const { state, nonce, verifier } = partsOf(secret, purpose);
      const { library, config } = await configure();
      const tokens = await asking(() =>
        library.authorizationCodeGrant(config, url, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          ...(purpose === 'confirm' && { maxAge: freshSeconds }),
        }),
      );
      const [claims, idToken] = [tokens.claims(), tokens.id_token];
      if (claims === undefined || idToken === undefined) throw refused('it sent no ID token');
      // Servers of many companies have one set of metadata for all: that of another company is not ours.
      if (new URL(claims.iss).href !== new URL(issuer).href) throw refused('it is another issuer');
      // The library checks the other end alone: with a time to come a sign-in would stay fresh for longer.
      const latest = Date.now() / 1000 + clockToleranceSeconds;
      if (Math.max(claims.iat, claims.auth_time ?? 0) > latest) {
        throw refused('it was made in the future, so one of the clocks is wrong');
      }
      const canAsk = config.serverMetadata().userinfo_endpoint !== undefined;
      const more =
        canAsk && !isEnough(claims)
          ? await asking(() => library.fetchUserInfo(config, tokens.access_token, claims.sub))
          : {};
      const { iss, sub: subject } = claims;
      return { issuer: iss, subject, claims: { ...more, ...claims }, idToken, purpose };
    },
    async endUrl(idToken) {
      const { library, config } = await configure();
      if (config.serverMetadata().end_session_endpoint === undefined) return null;
      return library.buildEndSessionUrl(config, {
        id_token_hint: idToken,
        post_logout_redirect_uri: `${publicUrl}/`,
      }).href;
    },
  };
}

/** A way to ask, with the checks of ID tokens that the library leaves to its users: it trusts https alone. */
function configOf(
  library: Library,
  of: { metadata: ServerMetadata; clientId: string; secret: string | undefined; issuer: string },
): Configuration {
  const { metadata, clientId, secret } = of;
  const ways = metadata.token_endpoint_auth_methods_supported;
  // What names no way takes client_secret_basic (OpenID Connect Discovery 1.0, section 3).
  const isPost = ways?.includes('client_secret_post') === true;
  const authentication =
    secret === undefined
      ? library.None()
      : isPost
        ? library.ClientSecretPost(secret)
        : library.ClientSecretBasic(secret);
  const client = { [library.clockTolerance]: clockToleranceSeconds };
  const config = new library.Configuration(metadata, clientId, client, authentication);
  config.timeout = timeoutSeconds;
  library.enableNonRepudiationChecks(config);
  for (const allow of insecureIfHere(library, of.issuer)) allow(config);
  return config;
}

/** An identity server on this machine may speak http. */
function insecureIfHere(library: Library, issuer: string): ((config: Configuration) => void)[] {
  return issuer.startsWith('http:') ? [library.allowInsecureRequests] : [];
}

async function readSecret({ secret, secretFile }: IdentityOptions): Promise<string | undefined> {
  if (secretFile === undefined) return secret;
  try {
    return (await readFile(secretFile, 'utf8')).trim();
  } catch (cause) {
    throw new AppError('identity_unavailable', {
      detail: 'SVC_OIDC_CLIENT_SECRET_FILE cannot be read. Sign in with an access token.',
      cause,
    });
  }
}

/**
 * What belongs to one sign-in. All follows from a secret that only the browser keeps, so an answer that another browser
 * was meant to get, or that was made up, fits no sign-in; and nothing has to be stored for those who never come back.
 */
function partsOf(secret: string, purpose: SignInPurpose) {
  const derive = (what: string) =>
    createHmac('sha256', secret).update(`${what} ${purpose}`).digest('base64url');
  return {
    state: `${derive('state')}.${purpose}`,
    nonce: derive('nonce'),
    verifier: derive('verifier'),
  };
}

/** What an answer says that it was asked for; `partsOf` proves it. */
function purposeOf(state: string | null): SignInPurpose {
  return signInPurposes.find((each) => state?.endsWith(`.${each}`)) ?? 'page';
}

/** Keeps what was made for an hour, and a failure for a few seconds; all who ask meanwhile share it. */
function keep<T>(make: () => Promise<T>): () => Promise<T> {
  let kept: { made: Promise<T>; untilMillis: number } | undefined;
  return () => {
    if (kept === undefined || kept.untilMillis <= performance.now()) {
      const own = { made: make(), untilMillis: performance.now() + knownMillis };
      own.made.catch(() => {
        own.untilMillis = performance.now() + restMillis;
      });
      kept = own;
    }
    return kept.made;
  };
}

/** Asks the identity server, and tells apart that it cannot be reached and that its answer does not hold. */
async function asking<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    if (isAway(cause)) {
      throw new AppError('identity_unavailable', {
        detail: 'The identity server does not answer. Sign in with an access token, or try again.',
        retryAfterSeconds: 3,
        cause,
      });
    }
    throw refused(reasonOf(cause), cause);
  }
}

/** fetch throws a TypeError when there is no connection. */
function isAway(error: unknown): boolean {
  if (error instanceof TypeError) return true;
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  const isFault = cause instanceof Response && cause.status >= 500;
  return isFault || code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT';
}

/** Words of the identity server itself, such as access_denied, or else what is wrong with its answer. */
function reasonOf(error: unknown): string {
  const { error: said, message } = error as { error?: unknown; message?: unknown };
  const text = typeof said === 'string' ? `it says ${said}` : String(message);
  return text.replace(/[^\x20-\x7e]/g, '').slice(0, 200);
}

function refused(reason: string, cause?: unknown): AppError {
  return new AppError('identity_refused', {
    detail: `The answer of the identity server does not hold: ${reason}. Sign in again.`,
    cause,
  });
}
