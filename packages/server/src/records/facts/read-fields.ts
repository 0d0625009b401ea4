import type { Actor } from '../../kernel/actor.ts';
import { createGate } from '../../kernel/gate.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { Field, Fields, Look, Share } from '../fields.contract.ts';
import type { ColdReader } from '../segments/segment.ts';
import type { TenantSliceRequest } from '../slice/slice.ts';
import { datasetNames } from '../values.ts';
import {
  type Collected,
  collect,
  columnKey,
  emptyCollection,
  type FieldColumn,
  isTelling,
} from './collect-fields.ts';
import { describeField, describeOverTime, sharedEdges } from './describe-field.ts';
import { type Design, designOf, shareOf, sumByPlace } from './estimate.ts';
import { measureDrift } from './measure-drift.ts';
import type { SampleSize } from './pick-days.ts';
import { readSample, type Sample, type SampleOptions } from './read-sample.ts';

export type FieldsRequest = TenantSliceRequest & { against?: string };

/** More places than for the labels: they say how large the error is, and months have some days each. */
const usualSize: SampleSize = { records: 10_000, places: 40, mostPlaces: 200, keysEach: 10 };
const usual: SampleOptions = { size: usualSize, textBytes: 16 * 2 ** 20 };

/** At most so many are answered at once. Each takes some 60 MB, and half a second of this process. */
const atOnce = 2;

/**
 * Makes what answers the fields of slices, until the caller has gone. It throws 400 `request_invalid`, 500
 * `segment_damaged`, 503 `cold_tier_unavailable`, or the reason of the signal.
 */
export function createFieldsReader(
  tiers: { db: Database; cold: ColdReader },
  options = usual,
): (actor: Actor, request: FieldsRequest, signal: AbortSignal) => Promise<Fields> {
  const gate = createGate(atOnce);
  return (actor, request, signal) =>
    gate.run(async () => {
      const { against, ...slice } = request;
      const lookAt = (its: TenantSliceRequest) =>
        look(tiers, actor, { slice: its, options, signal });
      const own = await lookAt(slice);
      const other = against === undefined ? null : await lookAt(otherSlice(slice, against));
      return describe(own, other);
    });
}

/** Returns the slice that `against` means: what it does not say is as in the first one. */
function otherSlice(slice: TenantSliceRequest, against: string): TenantSliceRequest {
  const { month, from, to, dataset, ...place } = slice;
  const days = { ...(month && { month }), ...(from && { from }), ...(to && { to }) };
  if (against === 'all') return { ...place, ...days };
  const named = datasetNames.find((name) => name === against);
  if (named !== undefined) return { ...place, ...days, dataset: named };
  const rest = { ...place, ...(dataset && { dataset }) };
  const [first = '', last] = against.split('..');
  return last === undefined ? { ...rest, month: first } : { ...rest, from: first, to: last };
}

/** A sample by its fields. */
type Looked = { readonly head: Look; readonly design: Design; readonly collected: Collected };

const recordsATurn = 500;

async function look(
  tiers: { db: Database; cold: ColdReader },
  actor: Actor,
  {
    slice,
    options,
    signal,
  }: { slice: TenantSliceRequest; options: SampleOptions; signal: AbortSignal },
): Promise<Looked> {
  signal.throwIfAborted();
  const sample = await readSample(tiers, actor, slice, options);
  const collected = emptyCollection();
  const records = sample.records.filter(({ fits }) => fits);
  for (let at = 0; at < records.length; at += recordsATurn) {
    signal.throwIfAborted();
    collect(collected, records.slice(at, at + recordsATurn));
    await othersTurn();
  }
  const looked = sample.records.length;
  // Of the records that fit as large a share was looked at as of all.
  const count =
    slice.where === undefined
      ? sample.count
      : Math.round((sample.count * records.length) / Math.max(1, looked));
  const design = designOf({ ...sample, count }, collected.places);
  const { sampled } = design;
  const head = {
    count: sample.count,
    sampled,
    is_exact: sampled === count && looked === sample.count,
    unread: collected.unread,
    fitting: slice.where === undefined ? null : fittingShare(sample),
  };
  return { head, design, collected };
}

/** How many of the records of a slice fit its `where`. */
export function fittingShare(sample: Sample): Share {
  const design = designOf(
    sample,
    sample.records.map(({ place }) => place),
  );
  const rows = sample.records.flatMap(({ fits }, row) => (fits ? [row] : []));
  return shareOf(design, sumByPlace(design, rows));
}

/** Lets this process answer others before it goes on. */
function othersTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const mostFields = 100;

async function describe(own: Looked, other: Looked | null): Promise<Fields> {
  const { shown, leftOff } = chooseFields(own, other);
  const { periods, periodOf } = toPeriods(own.collected.months);
  const fields: Field[] = [];
  for (const { name, of } of shown) {
    const [mine, its] = [own, other].map((one) => columnOf(one, { name, of }));
    const edges = sharedEdges([mine, its].flatMap((column) => column ?? []));
    const column = mine ?? { name, of, rows: [], values: [] };
    const described = describeField(column, own.design, edges);
    const against = other && { column: its ?? { name, of, rows: [], values: [] }, ...other };
    fields.push({
      name,
      of,
      ...described,
      over_time: describeOverTime(column, described.values, periodOf, periods.length),
      against: against && describeField(against.column, against.design, edges),
      drift: against && measureDrift({ column, design: own.design }, against, edges),
    });
    await othersTurn();
  }
  if (other !== null) fields.sort(byDrift);
  return {
    ...own.head,
    periods,
    fields,
    left_off: leftOff,
    against: other === null ? null : other.head,
  };
}

/** Drifts that chance may have made come last. */
function byDrift({ drift: a }: Field, { drift: b }: Field): number {
  if (a === null || b === null) return 0;
  const isReal = ({ distance, noise }: typeof a) => Number(distance > noise);
  return isReal(b) - isReal(a) || b.distance - a.distance;
}

function columnOf(
  looked: Looked | null | undefined,
  name: Pick<FieldColumn, 'name' | 'of'>,
): FieldColumn | undefined {
  return looked?.collected.columns.get(columnKey(name));
}

/** Chooses the fields that are in most records, and leaves them in the order in which they were found. */
function chooseFields(own: Looked, other: Looked | null) {
  const columns = new Map(other?.collected.columns);
  for (const [key, column] of own.collected.columns) columns.set(key, column);
  const all = [...columns.values()];
  const inOrder = [...new Set([...own.collected.columns.keys(), ...columns.keys()])];
  const telling = inOrder.flatMap((key) => {
    const column = columns.get(key);
    return column !== undefined && isTelling(column, all) ? [column] : [];
  });
  const weight = (column: FieldColumn) =>
    Math.max(...[own, other].map((one) => columnOf(one, column)?.rows.length ?? 0));
  const kept = new Set(telling.toSorted((a, b) => weight(b) - weight(a)).slice(0, mostFields));
  return {
    shown: telling
      .filter((column) => kept.has(column))
      .sort((a, b) => Number(a.of === 'enrichment') - Number(b.of === 'enrichment')),
    leftOff: telling.length - kept.size + own.collected.leftOff + (other?.collected.leftOff ?? 0),
  };
}

/** More months than this become years. */
const mostMonths = 36;

/** Returns the months of the records in their order, or their years, and of each record the number of its period. */
function toPeriods(months: readonly string[]): { periods: Fields['periods']; periodOf: number[] } {
  const isYears = new Set(months).size > mostMonths;
  const named = isYears ? months.map((month) => month.slice(0, 4)) : months;
  const names = [...new Set(named)].sort();
  if (names.length < 2) return { periods: [], periodOf: [] };
  const numbers = new Map(names.map((name, n) => [name, n]));
  const periodOf = named.map((name) => numbers.get(name) ?? 0);
  const periods = names.map((period) => ({ period, sampled: 0 }));
  for (const n of periodOf) {
    const period = periods[n];
    if (period !== undefined) period.sampled += 1;
  }
  return { periods, periodOf };
}
