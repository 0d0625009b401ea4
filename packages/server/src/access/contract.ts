import { type Static, Type } from 'typebox';
import {
  actorKinds,
  maxTokenStores,
  presets,
  scopes,
  signInPurposes,
  storeScopes,
} from '../kernel/values.ts';
import { routesUnder } from '../platform/http/contract.ts';
import {
  dayOrInstantSchema,
  exactly,
  fits,
  instantSchema,
  nameSchema,
  newTenantSchema,
  nullable,
  oneOf,
  onePage,
  paging,
  problem,
  storeNameSchema,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import { auditCheckSchema, auditVerdictSchema } from './audit-chain.contract.ts';

const scopeSchema = oneOf(scopes);
const presetNames = Object.keys(presets) as (keyof typeof presets)[];
const presetSchema = oneOf(presetNames);
const tenantsSchema = nullable(
  Type.Array(tenantSchema),
  'Tenants the token is limited to; null = all.',
);
const storesSchema = nullable(
  Type.Array(Type.String()),
  'Stores in these tenants, as TX/DFW, the only ones that it reaches; null = whole tenants.',
);
const expirySchema = nullable(instantSchema, 'null = never.');

const addressesSchema = nullable(
  Type.Array(Type.String()),
  'Networks from which it may be used, as CIDRs; null = from anywhere.',
);

export const actorSchema = Type.Object({
  id: Type.String({ description: 'of the token, the person or the link into the portal' }),
  kind: oneOf(actorKinds),
  name: Type.String(),
  scopes: Type.Array(scopeSchema),
  tenants: tenantsSchema,
  stores: storesSchema,
  expires_at: expirySchema,
  confirmed_until: nullable(
    instantSchema,
    'Until when this console session need not confirm; null = it must, or a token calls, which never need.',
  ),
});

export const tokenSchema = Type.Object({
  id: Type.String(),
  name: Type.String(),
  scopes: Type.Array(scopeSchema),
  tenants: tenantsSchema,
  stores: storesSchema,
  created_at: instantSchema,
  addresses: addressesSchema,
  expires_at: expirySchema,
  overlap_until: nullable(
    instantSchema,
    'Until when the secret before the last rotation is taken, too; null = it is not.',
  ),
  last_used_at: nullable(instantSchema, 'To the minute; null = never used.'),
  creator: nullable(
    Type.Object({ id: Type.String(), name: Type.String() }),
    'The token that made it, which it is revoked with unless that is an admin without limit and expiry; null = made on the machine of the service, or by a token that the reader cannot list.',
  ),
});
export type TokenRow = Static<typeof tokenSchema>;

/** A token in the list. */
export const listedTokenSchema = Type.Object({
  ...tokenSchema.properties,
  is_suspended: Type.Boolean({ description: 'not taken: its maker lost rights, or is away' }),
});
export type ListedToken = Static<typeof listedTokenSchema>;

export const newTokenSchema = exactly(
  {
    name: nameSchema,
    preset: Type.Optional(presetSchema),
    scopes: Type.Optional(Type.Array(scopeSchema, { minItems: 1, uniqueItems: true })),
    tenants: Type.Optional(
      Type.Array(newTenantSchema, { minItems: 1, maxItems: 1000, uniqueItems: true }),
    ),
    stores: Type.Optional(
      Type.Array(storeNameSchema, {
        minItems: 1,
        maxItems: maxTokenStores,
        uniqueItems: true,
        description: `Instead of tenants: the only stores that it reaches, as TX/DFW. It may only have the scopes ${storeScopes.join(', ')}.`,
      }),
    ),
    addresses: Type.Optional(
      Type.Array(Type.String({ minLength: 2, maxLength: 50 }), {
        minItems: 1,
        maxItems: 100,
        uniqueItems: true,
        description: 'Networks or addresses from which it may be used, as 10.0.0.0/8.',
      }),
    ),
    expires_at: Type.Optional(instantSchema),
  },
  {
    description:
      'Give either preset or scopes. A caller limited to tenants or addresses can only make tokens limited to some of them, or to stores in them.',
  },
);
/** What a token is asked for. */
export type NewToken = Static<typeof newTokenSchema>;

const rotationSchema = exactly({
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 30 * 86_400,
      default: 86_400,
      description: 'For so long the secret before is taken, too; 0 = it ends at once.',
    }),
  ),
});

const answerSchema = Type.Optional(
  Type.String({
    maxLength: 3900,
    description: 'the query with which the identity server sent the browser back',
  }),
);

/** What opens a session: an access token, the code of a sign-in link, or an answer of the identity server. */
const signInSchema = exactly(
  {
    token: Type.Optional(Type.String({ maxLength: 200 })),
    code: Type.Optional(Type.String({ maxLength: 200 })),
    answer: answerSchema,
  },
  { minProperties: 1, maxProperties: 1 },
);

export type SignIn = Static<typeof signInSchema>;

/** What confirms a console session: its access token, given once more, or an answer of the identity server. */
const confirmationSchema = exactly(
  {
    token: Type.Optional(
      Type.String({ maxLength: 200, description: 'the one that the session stands for' }),
    ),
    answer: answerSchema,
  },
  { minProperties: 1, maxProperties: 1 },
);

export type Confirmation = Static<typeof confirmationSchema>;

const nullableText = nullable(Type.String());

export const sessionSchema = Type.Object({
  id: Type.String(),
  actor: Type.Object(
    { kind: oneOf(actorKinds), token_id: Type.String(), name: Type.String() },
    { description: 'The person who signed in, or the access token that it stands for.' },
  ),
  created_at: instantSchema,
  expires_at: instantSchema,
  address: nullable(Type.String(), 'The IP address it was opened from.'),
  user_agent: nullableText,
  is_current: Type.Boolean({ description: 'Whether it is the session of this call.' }),
});

export type Session = Static<typeof sessionSchema>;

/** One entry of the audit log, as it is answered. */
export const auditEntrySchema = Type.Object({
  id: Type.String({ description: 'Opaque.' }),
  at: instantSchema,
  actor: Type.Object({
    kind: oneOf(actorKinds),
    token_id: nullable(
      Type.String(),
      'of the token or the person; null = on the machine of the service, or nobody: a sign-in that failed (session.refuse)',
    ),
    name: Type.String({ description: 'of the token or the person, as it was then' }),
  }),
  action: Type.String({ examples: ['token.create'] }),
  target: nullable(Type.String(), 'Id of what it was done to.'),
  tenant: nullable(Type.String(), 'null = concerns no single tenant'),
  tenants: nullable(
    Type.Array(Type.String()),
    'the tenants it concerns, as far as the reader reaches them; null = all',
  ),
  request_id: nullableText,
  address: nullable(Type.String(), 'The caller’s IP address.'),
  user_agent: nullableText,
  before: Type.Unknown({ description: 'What it was; null = nothing to tell. Never a secret.' }),
  after: Type.Unknown({ description: 'What it has become; null = nothing to tell.' }),
  place: nullable(
    Type.Integer({ minimum: 1 }),
    'In the chain, by the time of the commit; null = somebody wrote it past svcctl, or the reader is limited to tenants.',
  ),
  hash: nullable(
    Type.String({ pattern: '^[0-9a-f]{64}$' }),
    'SHA-256 over the entry and the hash of the one before it; null where the place is null.',
  ),
});

export type AuditEntry = Static<typeof auditEntrySchema>;

export const auditQuerySchema = exactly({
  actor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      pattern: '^[!-~]+$',
      [fits]: 'an id such as tok_4fTq9Zx7Kq2LmN0p',
      description: 'the id of a token or a person',
    }),
  ),
  action: Type.Optional(
    Type.String({
      maxLength: 100,
      pattern: '^[a-z_]+[.]([a-z_]+[.])*([a-z_]+)?$',
      description: 'an action such as token.create, or all that begin alike: token.',
    }),
  ),
  tenant: Type.Optional(tenantSchema),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: '^[^\\u0000-\\u001f\\ud800-\\udfff]*$',
      [fits]: 'text without control characters',
      description:
        'Only entries with this text, in any case, in the name of the actor, the action, the target, the tenant, the address, the request or what it was before or has become, as far as it is shown (but for lists of tenants). A page searches 10,000 entries at most, so it may be short, or empty, while next_cursor is set. Not with `after`.',
    }),
  ),
  from: Type.Optional(dayOrInstantSchema),
  to: Type.Optional(dayOrInstantSchema),
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'Only entries after this place in the chain, in its order: the oldest first. The last place read leads on, and there is no cursor. A token limited to tenants gives 0, and then the cursor, which it always gets.',
    }),
  ),
  ...paging,
});

export const accessContract = routesUnder('Access', {
  listSignIns: {
    route: 'GET /session/ways',
    summary: 'How one can sign in',
    scope: null,
    responses: {
      200: {
        description: 'An access token always opens a session.',
        schema: Type.Object({
          identity: nullable(
            Type.Object({ name: Type.String() }),
            'How the identity server is called; null = none is set.',
          ),
        }),
      },
    },
  },
  beginSignIn: {
    route: 'POST /session/identity',
    summary: 'Begin to sign in at the identity server',
    description:
      'For browsers: sets a cookie that knows the answer again, within ten minutes, and answers where to go. What comes back to /sign-in/callback opens a session (`POST /session`) or, begun to confirm, confirms one (`POST /session/confirm`).',
    scope: null,
    body: exactly({ purpose: oneOf(signInPurposes) }),
    responses: {
      200: {
        description: 'Go there.',
        schema: Type.Object({ url: Type.String({ format: 'uri' }) }),
      },
      401: { ...problem, description: 'What the identity server says does not hold.' },
      403: { ...problem, description: 'Another site’s page sent it.' },
      404: { ...problem, description: 'No identity server is set.' },
      503: { ...problem, description: 'The identity server does not answer.' },
    },
  },
  signIn: {
    route: 'POST /session',
    summary: 'Open a console session',
    description:
      'For browsers: sets an HttpOnly, SameSite=Strict cookie that stands for the token for a day, or for the person whom the identity server vouches for until it has to do so anew. Programs send the token itself.',
    scope: null,
    body: signInSchema,
    responses: {
      200: { description: 'Signed in.', schema: actorSchema },
      401: problem,
      403: { ...problem, description: 'The person is in no group that may sign in.' },
      404: { ...problem, description: 'An answer of an identity server, and none is set.' },
      429: { ...problem, description: 'Too many sign-ins from this address failed.' },
    },
  },
  signOut: {
    route: 'DELETE /session',
    summary: 'End the console session',
    scope: null,
    responses: {
      200: {
        description: 'Signed out here; at the identity server by going there.',
        schema: Type.Object({ url: Type.String({ format: 'uri' }) }),
      },
      204: { description: 'Signed out, or never signed in.' },
      403: { ...problem, description: 'Another site’s page sent it.' },
    },
  },
  confirmSession: {
    route: 'POST /session/confirm',
    summary: 'Confirm the console session with its access token, or by signing in anew',
    description:
      'For ten minutes the session may then do what is destructive. Calls with an access token never need it.',
    scope: 'any',
    stores: 'own',
    body: confirmationSchema,
    responses: {
      200: { description: 'Confirmed.', schema: Type.Object({ confirmed_until: instantSchema }) },
      401: { ...problem, description: 'No session, or not what it was opened with.' },
    },
  },
  whoAmI: {
    route: 'GET /me',
    summary: 'Who the token is',
    scope: 'any',
    stores: 'own',
    responses: { 200: { description: 'The token’s name and reach.', schema: actorSchema } },
  },
  createToken: {
    route: 'POST /tokens',
    summary: 'Make an access token',
    description:
      'The answer is the only place where the token itself ever shows. It expires after SVC_TOKEN_DAYS at the latest, where that is set; what a person makes after SVC_PERSON_TOKEN_DAYS, and that counts only while they may do as much. It expires with the token that makes it unless an earlier time is asked for, and is revoked with it; what an unlimited admin without expiry makes stands by itself.',
    scope: 'tokens:manage',
    stepUp: true,
    body: newTokenSchema,
    responses: {
      201: {
        description: 'Made.',
        schema: Type.Object({ ...tokenSchema.properties, token: Type.String() }),
      },
    },
  },
  listTokens: {
    route: 'GET /tokens',
    summary: 'List the tokens that are not revoked, newest first',
    scope: 'audit:read',
    query: exactly({
      unused_days: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 36_500,
          description: 'Only valid ones that were not used for so many days, nor made since.',
        }),
      ),
    }),
    responses: {
      200: {
        description: 'All of them, on one page.',
        schema: Type.Object({ data: Type.Array(listedTokenSchema), next_cursor: Type.Null() }),
      },
    },
  },
  revokeToken: {
    route: 'DELETE /tokens/:id',
    summary: 'Revoke a token',
    description:
      'Effective at once, in every process. With a token that is limited to tenants, expires or is no admin go those that it made. Nobody revokes a token that may do more than they (403 scope_missing).',
    scope: 'tokens:manage',
    stepUp: true,
    params: Type.Object({ id: Type.String() }),
    responses: { 204: { description: 'Revoked.' } },
  },
  rotateToken: {
    route: 'POST /tokens/:id/rotate',
    summary: 'Give a token another secret',
    description:
      'The answer is the only place where the new secret ever shows. All else of the token stays. The secret before is taken until the overlap ends, but then neither makes or rotates tokens nor opens sessions; one that was rotated out before it ends at once, and so do the console sessions of the token but the one that asks. A token is rotated by itself, by those that made it, and by those that may do as much without any limit, expiry or maker that is a person (403 rotation_refused); where `SVC_FOUR_EYES` is set, only if both have the same first maker.',
    scope: 'tokens:manage',
    stepUp: true,
    params: Type.Object({ id: Type.String() }),
    body: rotationSchema,
    responses: {
      200: {
        description: 'Rotated.',
        schema: Type.Object({ ...tokenSchema.properties, token: Type.String() }),
      },
    },
  },
  listSessions: {
    route: 'GET /sessions',
    summary: 'List the console sessions, newest first',
    description: 'A token limited to tenants sees those of tokens that reach no others.',
    scope: 'audit:read',
    responses: {
      200: {
        description: 'The newest 1,000, on one page.',
        schema: Type.Object({ data: Type.Array(sessionSchema), next_cursor: Type.Null() }),
      },
    },
  },
  endSession: {
    route: 'DELETE /sessions/:id',
    summary: 'End a console session',
    description: 'Whoever is in it has to sign in again. Its token stays valid.',
    scope: 'admin',
    params: Type.Object({ id: Type.String() }),
    responses: { 204: { description: 'Ended.' } },
  },
  endOwnSessions: {
    route: 'DELETE /sessions',
    summary: 'Sign out everywhere',
    description: 'Ends all console sessions of the caller’s token, on every machine.',
    scope: 'any',
    stores: 'own',
    responses: { 204: { description: 'Ended.' } },
  },
  listAuditLog: {
    route: 'GET /audit',
    summary: 'Read the audit log, newest first',
    description:
      'Every write by an operator, and every export and download. A token limited to tenants sees only what concerns one of those tenants.',
    scope: 'audit:read',
    query: auditQuerySchema,
    responses: onePage(auditEntrySchema),
  },
  verifyAuditLog: {
    route: 'POST /audit/verify',
    summary: 'Verify the audit log',
    description:
      'Computes the hash of each entry anew, and names the first entries that were changed, removed or inserted past svcctl, also those that are said to be pruned while no entry `audit.prune` tells it. Against who computes all hashes anew, the chain is sealed every two seconds with a key that the database does not hold; a `head` that was noted elsewhere proves the same. Only for tokens that reach all tenants.',
    scope: 'audit:read',
    body: auditCheckSchema,
    responses: { 200: { description: 'What was found.', schema: auditVerdictSchema } },
  },
});
