import { type Static, Type } from 'typebox';
import { fourEyesActs } from '../kernel/values.ts';
import { routesUnder } from '../platform/http/contract.ts';
import {
  exactly,
  instantSchema,
  nullable,
  oneOf,
  problem,
} from '../platform/http/schemas.contract.ts';
import { approvalStates } from './values.ts';

const whoSchema = Type.Object({ id: Type.String(), name: Type.String() });

const approvalSchema = Type.Object({
  id: Type.String(),
  state: oneOf(
    approvalStates,
    'void: its asker lost the right, or what it was about has changed, so it must be asked for anew',
  ),
  acts: Type.Array(oneOf(fourEyesActs)),
  says: Type.String({ description: 'what it does, as foreseen when it was asked for' }),
  method: Type.String(),
  path: Type.String({ description: 'the call that was asked for' }),
  tenant: nullable(Type.String(), 'null = all tenants'),
  asked_by: whoSchema,
  is_own: Type.Boolean({
    description: 'whether the reader asked for it, and so cannot confirm it',
  }),
  asked_at: instantSchema,
  address: nullable(Type.String(), 'The IP address it was asked for from.'),
  user_agent: nullable(Type.String()),
  expires_at: instantSchema,
  ended_at: nullable(instantSchema),
  ended_by: nullable(whoSchema, 'Who confirmed or rejected it.'),
  outcome: nullable(
    Type.String(),
    'Of what was confirmed: `done`, or the code of its error; null = it runs, or broke off: ask anew for what is left.',
  ),
});
/** What somebody has asked for that somebody else must confirm. */
export type Approval = Static<typeof approvalSchema>;

const shown = {
  200: {
    description: 'The request.',
    schema: Type.Object({
      ...approvalSchema.properties,
      body: Type.Unknown({ description: 'of the call; null = it has none, or the request ended' }),
    }),
  },
};

/** The routes by which what one has asked for is confirmed by another. */
export const approvalsContract = routesUnder('Access', {
  listApprovals: {
    route: 'GET /approvals',
    summary: 'List what waits to be confirmed by somebody else, newest first',
    description:
      'And what was, within 30 days; without the scope admin, what the caller has asked for. What is asked for so is said by `SVC_FOUR_EYES`.',
    scope: 'retention:manage',
    query: exactly({ state: Type.Optional(oneOf(approvalStates)) }),
    responses: {
      200: {
        description: 'The newest 1,000, on one page.',
        schema: Type.Object({ data: Type.Array(approvalSchema), next_cursor: Type.Null() }),
      },
    },
  },
  getApproval: {
    route: 'GET /approvals/:id',
    summary: 'Show what was asked for, with the body of the call',
    scope: 'retention:manage',
    responses: shown,
  },
  confirmApproval: {
    route: 'POST /approvals/:id/confirm',
    summary: 'Confirm what somebody else has asked for, and do it',
    description:
      'Does the call in the name of who asked for it. Not for the same person, nor for tokens of one chain: those whose makers, and the makers of these, begin with the same person or the same token that the machine made (403 `approval_own`). Refused, and void, when the asker may no longer do it, or it would do something else than was foreseen (409 `approval_void`).',
    scope: 'admin',
    stepUp: true,
    responses: {
      200: {
        description: 'Done.',
        schema: Type.Object({
          id: Type.String(),
          answer: Type.Unknown({ description: 'what the call answers; null = nothing' }),
        }),
      },
      403: problem,
      409: problem,
    },
  },
  rejectApproval: {
    route: 'POST /approvals/:id/reject',
    summary: 'Reject what somebody has asked for, or withdraw what one has asked for oneself',
    description: 'Without the scope admin, only the latter.',
    scope: 'retention:manage',
    responses: { ...shown, 409: problem },
  },
});
