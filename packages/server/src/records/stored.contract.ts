import { type Static, Type } from 'typebox';
import {
  dateSchema,
  instantSchema,
  nullable,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';

const counts = (description: string) => Type.Array(Type.Integer(), { description });
const tierCounts = (description: string) =>
  Type.Array(nullable(Type.Integer()), { description: `${description}; null: not known` });

/** What there is, and what was stored lately. Hours and days are those in which records were stored. */
export const recordsOverviewSchema = Type.Object({
  count: Type.Integer(),
  bytes: Type.Integer({ description: 'UTF-8 length of the records as NDJSON lines' }),
  stored_bytes: Type.Integer({
    description: 'hot records as `bytes`, cold ones as their Parquet takes',
  }),
  hot_count: Type.Integer(),
  cold_count: Type.Integer(),
  tenants: Type.Integer({ description: 'that have records' }),
  counted_from: nullable({
    ...dateSchema,
    description: 'the first day that is counted, if it is among these; null: none is yet',
  }),
  today: Type.Object({
    count: Type.Integer({ description: 'records stored since midnight, UTC' }),
    week_ago: nullable(
      Type.Integer({
        description:
          'the same a week ago, up to the same time of day (of the present hour its share); null: not known',
      }),
    ),
  }),
  hours: Type.Object({
    from: { ...instantSchema, description: 'when the first hour begins: a week before today' },
    count: counts('records stored in each hour; the last is the present one'),
  }),
  days: Type.Object({
    from: dateSchema,
    count: counts('records stored on each of 90 days; the last is today'),
    hot_count: tierCounts('all records that were hot at the end of the day, or are now'),
    cold_count: tierCounts('the same of cold ones'),
  }),
  by_tenant: Type.Object({
    from: dateSchema,
    tenants: Type.Array(
      Type.Object({
        tenant: tenantSchema,
        days: counts('records stored on each of 28 days; the last is today'),
      }),
      { description: 'up to twelve of those that stored most, the largest first' },
    ),
  }),
});
export type RecordsOverview = Static<typeof recordsOverviewSchema>;
