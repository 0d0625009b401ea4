import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  dateSchema,
  exactly,
  instantSchema,
  nullable,
  optional,
  problem,
} from '../platform/http/schemas.contract.ts';
import { tripleSchema } from './schemas.contract.ts';

// What can be done with objects that the catalogue and the store disagree about.

/** An object of the store that nobody knows. */
const orphanSchema = Type.Object({
  object_key: Type.String(),
  tenant: nullable(Type.String({ description: 'null where its key does not tell' })),
  first_day: nullable(dateSchema),
  last_day: nullable(dateSchema),
  size_bytes: Type.Integer(),
  written_at: instantSchema,
});
export type OrphanRow = Static<typeof orphanSchema>;

/** The body of `POST /retention/orphans/remove`. */
const removeOrphansSchema = exactly({
  object_keys: Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), {
    minItems: 1,
    maxItems: 1000,
    uniqueItems: true,
  }),
});

/** The body of `POST /retention/orphans/adopt`. */
const adoptOrphanSchema = exactly({
  object_key: Type.String({ minLength: 1, maxLength: 1024 }),
  dry_run: optional.boolean({ description: 'only tells what would be taken back' }),
});
export type AdoptOrphanRequest = Static<typeof adoptOrphanSchema>;

/** What comes back with an object that nobody knew. */
const adoptedOrphanSchema = Type.Object({
  dry_run: Type.Boolean(),
  tenant: Type.String(),
  object_key: Type.String(),
  adopted: tripleSchema,
  days: Type.Array(Type.Object({ store: Type.String(), day: dateSchema, count: Type.Integer() }), {
    description: 'the days that it holds, the first 1,000',
  }),
});
export type AdoptedOrphan = Static<typeof adoptedOrphanSchema>;

/** The body of `POST /retention/forget`. */
const forgetRequestSchema = exactly({
  object_key: Type.String({
    minLength: 1,
    maxLength: 1024,
    description: 'of the object that is lost, as a verification names it',
  }),
  dry_run: optional.boolean({ description: 'only tells what is lost' }),
});
export type ForgetRequest = Static<typeof forgetRequestSchema>;

/** What is lost with the object of a segment. */
const forgottenSchema = Type.Object({
  id: nullable(Type.String({ description: 'the move in the journal; null for a dry run' })),
  dry_run: Type.Boolean(),
  tenant: Type.String(),
  object_key: Type.String(),
  problem: Type.String({ description: 'what is wrong with the object' }),
  lost: tripleSchema,
  days: Type.Array(Type.Object({ store: Type.String(), day: dateSchema, count: Type.Integer() }), {
    description: 'what of the days is lost, the first 1,000; the same days may have other records',
  }),
  versions_changed: Type.Integer({
    description: 'dataset versions that may have lost records, by their days',
  }),
});
export type Forgotten = Static<typeof forgottenSchema>;

export const objectsContract = routesUnder('Retention', {
  listOrphans: {
    route: 'GET /retention/orphans',
    summary: 'List the objects of the store that nobody knows',
    description:
      'The first 1,000 that are older than SVC_COLD_GRACE_SECONDS: no segment, no open move, no export and no removal to come names them. The store is listed for it. Needs a token that is not limited to tenants.',
    scope: 'admin',
    responses: {
      200: {
        description: 'As they are now.',
        schema: Type.Object({ data: Type.Array(orphanSchema) }),
      },
    },
  },
  removeOrphans: {
    route: 'POST /retention/orphans/remove',
    summary: 'Remove objects of the store that nobody knows',
    description:
      'For good. What somebody knows by now, is younger than SVC_COLD_GRACE_SECONDS or is not there stays, and is left out of the answer. Needs a token that is not limited to tenants, and a store that is this database’s.',
    scope: 'admin',
    stepUp: true,
    body: removeOrphansSchema,
    responses: {
      200: {
        description: 'What was removed.',
        schema: Type.Object({ removed: Type.Array(Type.String()) }),
      },
      409: problem,
    },
  },
  adoptOrphan: {
    route: 'POST /retention/orphans/adopt',
    summary: 'Take back an object that nobody knows',
    description:
      'Reads a segment that is older than SVC_COLD_GRACE_SECONDS, proves that it is whole and of one tenant, and puts it into the catalogue and into the counters. Refused (409 orphan_refused) where the database has records of one of its days already, or a dataset version of them. Needs a token that is not limited to tenants, and a store that is this database’s.',
    scope: 'admin',
    stepUp: true,
    body: adoptOrphanSchema,
    responses: {
      200: { description: 'What came back, or would.', schema: adoptedOrphanSchema },
      404: problem,
      409: problem,
    },
  },
  forgetSegment: {
    route: 'POST /retention/forget',
    summary: 'Give up a segment whose object is lost',
    description:
      'Takes a segment out of the catalogue whose object is missing or damaged, and what it held out of the counters: these records are lost, and nothing trips over them any more. An object that is what was written is refused (409 segment_whole), as is a tenant on hold. Where a backup has the object, put it back under its key instead.',
    scope: 'admin',
    stepUp: true,
    body: forgetRequestSchema,
    responses: {
      200: { description: 'What is lost.', schema: forgottenSchema },
      404: problem,
      409: problem,
    },
  },
});
