import type { Scope } from '../kernel/values.ts';

/** What a link into the portal allows of the webhooks of its tenant. */
export const portalScopes = ['webhooks:read', 'webhooks:manage'] as const satisfies Scope[];
export type PortalScope = (typeof portalScopes)[number];

export const portalLinkStates = ['new', 'open', 'ended'] as const;

/** The header by which the portal says that its own session is meant. A page of another site cannot send it. */
export const portalHeader = 'svcctl-portal';

export const approvalStates = ['waiting', 'confirmed', 'rejected', 'expired', 'void'] as const;
export type ApprovalState = (typeof approvalStates)[number];
