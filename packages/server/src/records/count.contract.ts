import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  cursorSchema,
  dateSchema,
  exactly,
  nullable,
  storeSchema,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import { recordFilters, whereSchema } from './contract.ts';

export const recordCountSchema = Type.Object({
  count: Type.Integer({ description: 'records of this stretch that are meant' }),
  bytes: Type.Integer({ description: 'their bytes' }),
  looked: Type.Integer({ description: 'records of this stretch in all, by the counters' }),
  searched_to: nullable(
    Type.Object(
      { store: storeSchema, day: dateSchema },
      { description: 'the last day of the stretch; null when there is no other' },
    ),
  ),
  next_cursor: nullable(Type.String()),
});
export type RecordCount = Static<typeof recordCountSchema>;

export const countContract = routesUnder('Records', {
  countRecords: {
    method: 'GET',
    path: '/enrichment/records/count',
    summary: 'Count records',
    description:
      'Without `kind`, `source` and `where` the counters answer at once. With them the records are read: some 250,000, or 96 MiB, a page. Follow `next_cursor` and add the pages up. All of them count what was stored before the first was asked for, without what is erased or deleted meanwhile, and with the tags as they are.',
    scope: 'enrichment:read',
    query: exactly({
      ...recordFilters,
      tenant: tenantSchema,
      where: Type.Optional(whereSchema),
      cursor: Type.Optional(cursorSchema),
    }),
    responses: { 200: { description: 'One stretch.', schema: recordCountSchema } },
  },
});
