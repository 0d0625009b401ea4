import { Type } from 'typebox';
import { presets, scopes } from '../kernel/actor.ts';
import type { RouteContract } from '../platform/http/contract.ts';
import {
  instantSchema,
  nameSchema,
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
});

export const newTokenSchema = Type.Object(
  {
    name: nameSchema,
    preset: Type.Optional(presetSchema),
    scopes: Type.Optional(Type.Array(scopeSchema, { minItems: 1, uniqueItems: true })),
    tenants: Type.Optional(
      Type.Array(tenantSchema, { minItems: 1, maxItems: 1000, uniqueItems: true }),
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
    responses: { 200: { description: 'Signed in.', schema: actorSchema }, 401: problem },
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
    description: 'The answer is the only place where the token itself ever shows.',
    scope: 'admin',
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
    description: 'Effective at once, in every process.',
    scope: 'admin',
    params: Type.Object({ id: Type.String() }),
    responses: { 204: { description: 'Revoked.' }, 404: problem },
  },
} as const satisfies Record<string, RouteContract>;
