import { type Static, Type } from 'typebox';
import { presets, scopes } from '../kernel/values.ts';
import type { RouteContract } from '../platform/http/contract.ts';
import {
  cursorSchema,
  dateSchema,
  instantSchema,
  limitSchema,
  nameSchema,
  newTenantSchema,
  problem,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';

const scopeSchema = Type.Unsafe<(typeof scopes)[number]>({ type: 'string', enum: [...scopes] });
const presetNames = Object.keys(presets) as (keyof typeof presets)[];
const presetSchema = Type.Unsafe<keyof typeof presets>({ type: 'string', enum: presetNames });
const tenantsSchema = Type.Union([Type.Array(tenantSchema), Type.Null()], {
  description: 'Tenants the token is limited to; null = all.',
});
const expirySchema = Type.Union([instantSchema, Type.Null()], { description: 'null = never.' });

export const actorSchema = Type.Object({
  name: Type.String(),
  scopes: Type.Array(scopeSchema),
  tenants: tenantsSchema,
  expires_at: expirySchema,
  confirmed_until: Type.Union([instantSchema, Type.Null()], {
    description:
      'Until when this console session need not confirm; null = it must, or a token calls, which never need.',
  }),
});

export const tokenSchema = Type.Object({
  id: Type.String(),
  name: Type.String(),
  scopes: Type.Array(scopeSchema),
  tenants: tenantsSchema,
  created_at: instantSchema,
  expires_at: expirySchema,
  last_used_at: Type.Union([instantSchema, Type.Null()], {
    description: 'To the minute; null = never used.',
  }),
  creator: Type.Union([Type.Object({ id: Type.String(), name: Type.String() }), Type.Null()], {
    description:
      'The token that made it, which it is revoked with unless that is unlimited and without expiry; null = made on the machine of the service.',
  }),
});
export type TokenRow = Static<typeof tokenSchema>;

export const newTokenSchema = Type.Object(
  {
    name: nameSchema,
    preset: Type.Optional(presetSchema),
    scopes: Type.Optional(Type.Array(scopeSchema, { minItems: 1, uniqueItems: true })),
    tenants: Type.Optional(
      Type.Array(newTenantSchema, { minItems: 1, maxItems: 1000, uniqueItems: true }),
    ),
    expires_at: Type.Optional(instantSchema),
  },
  {
    additionalProperties: false,
    description:
      'Give either preset or scopes. A caller limited to tenants can only make tokens limited to some of them.',
  },
);

/** What opens a console session: an access token, or the code of a one-time sign-in link. */
export const signInSchema = Type.Object(
  {
    token: Type.Optional(Type.String({ maxLength: 200 })),
    code: Type.Optional(Type.String({ maxLength: 200 })),
  },
  { additionalProperties: false, minProperties: 1, maxProperties: 1 },
);

/** What confirms a console session: its access token, given once more. */
export const confirmationSchema = Type.Object(
  { token: Type.String({ maxLength: 200, description: 'the one that the session stands for' }) },
  { additionalProperties: false },
);

const nullableText = Type.Union([Type.String(), Type.Null()]);

/** One entry of the audit log, as it is answered. */
export const auditEntrySchema = Type.Object({
  id: Type.String(),
  at: instantSchema,
  actor: Type.Object({
    token_id: Type.Union([Type.String(), Type.Null()], {
      description:
        'null = on the machine of the service, or nobody: a sign-in that failed (session.refuse)',
    }),
    name: Type.String({ description: 'of the token, as it was then' }),
  }),
  action: Type.String({ examples: ['token.create'] }),
  target: Type.Union([Type.String(), Type.Null()], {
    description: 'Id of what it was done to.',
  }),
  tenant: Type.Union([Type.String(), Type.Null()], {
    description: 'null = concerns no single tenant',
  }),
  tenants: Type.Union([Type.Array(Type.String()), Type.Null()], {
    description: 'the tenants it concerns, as far as the reader reaches them; null = all',
  }),
  request_id: nullableText,
  address: Type.Union([Type.String(), Type.Null()], { description: 'The caller’s IP address.' }),
  user_agent: nullableText,
  before: Type.Unknown({ description: 'What it was; null = nothing to tell. Never a secret.' }),
  after: Type.Unknown({ description: 'What it has become; null = nothing to tell.' }),
});

export const auditQuerySchema = Type.Object(
  {
    actor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        pattern: '^[!-~]+$',
        description: 'a token’s id',
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
    from: Type.Optional(dateSchema),
    to: Type.Optional(dateSchema),
    limit: Type.Optional(limitSchema),
    cursor: Type.Optional(cursorSchema),
  },
  { additionalProperties: false },
);

export const accessContract = {
  signIn: {
    id: 'signIn',
    method: 'POST',
    path: '/session',
    tag: 'Access',
    summary: 'Open a console session',
    description:
      'For browsers: sets an HttpOnly, SameSite=Strict cookie that stands for the token for a day. Programs send the token itself.',
    scope: null,
    body: signInSchema,
    responses: {
      200: { description: 'Signed in.', schema: actorSchema },
      401: problem,
      429: { ...problem, description: 'Too many sign-ins from this address failed.' },
    },
  },
  signOut: {
    id: 'signOut',
    method: 'DELETE',
    path: '/session',
    tag: 'Access',
    summary: 'End the console session',
    scope: null,
    responses: { 204: { description: 'Signed out, or never signed in.' } },
  },
  confirmSession: {
    id: 'confirmSession',
    method: 'POST',
    path: '/session/confirm',
    tag: 'Access',
    summary: 'Confirm the console session with its access token',
    description:
      'For ten minutes the session may then do what is destructive. Calls with an access token never need it.',
    scope: 'any',
    body: confirmationSchema,
    responses: {
      200: { description: 'Confirmed.', schema: Type.Object({ confirmed_until: instantSchema }) },
      400: problem,
      401: { ...problem, description: 'No session, or not the token that it was opened with.' },
    },
  },
  whoAmI: {
    id: 'whoAmI',
    method: 'GET',
    path: '/me',
    tag: 'Access',
    summary: 'Who the token is',
    scope: 'any',
    responses: { 200: { description: 'The token’s name and reach.', schema: actorSchema } },
  },
  createToken: {
    id: 'createToken',
    method: 'POST',
    path: '/tokens',
    tag: 'Access',
    summary: 'Make an access token',
    description:
      'The answer is the only place where the token itself ever shows. It expires with the token that makes it unless an earlier time is asked for, and is revoked with it; what an unlimited admin without expiry makes stands by itself.',
    scope: 'admin',
    stepUp: true,
    body: newTokenSchema,
    responses: {
      201: {
        description: 'Made.',
        schema: Type.Object({ ...tokenSchema.properties, token: Type.String() }),
      },
      400: problem,
    },
  },
  listTokens: {
    id: 'listTokens',
    method: 'GET',
    path: '/tokens',
    tag: 'Access',
    summary: 'List the tokens that are not revoked, newest first',
    scope: 'admin',
    responses: {
      200: {
        description: 'All of them, on one page.',
        schema: Type.Object({ data: Type.Array(tokenSchema), next_cursor: Type.Null() }),
      },
    },
  },
  revokeToken: {
    id: 'revokeToken',
    method: 'DELETE',
    path: '/tokens/:id',
    tag: 'Access',
    summary: 'Revoke a token',
    description:
      'Effective at once, in every process. With a token that is limited to tenants or expires go those that it made.',
    scope: 'admin',
    stepUp: true,
    params: Type.Object({ id: Type.String() }),
    responses: { 204: { description: 'Revoked.' }, 404: problem },
  },
  listAuditLog: {
    id: 'listAuditLog',
    method: 'GET',
    path: '/audit',
    tag: 'Access',
    summary: 'Read the audit log, newest first',
    description:
      'Every write by an operator, and every export and download. A token limited to tenants sees only what concerns one of those tenants.',
    scope: 'admin',
    query: auditQuerySchema,
    responses: {
      200: {
        description: 'One page.',
        schema: Type.Object({ data: Type.Array(auditEntrySchema), next_cursor: nullableText }),
      },
      400: problem,
    },
  },
} as const satisfies Record<string, RouteContract>;
