import { type Static, Type } from 'typebox';
import { routesUnder } from '../../platform/http/contract.ts';
import {
  exactly,
  fits,
  instantSchema,
  newTenantSchema,
  nullable,
  oneOf,
  onePage,
  optional,
  paging,
} from '../../platform/http/schemas.contract.ts';
import { noticeKinds, sendStates, severities, targetKinds } from '../values.ts';

const kindsSchema = Type.Array(oneOf(noticeKinds), {
  minItems: 1,
  uniqueItems: true,
  description: 'what is told; null = all',
});
const severitySchema = oneOf(severities, 'the least that is told');

export const targetSchema = Type.Object({
  id: Type.String(),
  kind: oneOf(targetKinds),
  url: nullable(Type.String({ description: 'of a webhook; in the list without its query' })),
  to: nullable(Type.String({ description: 'of an e-mail' })),
  tenant: nullable(
    Type.String(),
    'whose people are told, and of its endpoints alone; null: operators',
  ),
  kinds: nullable(kindsSchema),
  min_severity: severitySchema,
  enabled: Type.Boolean(),
  created_by: Type.String({ description: 'the name of the token' }),
  created_at: instantSchema,
  last_send: nullable(
    Type.Object(
      {
        at: { ...instantSchema, description: 'when it ended, or was queued' },
        state: oneOf(sendStates, 'queued: it is sent, or sent again'),
        attempts: Type.Integer(),
        error: nullable(Type.String({ description: 'of the last attempt' })),
        is_test: Type.Boolean(),
      },
      { description: 'the last message; null when there was none' },
    ),
  ),
});
/** Somebody who is told. */
export type NotifyTarget = Static<typeof targetSchema>;

/** The body of `POST /notify/targets`. */
export const newTargetSchema = exactly({
  kind: oneOf(targetKinds),
  url: optional.string({
    minLength: 1,
    maxLength: 2000,
    description: 'of a webhook: where it is sent',
  }),
  to: optional.string({
    minLength: 3,
    maxLength: 254,
    pattern: '^[^\\s@<>(),:;"\\u0000-\\u001f]+@[^\\s@<>(),:;"\\u0000-\\u001f]+$',
    description: 'of an e-mail: one address',
    [fits]: 'one address such as ops@example.com',
  }),
  tenant: Type.Optional({
    ...newTenantSchema,
    description:
      'tells its people of its endpoints, in words that name nothing of the service: only the kinds endpoints_…',
  }),
  kinds: Type.Optional(nullable(kindsSchema)),
  min_severity: Type.Optional(
    oneOf(severities, 'the least that is told; default: warning, or info when kinds are named'),
  ),
});

/** The body of `PATCH /notify/targets/:id`. Only what is named changes. */
export const targetChangeSchema = exactly(
  {
    kinds: Type.Optional(nullable(kindsSchema)),
    min_severity: Type.Optional(severitySchema),
    enabled: optional.boolean(),
  },
  { minProperties: 1 },
);

export const testResultSchema = Type.Object({
  delivered: Type.Boolean(),
  error: nullable(Type.String({ description: 'one sentence; null when it was delivered' })),
  status: nullable(Type.Integer({ description: 'of HTTP or SMTP; null when none came' })),
  duration_ms: Type.Integer(),
});

/** Something that people were told of. */
export const noticeSchema = Type.Object({
  id: Type.String(),
  kind: oneOf(noticeKinds),
  severity: oneOf(severities),
  subject: Type.String({ description: 'the id of what it is about; empty when there is only one' }),
  tenant: nullable(Type.String()),
  title: Type.String({ description: 'what happened' }),
  advice: Type.String({ description: 'what to do' }),
  place: Type.String({ description: 'where the console shows it' }),
  since: { ...instantSchema, description: 'when it began, as far as is known' },
  told_at: { ...instantSchema, description: 'when it was told last' },
  ended_at: nullable({ ...instantSchema, description: 'null while it goes on' }),
  created_at: instantSchema,
});
export type Notice = Static<typeof noticeSchema>;

const shown = { description: 'As it is now.', schema: targetSchema };
const forAll = 'Only for tokens that reach all tenants (403).';

export const noticesContract = routesUnder('Notices', {
  createNotifyTarget: {
    route: 'POST /notify/targets',
    summary: 'Have somebody told',
    description: `What is told, and in which form, is in docs/operations/monitoring.md. The URL follows the rules of endpoints; what is sent to it is signed by Standard Webhooks with the secret, which shows only in this answer. E-mail needs SVC_SMTP_URL and SVC_SMTP_FROM, and has no secret. ${forAll}`,
    scope: 'admin',
    stepUp: true,
    body: newTargetSchema,
    responses: {
      201: {
        description: 'Added.',
        schema: Type.Object({
          ...targetSchema.properties,
          secret: nullable(
            Type.String({ description: 'whsec_…, shown this once; null for e-mail' }),
          ),
        }),
      },
    },
  },
  listNotifyTargets: {
    route: 'GET /notify/targets',
    summary: 'List who is told, and whether it arrives',
    description: forAll,
    scope: 'admin',
    responses: {
      200: { description: 'All.', schema: Type.Object({ data: Type.Array(targetSchema) }) },
    },
  },
  changeNotifyTarget: {
    route: 'PATCH /notify/targets/:id',
    summary: 'Change what somebody is told',
    description: forAll,
    scope: 'admin',
    body: targetChangeSchema,
    responses: { 200: shown },
  },
  deleteNotifyTarget: {
    route: 'DELETE /notify/targets/:id',
    summary: 'Tell somebody nothing more',
    description: `What waits to be sent is dropped. ${forAll}`,
    scope: 'admin',
    stepUp: true,
    responses: { 204: { description: 'Removed.' } },
  },
  tryNotifyTarget: {
    route: 'POST /notify/test',
    summary: 'Send a test to somebody who is not told yet, and wait for how it goes',
    description: `Takes what would be added, and adds nothing. The secret that signs what goes to a webhook is of this test alone, so a receiver that checks signatures refuses it. ${forAll}`,
    scope: 'admin',
    stepUp: true,
    body: newTargetSchema,
    responses: { 200: { description: 'How it went.', schema: testResultSchema } },
  },
  testNotifyTarget: {
    route: 'POST /notify/targets/:id/test',
    summary: 'Send a test now, and wait for how it goes',
    description: forAll,
    scope: 'admin',
    responses: { 200: { description: 'How it went.', schema: testResultSchema } },
  },
  listNotices: {
    route: 'GET /notify/notices',
    summary: 'List what was told, the newest first',
    description: forAll,
    scope: 'admin',
    query: exactly(paging),
    responses: onePage(noticeSchema),
  },
});
