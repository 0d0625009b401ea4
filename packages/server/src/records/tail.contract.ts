import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  cursorSchema,
  eventIdSchema,
  exactly,
  instantSchema,
  labelSchema,
  optional,
  problem,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import { sliceProperties, whereSchema } from './contract.ts';

const { tenant: _, ...narrower } = sliceProperties;

const tailQuerySchema = exactly({
  tenant: tenantSchema,
  ...narrower,
  kind: Type.Optional(labelSchema),
  source: Type.Optional(labelSchema),
  event_id: Type.Optional(eventIdSchema),
  where: Type.Optional(whereSchema),
  after: Type.Optional({
    ...cursorSchema,
    description:
      'the id of the last event that was received; the header Last-Event-ID says the same and wins',
  }),
  since: Type.Optional({
    ...instantSchema,
    description: 'begin with what was stored after this time; excludes `after`',
  }),
  follow: optional.boolean({ description: 'false: end once all that is stored now was told' }),
});
export type TailRequest = Static<typeof tailQuerySchema>;

export const tailContract = routesUnder('Records', {
  tailRecords: {
    route: 'GET /enrichment/records/tail',
    summary: 'Follow records as they are stored',
    description:
      'Server-sent events: each record of the slice once, as soon as its commit is done, in the order of the commits of its tenant. It begins now, or where `since` or `after` say. `id` of an event is the cursor with which a tail that was cut goes on: no record is lost then, and none comes twice. What was stored within the last 24 hours can be told; a place before that answers 410. `data` is a record as `GET /enrichment/records` spells it, hot or moved meanwhile; what was erased before it was told does not come. An event `place` with an id and no record comes at the beginning, and while nothing else does. An event `end` says why the service ends the stream: `code`, `detail`, and `after`, the cursor to go on with. So it ends when the service stops (`not_ready`), when the token may not read any more, and for a reader that took nothing for ten seconds (`tail_slow`): the service keeps at most 256 KiB and a record for it. A token may have 16 tails at once, and a process 64.',
    scope: 'enrichment:read',
    query: tailQuerySchema,
    responses: {
      200: {
        description: 'Events until either side ends the stream.',
        mediaType: 'text/event-stream',
        schema: Type.String(),
      },
      410: problem,
    },
  },
});
