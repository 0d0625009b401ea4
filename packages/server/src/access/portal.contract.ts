import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  exactly,
  instantSchema,
  nameSchema,
  newTenantSchema,
  nullable,
  oneOf,
  optional,
  problem,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import { actorSchema } from './contract.ts';
import { portalLinkStates, portalScopes } from './values.ts';

const portalLinkSchema = Type.Object({
  id: Type.String(),
  tenant: Type.String(),
  scope: oneOf(portalScopes),
  subject: nullable(Type.String({ description: 'for whom it was made, as its maker says' })),
  state: oneOf(
    portalLinkStates,
    'new: nobody has opened it; open: somebody has, and is in the portal; ended: it was revoked or left, it expired, or the token that made it counts no more',
  ),
  creator: Type.Object({ id: Type.String(), name: Type.String() }),
  created_at: instantSchema,
  expires_at: instantSchema,
  opened_at: nullable(instantSchema),
  address: nullable(Type.String(), 'the IP address it was opened from'),
  user_agent: nullable(Type.String()),
});
/** A link into the portal, without its code. */
export type PortalLink = Static<typeof portalLinkSchema>;

const newPortalLinkSchema = exactly({
  tenant: newTenantSchema,
  scope: Type.Optional({ ...oneOf(portalScopes), default: 'webhooks:manage' }),
  subject: Type.Optional({
    ...nameSchema,
    description: 'for whom it is, such as an id of your own: the audit log names it',
  }),
  seconds: optional.integer({
    minimum: 60,
    maximum: 86_400,
    default: 3600,
    description: 'after which the link and what was opened by it end, at the latest with the token',
  }),
});
export type NewPortalLink = Static<typeof newPortalLinkSchema>;

/** The routes by which people of a tenant are let into the portal, where they see its webhooks. */
export const portalContract = routesUnder('Portal', {
  createPortalLink: {
    scope: 'webhooks:manage',
    route: 'POST /webhook/portal-links',
    summary: 'Make a link by which somebody of a tenant sees its webhooks',
    description:
      'The link opens once, and then is a session of its own in that browser, until it expires or is revoked. Frame it, or send people there: docs/portal.md. A session of the portal makes no links.',
    stepUp: true,
    body: newPortalLinkSchema,
    responses: {
      201: {
        description: 'Made. Its url is shown this once.',
        schema: Type.Object({ ...portalLinkSchema.properties, url: Type.String() }),
      },
    },
  },
  listPortalLinks: {
    scope: 'webhooks:manage',
    route: 'GET /webhook/portal-links',
    summary: 'List the links into the portal, newest first',
    description: 'A link is forgotten a week after it has expired.',
    query: exactly({ tenant: Type.Optional(tenantSchema) }),
    responses: {
      200: {
        description: 'The newest 1,000, on one page.',
        schema: Type.Object({ data: Type.Array(portalLinkSchema), next_cursor: Type.Null() }),
      },
    },
  },
  revokePortalLink: {
    scope: 'webhooks:manage',
    route: 'DELETE /webhook/portal-links/:id',
    summary: 'End a link into the portal, and what was opened by it',
    responses: { 204: { description: 'Ended, or was before.' } },
  },
  openPortal: {
    scope: null,
    route: 'POST /portal/session',
    summary: 'Open the portal by the code of a link',
    description:
      'For the page /portal: sets a cookie that counts only beside the header `svcctl-portal`, and until the link ends.',
    body: exactly({ code: Type.String({ maxLength: 200 }) }),
    responses: {
      200: { description: 'Opened.', schema: actorSchema },
      403: { ...problem, description: 'Another site’s page sent it.' },
      401: { ...problem, description: 'No link has this code, or it was opened before, or ended.' },
      429: { ...problem, description: 'Too many tries from this address failed.' },
    },
  },
  closePortal: {
    scope: null,
    route: 'DELETE /portal/session',
    summary: 'Leave the portal',
    responses: {
      204: { description: 'Left, or never there.' },
      403: { ...problem, description: 'Another site’s page sent it.' },
    },
  },
});
